// The last announcements.

import { ask } from "./api.js";
import { plain } from "./alarms.js";
import { $, button, fillIfNew, h, waveform } from "./dom.js";
import { age, currentLanguage, t } from "./words.js";

const FEW = 6;
let many = false;

/** Fetch and show them; returns them. */
export async function refreshLog(zone) {
  const entries = await ask("GET", "/api/history?count=50");
  const shown = many ? entries : entries.slice(0, FEW);
  fillIfNew($("log"), [shown, currentLanguage(), zone], () =>
    shown.length ? shown.map((entry) => row(entry, zone)) : [h("li", { class: "empty" }, t("no_log"))]);
  fillIfNew($("log-more"), [entries.length > FEW, many, currentLanguage()], () => [
    entries.length > FEW && button(t(many ? "fewer" : "more"), () => {
      many = !many;
      return refreshLog(zone);
    }, { class: "plain", data: { key: "more" } }),
  ]);
  return entries;
}

function row(entry, zone) {
  const at = new Intl.DateTimeFormat(currentLanguage(), { timeZone: zone, hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23" });
  const { timings } = entry;
  const tags = { finished: "good", failed: "bad", missed: "bad", dropped: "warn", expired: "warn" };
  const facts = [
    at.format(new Date(entry.at)),
    entry.origin && t(`origin_${entry.origin}`),
    entry.speaker,
    entry.seconds > 0 && t("length", { s: entry.seconds.toFixed(1) }),
    entry.rounds > 1 && t("rounds", { n: entry.rounds }),
    timings.first_sample_ms !== null && entry.origin !== "alarm" && t("took", { time: timings.first_sample_ms < 1000 ? `${timings.first_sample_ms} ms` : age(timings.first_sample_ms / 1000) }),
    timings.sentences > 0 && timings.cached === timings.sentences && t("from_cache"),
    entry.audible === false && t("inaudible"),
  ];
  return h("li", { data: { announcement: entry.id } },
    h("div", { lang: "ja" }, plain(entry.text) || entry.id),
    entry.waveform.length > 0 && waveform(entry.waveform, t("waveform", { s: entry.seconds.toFixed(1) })),
    h("div", { class: "meta" },
      h("span", { class: `tag ${tags[entry.outcome] || ""}` }, t(entry.outcome === "dropped" && entry.seconds > 0 ? "stopped" : entry.outcome || entry.stage)), " ",
      facts.filter(Boolean).join(" · ")),
    entry.reason && h("div", { class: "meta" }, entry.reason));
}
