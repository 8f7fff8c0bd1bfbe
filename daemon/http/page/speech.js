// Speaking a text, speakers and their memory, pronunciation and the dictionary.

import { ask, path, wav } from "./api.js";
import { $, button, during, failed, fill, fillIfNew, h, told } from "./dom.js";
import { currentLanguage, t } from "./words.js";

let speakers = [];
let sound = null;

/** Play a text here. */
async function hear(body) {
  const blob = await wav(body);
  if (sound) URL.revokeObjectURL(sound);
  sound = URL.createObjectURL(blob);
  $("player").src = sound;
  $("player").hidden = false;
  await $("player").play();
}

function wanted() {
  const body = { text: $("speak-text").value, speaker: $("speak-speaker").value };
  if ($("speak-style").value) body.style = $("speak-style").value;
  if (Number($("speak-speed").value) !== 1) body.speed = Number($("speak-speed").value);
  return body;
}

function showStyles() {
  const speaker = speakers.find((one) => one.name === $("speak-speaker").value);
  const styles = speaker?.styles || [];
  fill($("speak-style"), styles.map((style) => h("option", { value: style }, style)));
  $("speak-style").disabled = styles.length < 2;
}

/** Fetch and show the speakers. */
export async function refreshSpeakers() {
  speakers = await ask("GET", "/api/speakers");
  fillIfNew($("speakers"), [speakers, currentLanguage()], () => speakers.map(speakerRow));
  const before = $("speak-speaker").value || speakers.find((one) => one.default)?.name;
  fillIfNew($("speak-speaker"), speakers.map((one) => [one.name, one.styles]), () =>
    speakers.filter((one) => one.state !== "unavailable").map((one) => h("option", { value: one.name, selected: one.name === before }, one.name)));
  if (!$("speak-style").options.length) showStyles();
}

function speakerRow(one) {
  const work = (what) => async () => {
    await ask("POST", path`/api/speakers/${one.name}/` + what);
    await refreshSpeakers();
  };
  const name = { ready: "unload", released: "load" }[one.state];
  const facts = [one.family, one.styles.length > 1 && one.styles.join(", "), one.reason].filter(Boolean).join(" · ");
  return h("li", { data: { speaker: one.name } },
    h("div", { class: "line" },
      h("div", { class: "what" },
        h("div", {}, h("strong", {}, one.name), " ", one.default && h("span", { class: "tag" }, t("default_speaker"))),
        h("div", {}, h("span", { class: `tag ${one.state === "unavailable" ? "bad" : "good"}` }, t(one.state)), " ",
          one.state === "ready" && h("span", { class: "meta" }, `${one.memory_mb.toLocaleString(currentLanguage())} MB`)),
        facts && h("div", { class: "meta" }, facts)),
      name && button(t(name), work(name), { "aria-label": `${t(name)}: ${one.name}`, data: { key: `${one.name} memory` } })));
}

// Pronunciation.

const moras = (kana) => kana.match(/[^ァィゥェォャュョヮ][ァィゥェォャュョヮ]?/g) || [];
const katakana = (text) => text.replace(/[ぁ-ゖ]/g, (sign) => String.fromCharCode(sign.charCodeAt(0) + 0x60));

function phrase({ kana, accent }) {
  const beats = moras(kana);
  const label = `${kana}, ${accent ? t("falls_after", { mora: beats[accent - 1] || "" }) : t("flat")}`;
  const high = (number) => (accent === 1 ? number === 1 : number > 1 && (!accent || number <= accent));
  return h("span", { class: "phrase", role: "img", "aria-label": label, lang: "ja" },
    beats.map((beat, index) => h("b", { class: `${high(index + 1) ? "high" : ""} ${index + 1 === accent ? "falls" : ""}` }, beat)));
}

async function showReading() {
  const text = $("read-text").value.trim();
  if (!text) return;
  const found = await ask("POST", "/api/read", { text });
  fill($("reading"),
    found.sentences.map((sentence) => h("div", { class: "phrases", data: { kana: sentence.kana } }, sentence.phrases.map(phrase))),
    found.sentences.length ? h("p", { class: "hint", lang: "ja" }, found.normalized) : h("p", { class: "hint" }, t("nothing_read")),
    found.unread.map((part) => h("p", { class: "error" }, t("unread", part))));
}

function showAccents() {
  const beats = moras(katakana($("word-reading").value));
  const before = $("word-accent").value;
  const choices = [["", t("accent_default")], ["0", `${beats.join("")}￣ ${t("flat")}`],
    ...beats.map((_, index) => [String(index + 1), `${beats.slice(0, index + 1).join("")}＼${beats.slice(index + 1).join("")}`])];
  fill($("word-accent"), (beats.length ? choices : choices.slice(0, 1)).map(([value, label]) =>
    h("option", { value, selected: value === before }, label)));
}

/** Fetch and show the words of the dictionary. */
export async function refreshWords() {
  const { configured, words } = await ask("GET", "/api/dictionary");
  $("no-dictionary").hidden = configured;
  for (const control of document.querySelectorAll("#word input, #word select, #word button")) control.disabled = !configured;
  $("words-count").textContent = words.length;
  fillIfNew($("words"), [words, currentLanguage()], () =>
    words.length ? words.map(wordRow) : [h("li", { class: "empty" }, t("no_words"))]);
}

function wordRow(word) {
  const remove = async () => {
    await ask("DELETE", `/api/dictionary?surface=${encodeURIComponent(word.surface)}`);
    told(t("removed"));
    await refreshWords();
    await showReading();
  };
  const accent = word.accent === null ? "" : word.accent === 0 ? t("flat") : t("falls_after", { mora: moras(word.reading)[word.accent - 1] || "" });
  return h("li", {},
    h("div", { class: "line" },
      h("div", { class: "what" }, h("strong", {}, word.surface), " ", h("span", { lang: "ja" }, word.reading), " ", h("span", { class: "meta" }, accent)),
      button(t("remove"), remove, { class: "danger", "aria-label": `${t("remove")}: ${word.surface}`, data: { key: `word ${word.surface}` } })));
}

async function addWord() {
  const word = { surface: $("word-surface").value.trim(), reading: $("word-reading").value.trim() };
  if ($("word-accent").value) word.accent = Number($("word-accent").value);
  await ask("POST", "/api/dictionary", word);
  told(t("added", { word: word.surface }));
  $("word").reset();
  showAccents();
  if (!$("read-text").value) $("read-text").value = word.surface;
  await Promise.all([refreshWords(), showReading()]);
}

export function setUpSpeech() {
  const speed = () => { $("speak-speed-shown").textContent = `${Number($("speak-speed").value).toFixed(2)}×`; };
  speed();
  $("speak-speed").oninput = speed;
  $("speak-speaker").onchange = showStyles;
  $("speak").onsubmit = (event) => {
    event.preventDefault();
    during(event.submitter || $("speak"), async () => {
      await ask("POST", "/api/announce", wanted());
      told(t("will_speak"));
    });
  };
  $("listen").onclick = () => $("speak").reportValidity() && during($("listen"), async () => {
    await hear(wanted());
    await refreshSpeakers();
  });
  $("read").onsubmit = (event) => {
    event.preventDefault();
    during(event.submitter || $("read"), showReading);
  };
  $("read-listen").onclick = () => $("read").reportValidity() && during($("read-listen"), () => hear({ text: $("read-text").value, speaker: $("speak-speaker").value }));
  $("word-reading").oninput = showAccents;
  $("word").onsubmit = (event) => {
    event.preventDefault();
    during(event.submitter || $("word"), addWord);
  };
  reshowSpeech();
  refreshSpeakers().catch(failed);
  refreshWords().catch(failed);
}

/** What is made of words of this page and not fetched. */
export function reshowSpeech() {
  showAccents();
  if ($("reading").childElementCount) showReading().catch(failed);
}
