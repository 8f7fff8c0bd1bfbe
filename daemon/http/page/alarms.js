// Alarms and the schedule.

import { ask, path } from "./api.js";
import { $, button, failed, fill, fillIfNew, h, told } from "./dom.js";
import { currentLanguage, daysInWords, daysNamed, moment, t, weekdays } from "./words.js";

const EARLY = 3 * 3600 * 1000; // so long before it is due an alarm can be dismissed

let clock = "";
let edited = null;

export const titleOf = (item) => item.name || item.id;
export const plain = (text) => (text || "").replace(/\{\{.*?\}\}|\{%.*?%\}/g, "…");
const times = (item) => item.at.map((at) => at.replace(/^(\d\d:\d\d):00$/, "$1"));
const reason = (text) => (text === "skipped once" ? t("skipped_once") : text);

/** Fetch and show both lists. */
export async function refreshAgenda(now) {
  clock = now || clock;
  const [alarms, schedule] = await Promise.all([ask("GET", "/api/alarms"), ask("GET", "/api/schedule")]);
  alarms.sort((a, b) => (a.next || "9").localeCompare(b.next || "9"));
  const date = clock.slice(0, 10);
  fillIfNew($("alarms"), [alarms, currentLanguage(), date], () =>
    alarms.length ? alarms.map(alarmRow) : [h("li", { class: "empty" }, t("no_alarms"))]);
  fillIfNew($("schedule"), [schedule, currentLanguage(), date], () => schedule.map(entryRow));
  $("schedule-card").hidden = !schedule.length;
  return alarms;
}

const after = (work) => async () => {
  await work();
  await refreshAgenda();
};

function coming(item) {
  if (!item.enabled) return t("off");
  const next = item.next ? t("next_at", { time: moment(item.next, clock) }) : "";
  const out = item.left_out ? t("left_out", { time: moment(item.left_out.at, clock), reason: reason(item.left_out.reason) }) : "";
  return [out, next].filter(Boolean).join(" · ");
}

function toggle(item, kind, label) {
  return h("input", {
    type: "checkbox", role: "switch", class: "switch", checked: item.enabled, "aria-label": label, data: { key: `${item.id} on` },
    onchange: async (event) => {
      const control = event.currentTarget;
      const wanted = control.checked;
      try {
        await ask("PUT", `/api/${kind}/${encodeURIComponent(item.id)}/enabled`, { enabled: wanted });
        await refreshAgenda();
      } catch (error) {
        control.checked = !wanted;
        failed(error);
      }
    },
  });
}

function skipButton(item, kind) {
  const skipped = item.left_out?.reason === "skipped once";
  if (!item.enabled || (!item.next && !skipped)) return null;
  const label = t(skipped ? "unskip" : "skip_once");
  const work = after(() => ask("PUT", `/api/${kind}/${encodeURIComponent(item.id)}/skip`, { skip: !skipped }));
  return button(label, work, { class: "plain", "aria-label": `${label}: ${titleOf(item)}`, data: { key: `${item.id} skip` } });
}

function action(item, name, work) {
  return button(t(name), work, { class: "plain", "aria-label": `${t(name)}: ${titleOf(item)}`, data: { key: `${item.id} ${name}` } });
}

function alarmRow(item) {
  const soon = item.next && Date.parse(item.next) - Date.parse(clock) < EARLY;
  const rings = item.state === "ringing" || item.state === "snoozed";
  const one = (what) => path`/api/alarms/${item.id}/` + what;
  return h("li", { class: item.enabled ? "" : "off", data: { alarm: item.id } },
    h("div", { class: "line" },
      h("div", { class: "what" },
        h("div", { class: "time" }, times(item).join(" ") || item.cron),
        h("div", {}, h("strong", {}, titleOf(item)), " ", h("span", { class: "meta" }, daysInWords(item))),
        h("div", { class: "meta" }, coming(item))),
      toggle(item, "alarms", t("alarm_on", { name: titleOf(item) }))),
    item.text && h("div", { class: "meta", lang: "ja" }, `「${plain(item.text)}」`),
    h("div", { class: "actions" },
      rings && action(item, "snooze", after(() => ask("POST", one("snooze"), {}))),
      rings && action(item, "dismiss", after(() => ask("POST", one("dismiss")))),
      !rings && soon && item.enabled && action(item, "dismiss_early", after(() => ask("POST", one("dismiss")))),
      skipButton(item, "alarms"),
      !item.cron && action(item, "edit", async () => openDialog(item)),
      !rings && action(item, "ring_now", after(() => ask("POST", one("ring"))))));
}

function entryRow(item) {
  return h("li", { class: item.enabled ? "" : "off", data: { entry: item.id } },
    h("div", { class: "line" },
      h("div", { class: "what" },
        h("div", {}, h("strong", {}, times(item).join(" ") || item.cron), " ", h("span", { class: "meta" }, item.cron ? "" : daysInWords(item))),
        item.briefing ? h("div", {}, t("tells", { name: item.briefing })) : h("div", { lang: "ja" }, item.text),
        h("div", { class: "meta" }, coming(item))),
      toggle(item, "schedule", t("entry_on", { name: item.id }))),
    h("div", { class: "actions" }, skipButton(item, "schedule"),
      action(item, "run_now", () => ask("POST", path`/api/schedule/${item.id}/run`))));
}

// The dialog.

function repeatOf(item) {
  if (item.once) return "once";
  if (!item.days.length) return "daily";
  if (item.days.length === 1 && ["workdays", "平日"].includes(item.days[0])) return "workdays";
  return daysNamed(item.days) ? "chosen" : "custom";
}

function openDialog(item) {
  edited = item;
  const shown = item ? times(item) : ["07:00"];
  const clockTime = shown.length === 1 && /^\d\d:\d\d(:\d\d)?$/.test(shown[0]);
  const own = !item || item.made_here;
  const repeat = item ? repeatOf(item) : "chosen";
  $("alarm-dialog-title").textContent = t(item ? "edit_alarm" : "new_alarm");
  $("alarm-note").hidden = own;
  $("alarm-note").textContent = t("in_configuration");
  $("alarm-time").type = clockTime ? "time" : "text";
  $("alarm-time").value = shown.join(", ");
  fill($("alarm-repeat"), ["once", "daily", "workdays", "chosen", "custom"].map((name) =>
    h("option", { value: name, selected: name === repeat }, t(name))));
  const named = (item && daysNamed(item.days)) || [];
  const chosen = named.length ? named : ["mon", "tue", "wed", "thu", "fri"];
  const legend = $("alarm-days").querySelector("legend");
  fill($("alarm-days"), legend, weekdays().map(([day, name]) =>
    h("label", {}, h("input", { type: "checkbox", name: "day", value: day, checked: chosen.includes(day) }), h("span", {}, name))));
  $("alarm-custom").value = item ? item.days.join(", ") : "";
  $("alarm-name").value = item?.name || "";
  $("alarm-text").value = item ? item.text : t("good_morning");
  $("alarm-volume").value = item?.volume ?? 60;
  $("alarm-error").textContent = "";
  $("alarm-remove").hidden = !item?.made_here;
  for (const field of document.querySelectorAll("#alarm-form [data-own]")) {
    for (const control of [field, ...field.querySelectorAll("input, select, textarea")]) if ("disabled" in control) control.disabled = !own;
  }
  showRepeat();
  $("alarm-volume-shown").textContent = $("alarm-volume").value;
  $("alarm-dialog").showModal();
}

function showRepeat() {
  $("alarm-days").hidden = $("alarm-repeat").value !== "chosen";
  $("alarm-custom-field").hidden = $("alarm-repeat").value !== "custom";
}

/** The keys as the dialog shows them. */
function written() {
  const repeat = $("alarm-repeat").value;
  const days = {
    once: [], daily: [], workdays: ["workdays"],
    chosen: [...document.querySelectorAll("#alarm-days input:checked")].map((box) => box.value),
    custom: [$("alarm-custom").value],
  }[repeat];
  return {
    at: $("alarm-time").value.split(/[,\s]+/).filter(Boolean), days, once: repeat === "once",
    name: $("alarm-name").value, text: $("alarm-text").value, volume: Number($("alarm-volume").value),
  };
}

function changed(item, keys) {
  const before = { ...item, at: times(item) };
  if (keys.once && item.once) delete keys.days; // the date of its one occurrence stays
  if (!keys.text) keys.text = null; // its default
  return Object.fromEntries(Object.entries(keys).filter(([name, value]) => JSON.stringify(before[name]) !== JSON.stringify(value)));
}

async function save() {
  const keys = written();
  if ($("alarm-repeat").value === "chosen" && !keys.days.length) throw new Error(t("choose_days")); // none would mean all
  if (edited) {
    const change = edited.made_here ? changed(edited, keys) : { at: keys.at };
    if (Object.keys(change).length) await ask("PATCH", path`/api/alarms/${edited.id}`, change);
  } else {
    if (!keys.days.length) delete keys.days;
    if (!keys.text) delete keys.text;
    await ask("POST", "/api/alarms", keys);
  }
  $("alarm-dialog").close();
  told(t("saved"));
  await refreshAgenda();
}

export function setUpAlarms() {
  $("new-alarm").onclick = () => openDialog(null);
  $("alarm-repeat").onchange = showRepeat;
  $("alarm-volume").oninput = () => { $("alarm-volume-shown").textContent = $("alarm-volume").value; };
  $("alarm-cancel").onclick = () => $("alarm-dialog").close();
  $("alarm-form").onsubmit = (event) => {
    event.preventDefault();
    save().catch((error) => { $("alarm-error").textContent = error.message; });
  };
  $("alarm-remove").onclick = () => {
    ask("DELETE", path`/api/alarms/${edited.id}`)
      .then(() => { $("alarm-dialog").close(); told(t("removed")); return refreshAgenda(); })
      .catch((error) => { $("alarm-error").textContent = error.message; });
  };
  refreshAgenda().catch(failed);
}
