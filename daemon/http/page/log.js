// The last announcements.

import { ask } from "./api.js";
import { plain } from "./alarms.js";
import { $, fillIfNew, h, waveform } from "./dom.js";
import { currentLanguage, t } from "./words.js";

/** Fetch and show them; returns them. */
export async function refreshLog(zone) {
  const entries = await ask("GET", "/api/history?count=12");
  fillIfNew($("log"), [entries, currentLanguage(), zone], () =>
    entries.length ? entries.map((entry) => row(entry, zone)) : [h("li", { class: "empty" }, t("no_log"))]);
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
    timings.first_sample_ms !== null && entry.origin !== "alarm" && t("took", { ms: timings.first_sample_ms.toLocaleString(currentLanguage()) }),
    timings.sentences > 0 && timings.cached === timings.sentences && t("from_cache"),
    entry.audible === false && t("inaudible"),
  ];
  return h("li", { data: { announcement: entry.id } },
    h("div", {}, plain(entry.text) || entry.id),
    entry.waveform.length > 0 && waveform(entry.waveform, t("waveform", { s: entry.seconds.toFixed(1) })),
    h("div", { class: "meta" },
      h("span", { class: `tag ${tags[entry.outcome] || ""}` }, t(entry.outcome || "underway")), " ",
      facts.filter(Boolean).join(" · ")),
    entry.reason && h("div", { class: "meta" }, entry.reason));
}
