// The page: what is fetched when, and the language.

import { listen } from "./api.js";
import { refreshAgenda, setUpAlarms } from "./alarms.js";
import { $, failed } from "./dom.js";
import { refreshBriefings, reshowHouse, setUpHouse, showState } from "./house.js";
import { refreshLog } from "./log.js";
import { refreshSpeakers, refreshWords, reshowSpeech, setUpSpeech } from "./speech.js";
import { currentLanguage, setLanguage, t, translate } from "./words.js";

let state = null;
let log = [];
let up = null;
let offset = 0; // of the node's clock to this one's, in milliseconds
let seen = "";

/** Do something soon, and once for many calls; what fails is shown where the connection is not the reason. */
function soon(work, milliseconds) {
  let timer = null;
  return () => {
    timer ??= setTimeout(() => {
      timer = null;
      work().catch((error) => up && failed(error));
    }, milliseconds);
  };
}

const said = () => log.find((entry) => entry.id === state?.current || state?.current?.startsWith(`${entry.id}.`))?.text;
const show = () => state && showState(state, said());
const logSoon = soon(async () => {
  log = await refreshLog(state?.timezone);
  show();
}, 250);
const agendaSoon = soon(() => refreshAgenda(state?.clock), 50);
const speakersSoon = soon(refreshSpeakers, 500);

function onMessage(kind, body) {
  if (kind === "event") {
    logSoon();
    return;
  }
  state = body;
  offset = Date.parse(body.clock) - Date.now();
  const agenda = JSON.stringify([body.alarms, body.schedule, body.vacation, body.clock.slice(0, 10)]);
  if (agenda !== seen) agendaSoon();
  seen = agenda;
  speakersSoon();
  if (body.current && !said()) logSoon();
  show();
}

function onConnection(is) {
  if (is && up === false) { // what happened meanwhile is not told again
    logSoon();
    agendaSoon();
    refreshWords().catch(failed);
    refreshBriefings().catch(failed);
  }
  up = is;
  showConnection();
}

function showConnection() {
  if (up === null) return;
  $("connection").textContent = t(up ? "connected" : "disconnected");
  $("connection").classList.toggle("lost", !up);
}

function tick() {
  if (!state) return;
  const format = { timeZone: state.timezone, weekday: "short", month: "long", day: "numeric", hour: "2-digit", minute: "2-digit", hourCycle: "h23" };
  const text = new Intl.DateTimeFormat(currentLanguage(), format).format(new Date(Date.now() + offset));
  if ($("clock").textContent !== text) $("clock").textContent = text;
}

$("language").value = currentLanguage();
$("language").onchange = () => {
  setLanguage($("language").value);
  translate();
  reshowSpeech();
  reshowHouse();
  $("briefing-shown").replaceChildren();
  $("doctor").replaceChildren();
  showConnection();
  show();
  tick();
  agendaSoon();
  logSoon();
  speakersSoon();
  refreshWords().catch(failed);
};

translate();
setUpAlarms();
setUpSpeech();
setUpHouse();
logSoon();
listen(onMessage, onConnection);
setInterval(tick, 1000);
