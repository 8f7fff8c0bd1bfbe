// What is being said now, settings, briefings, the doctor.

import { ask, path } from "./api.js";
import { plain } from "./alarms.js";
import { $, button, during, failed, fill, fillIfNew, h, told } from "./dom.js";
import { age, currentLanguage, dateInWords, moment, t } from "./words.js";

const HELD = 1000; // milliseconds for which a slider that is being moved is left alone
let turning = 0;
let latest = null;

/** Show the state: what is being said, what rings, and the settings. */
export function showState(state, said) {
  latest = state;
  $("node").textContent = state.node;
  $("version").textContent = `Asagoe ${state.version} · ${state.node} · ${state.timezone}`;
  showNow(state, said);
  showRinging(state);
  showSettings(state);
}

function showNow(state, said) {
  const text = state.current ? plain(said) || t("preparing") : null;
  fillIfNew($("now-said"), [text, state.queue, state.state, currentLanguage()], () => [
    text === null
      ? h("p", { class: "said idle" }, t("idle"))
      : h("p", { class: "said", lang: "ja" }, h("span", { class: "pulse", "aria-hidden": "true" }, h("i"), h("i"), h("i")), text),
    state.queue > 0 && h("p", { class: "hint" }, t("waiting", { n: state.queue })),
  ]);
  const command = (name) => () => ask("POST", "/api/commands", { command: `do/${name}` });
  const rings = state.ringing.length > 0; // then its own buttons are what is wanted
  fillIfNew($("now-buttons"), [Boolean(state.current || state.queue), rings, currentLanguage()], () =>
    rings ? [] : state.current || state.queue
      ? ["stop", "skip"].map((name) => button(t(name), command(name), { data: { key: name } }))
      : [button(t("replay"), command("replay"), { class: "plain", data: { key: "replay" } })]);
}

function showRinging(state) {
  const name = (id) => state.alarms[id]?.name || id;
  fillIfNew($("now-ringing"), [state.ringing, state.snoozed, currentLanguage()], () => [
    ...state.ringing.map((id) => banner(id, t("rings", { name: name(id) }), true)),
    ...Object.entries(state.snoozed).map(([id, until]) =>
      banner(id, t("snoozed_until", { name: name(id), time: moment(until, state.clock) }), false)),
  ]);
}

function banner(id, text, rings) {
  return h("div", { class: "ringing" }, h("strong", {}, text),
    rings && button(t("snooze"), () => ask("POST", path`/api/alarms/${id}/snooze`, {}), { data: { key: `ring ${id} snooze` } }),
    button(t("dismiss"), () => ask("POST", path`/api/alarms/${id}/dismiss`), { class: "primary", data: { key: `ring ${id} dismiss` } }));
}

function showSettings(state) {
  if (Date.now() - turning >= HELD) {
    $("volume").value = state.volume;
    $("volume-shown").textContent = state.volume;
  }
  $("mute").checked = state.mute;
  fillIfNew($("quiet"), [state.quiet_mode, currentLanguage()], () => ["auto", "on", "off"].map((mode) =>
    h("label", {},
      h("input", { type: "radio", name: "quiet", value: mode, checked: mode === state.quiet_mode, data: { key: `quiet ${mode}` },
        onchange: () => change({ quiet_mode: mode }) }),
      h("span", {}, t(`quiet_${mode}`)))));
  const quiet = !state.quiet ? "" : state.quiet_until ? t("quiet_until", { time: moment(state.quiet_until, state.clock) }) : t("quiet_now");
  const waits = state.deferred ? t("deferred_count", { n: state.deferred }) : "";
  $("quiet-note").textContent = [quiet, waits].filter(Boolean).join(" ");
  const vacation = state.vacation;
  const open = vacation?.until?.startsWith("9999");
  $("vacation-note").textContent = !vacation ? t("vacation_none")
    : t(open ? "vacation_open" : "vacation_set", { from: dateInWords(vacation.from), until: open ? "" : dateInWords(vacation.until) });
  $("vacation-end").hidden = !vacation;
}

const change = (settings) => ask("PATCH", "/api/settings", settings).catch(failed);

export function setUpHouse() {
  let timer;
  $("volume").oninput = () => {
    turning = Date.now();
    $("volume-shown").textContent = $("volume").value;
    clearTimeout(timer);
    timer = setTimeout(() => change({ volume: Number($("volume").value) }), 200);
    setTimeout(() => latest && showSettings(latest), HELD + 50); // what was told meanwhile was not shown
  };
  $("mute").onchange = () => change({ mute: $("mute").checked });
  $("vacation").onsubmit = (event) => {
    event.preventDefault();
    during(event.submitter || $("vacation"), () =>
      ask("PATCH", "/api/settings", { vacation: { from: $("vacation-from").value, until: $("vacation-until").value } }).then(() => told(t("saved"))));
  };
  $("vacation-end").onclick = () => during($("vacation-end"), () => ask("PATCH", "/api/settings", { vacation: null }));
  $("briefing-preview").onclick = () => during($("briefing-preview"), preview);
  $("briefing-play").onclick = () => during($("briefing-play"), async () => {
    await ask("POST", path`/api/briefings/${$("briefing").value}/play`);
    told(t("will_speak"));
  });
  $("briefing").onchange = () => $("briefing-shown").replaceChildren();
  $("doctor-run").onclick = () => during($("doctor-run"), examine);
  reshowHouse();
  refreshBriefings().catch(failed);
}

/** What is made of words of this page and not fetched. */
export function reshowHouse() {
  const command = (name) => () => ask("POST", `/api/briefings/${name}`);
  fill($("briefing-buttons"), ["pause", "resume", "next_section"].map((name) =>
    button(t(name), command(name), { class: "plain", data: { key: name } })));
}

/** Fetch the names of the briefings. */
export async function refreshBriefings() {
  const briefings = await ask("GET", "/api/briefings");
  fillIfNew($("briefing"), briefings, () => briefings.map(({ name }) => h("option", { value: name }, name)));
  $("briefings-card").hidden = !briefings.length;
}

async function preview() {
  fill($("briefing-shown"), h("p", { class: "hint" }, t("gathering")));
  let found;
  try {
    found = await ask("GET", path`/api/briefings/${$("briefing").value}`);
  } catch (error) {
    $("briefing-shown").replaceChildren();
    throw error;
  }
  fill($("briefing-shown"),
    !found.text && h("p", { class: "hint" }, t("nothing_to_say")),
    h("ul", { class: "list" }, found.sections.map((part) => h("li", { data: { section: part.section } },
      h("div", {}, h("span", { class: "tag" }, part.section), " ", h("span", { lang: "ja" }, part.text || "")),
      h("div", { class: part.text ? "meta" : "warned" }, why(part))))));
}

function why(part) {
  if (part.text === null) return t("section_left_out", { reason: part.left_out_because });
  const facts = [
    part.source && t("section_source", { source: part.source }),
    part.age !== null && part.age >= 1 && t("section_age", { age: age(part.age) }),
    part.instead_because && t("section_instead", { reason: part.instead_because }),
  ].filter(Boolean);
  return facts.join(" · ") || t("section_own");
}

async function examine() {
  fill($("doctor"), h("p", { class: "hint" }, t("examining")));
  let findings;
  try {
    findings = await ask("GET", "/api/doctor");
  } catch (error) {
    $("doctor").replaceChildren();
    throw error;
  }
  const tags = { ok: "good", warn: "warn", fail: "bad" };
  fill($("doctor"),
    findings.every(({ level }) => level === "ok") && h("p", { class: "tag good" }, t("all_well")),
    h("ul", { class: "list" }, findings.map((one) => h("li", { class: "finding" },
      h("div", {}, h("span", { class: `tag ${tags[one.level]}` }, t(`level_${one.level}`))),
      h("div", {}, h("strong", {}, one.check), h("div", {}, one.finding), one.remedy && h("div", { class: "meta" }, `→ ${one.remedy}`))))));
}
