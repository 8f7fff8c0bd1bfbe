// The words of the page, in Japanese and English.

const WORDS = {
  skip_link: ["本文へ", "Skip to content"],
  language: ["言語", "Language"],
  connected: ["接続中", "Connected"],
  disconnected: ["接続が切れました。つなぎ直しています…", "Connection lost; trying again…"],
  now: ["いま", "Now"],
  idle: ["静かです。", "It is quiet."],
  preparing: ["準備中…", "Being prepared…"],
  waiting: ["待ち {n} 件", "{n} waiting"],
  stop: ["止める", "Stop"],
  skip: ["次へ", "Skip"],
  replay: ["もう一度", "Say again"],
  rings: ["{name} が鳴っています", "{name} is ringing"],
  snoozed_until: ["{name} はスヌーズ中({time} まで)", "{name} is snoozed until {time}"],
  snooze: ["スヌーズ", "Snooze"],
  dismiss: ["止める", "Dismiss"],
  alarms: ["アラーム", "Alarms"],
  new_alarm: ["新しいアラーム", "New alarm"],
  edit_alarm: ["アラームの変更", "Change the alarm"],
  no_alarms: ["アラームはありません。", "There is no alarm."],
  alarm_on: ["{name} を鳴らす", "{name} is on"],
  entry_on: ["{name} を話す", "{name} is on"],
  next_at: ["次は {time}", "next {time}"],
  left_out: ["{time} は休み({reason})", "not {time}: {reason}"],
  skipped_once: ["1回休み", "skipped once"],
  off: ["オフ", "off"],
  skip_once: ["次を1回休む", "Skip the next"],
  unskip: ["休まない", "Do not skip"],
  edit: ["変更", "Edit"],
  ring_now: ["いま鳴らす", "Ring now"],
  dismiss_early: ["今回は止める", "Dismiss this one"],
  remove: ["削除", "Remove"],
  removed: ["削除しました", "Removed"],
  cancel: ["やめる", "Cancel"],
  save: ["保存", "Save"],
  saved: ["保存しました", "Saved"],
  time: ["時刻", "Time"],
  repeats: ["くり返し", "Repeats"],
  days: ["曜日", "Days"],
  once: ["1回だけ", "once"],
  daily: ["毎日", "every day"],
  workdays: ["平日(祝日を除く)", "workdays (without holidays)"],
  chosen: ["曜日を選ぶ", "on chosen days"],
  choose_days: ["曜日を選んでください。", "Choose at least one day."],
  custom: ["そのほか", "other"],
  days_words: ["日の指定(例: 第2土曜、2026-12-24)", "Days (such as 2nd sat, 2026-12-24)"],
  name: ["名前", "Name"],
  in_configuration: [
    "設定ファイルのアラームです。ここで変えられるのは時刻だけです。",
    "This alarm is in the configuration file; here only its time can be changed.",
  ],
  speak: ["話す", "Speak"],
  text: ["ことば", "Text"],
  voice: ["声", "Voice"],
  style: ["スタイル", "Style"],
  speed: ["速さ", "Speed"],
  speak_room: ["部屋で話す", "Speak in the room"],
  listen_here: ["ここで聞く", "Listen here"],
  will_speak: ["部屋で話します", "It will be spoken in the room"],
  settings: ["部屋の設定", "Settings"],
  volume: ["音量", "Volume"],
  mute: ["消音", "Mute"],
  quiet: ["静かな時間", "Quiet hours"],
  quiet_auto: ["時刻どおり", "By the clock"],
  quiet_on: ["静かに", "Quiet"],
  quiet_off: ["話してよい", "Not quiet"],
  quiet_now: ["いまは静かな時間です。", "It is quiet now."],
  quiet_until: ["いまは静かな時間です({time} まで)。", "It is quiet now, until {time}."],
  deferred_count: ["{n} 件が待っています。", "{n} announcements wait."],
  vacation: ["休暇", "Vacation"],
  vacation_none: ["この間、アラームは鳴りません。", "Alarms do not ring between these dates."],
  vacation_set: ["{from} から {until} まで休暇です。", "Vacation from {from} until {until}."],
  vacation_open: ["{from} から休暇です。", "Vacation from {from}."],
  from: ["初日", "First day"],
  until: ["最終日", "Last day"],
  set: ["休暇にする", "Set"],
  end_vacation: ["休暇を終える", "End the vacation"],
  briefings: ["お知らせ", "Briefings"],
  briefing: ["お知らせ", "Briefing"],
  preview: ["内容を見る", "Preview"],
  play: ["話す", "Play"],
  pause: ["一時停止", "Pause"],
  resume: ["続ける", "Resume"],
  next_section: ["次の項目", "Next section"],
  gathering: ["集めています…", "Asking the sources…"],
  nothing_to_say: ["話すことはありません。", "There is nothing to say."],
  section_left_out: ["省略: {reason}", "Left out: {reason}"],
  section_instead: ["前回の値: {reason}", "Last good value: {reason}"],
  section_source: ["{source} から", "from {source}"],
  section_age: ["{age} 前のデータ", "data {age} old"],
  section_own: ["設定どおり", "as configured"],
  schedule: ["予定", "Schedule"],
  run_now: ["いま話す", "Say now"],
  tells: ["お知らせ「{name}」", "briefing “{name}”"],
  pronunciation: ["読みかた", "Pronunciation"],
  try_text: ["読みを確かめる文", "Text to try"],
  show_reading: ["読みを見る", "Show the reading"],
  unread: ["読めない: {text}({reason})", "Not read: {text} ({reason})"],
  nothing_read: ["読めるところがありません。", "Nothing in it can be read."],
  flat: ["平板", "flat"],
  falls_after: ["{mora} のあとで下がる", "falls after {mora}"],
  add_word: ["辞書に加える", "Add to the dictionary"],
  surface: ["書きかた", "Written"],
  reading: ["よみ(かな)", "Reading (kana)"],
  accent: ["アクセント", "Accent"],
  accent_default: ["おまかせ", "as usual"],
  add: ["加える", "Add"],
  added: ["「{word}」を辞書に加えました", "“{word}” is in the dictionary"],
  own_words: ["辞書のことば", "Words of the dictionary"],
  no_words: ["まだありません。", "There are none yet."],
  no_dictionary: [
    "設定に dictionary がないので、ことばを加えられません。",
    "The configuration has no dictionary; words cannot be added.",
  ],
  log: ["最近話したこと", "Last announcements"],
  no_log: ["まだ何も話していません。", "Nothing was announced yet."],
  waveform: ["{s} 秒の波形", "Waveform of {s} s"],
  finished: ["話し終えた", "finished"],
  failed: ["失敗", "failed"],
  dropped: ["話さなかった", "dropped"],
  expired: ["期限切れ", "expired"],
  missed: ["逃した", "missed"],
  accepted: ["受けつけた", "accepted"],
  queued: ["待っている", "waiting"],
  started: ["話している", "being said"],
  interrupted: ["中断", "interrupted"],
  deferred: ["静かな時間のあとで", "after the quiet hours"],
  stopped: ["途中で止めた", "stopped"],
  more: ["もっと見る", "Show more"],
  fewer: ["少なくする", "Show fewer"],
  took: ["音が出るまで {time}", "first sound after {time}"],
  length: ["{s} 秒", "{s} s"],
  from_cache: ["保存した音声", "from the cache"],
  inaudible: ["聞こえない先へ", "to where nobody hears it"],
  rounds: ["{n} 回", "{n} times"],
  origin_mqtt: ["MQTT", "MQTT"],
  origin_http: ["HTTP", "HTTP"],
  origin_cli: ["コマンド", "command line"],
  origin_alarm: ["アラーム", "alarm"],
  origin_briefing: ["お知らせ", "briefing"],
  origin_schedule: ["予定", "schedule"],
  origin_quiet: ["静かな時間のまとめ", "summary of quiet hours"],
  speakers: ["話者", "Speakers"],
  default_speaker: ["標準", "default"],
  ready: ["準備よし", "ready"],
  released: ["解放中(必要になれば読み込みます)", "not in memory; loaded when needed"],
  elsewhere: ["ほかのノード", "on another node"],
  unavailable: ["使えない", "not available"],
  load: ["読み込む", "Load"],
  unload: ["解放する", "Unload"],
  doctor: ["診断", "Doctor"],
  examine: ["調べる", "Examine"],
  examining: ["調べています。1分ほどかかることがあります…", "Examining; this may take a minute…"],
  all_well: ["問題はありません。", "Everything is well."],
  level_ok: ["よし", "ok"],
  level_warn: ["注意", "warning"],
  level_fail: ["不具合", "fault"],
  token_title: ["合言葉(トークン)", "Token"],
  token_hint: [
    "設定の http.token です。このタブを閉じるまで覚えておきます。",
    "It is http.token of the configuration. It is kept until this tab is closed.",
  ],
  token: ["トークン", "Token"],
  token_wrong: ["違います。", "That is not it."],
  enter: ["入る", "Enter"],
  good_morning: ["おはようございます。", "おはようございます。"],
  today: ["今日", "today"],
  tomorrow: ["明日", "tomorrow"],
  unreachable: ["つながりません", "The service cannot be reached"],
};

const kept = () => {
  try {
    return localStorage.getItem("asagoe.language");
  } catch {
    return null; // storage may be switched off
  }
};

let language = kept() || ((navigator.language || "").toLowerCase().startsWith("ja") ? "ja" : "en");

export const currentLanguage = () => language;

export function setLanguage(chosen) {
  language = chosen === "ja" ? "ja" : "en";
  try {
    localStorage.setItem("asagoe.language", language);
  } catch {
    // it holds for this visit
  }
}

/** The words under a key, with {names} filled in. */
export function t(key, values = {}) {
  const words = WORDS[key];
  if (!words) return key;
  return words[language === "ja" ? 0 : 1].replace(/\{(\w+)\}/g, (_, name) => String(values[name] ?? ""));
}

/** Put the words into all elements that name one. */
export function translate(root = document) {
  document.documentElement.lang = language;
  for (const element of root.querySelectorAll("[data-t]")) element.textContent = t(element.dataset.t);
}

const DAYS = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"];

/** The short names of weekdays, Monday first: [["mon", "月"], …]. */
export function weekdays() {
  const format = new Intl.DateTimeFormat(language, { weekday: "short", timeZone: "UTC" });
  return DAYS.map((day, index) => [day, format.format(new Date(Date.UTC(2024, 0, 1 + index)))]);
}

const dayNumber = (word) => Math.max(DAYS.indexOf(word), word.length === 1 ? "月火水木金土日".indexOf(word) : -1);

/** The weekdays that words such as "mon-fri" or "sat" name; null where they name something else. */
export function daysNamed(words) {
  const found = new Set();
  for (const word of words.flatMap((text) => text.toLowerCase().split(/[\s,]+/)).filter(Boolean)) {
    const [first, last = first] = word.split("-");
    const [from, to] = [dayNumber(first), dayNumber(last)];
    if (from < 0 || to < 0) return null;
    for (let step = 0; step <= (to - from + 7) % 7; step += 1) found.add(DAYS[(from + step) % 7]);
  }
  return DAYS.filter((day) => found.has(day));
}

/** Days of an alarm or entry, for people. */
export function daysInWords(item) {
  if (item.cron) return `cron ${item.cron}`;
  if (item.once) return t("once");
  if (!item.days.length) return t("daily");
  if (item.days.length === 1 && ["workdays", "平日"].includes(item.days[0])) return t("workdays");
  const named = daysNamed(item.days);
  if (named?.length === 7) return t("daily");
  const names = Object.fromEntries(weekdays());
  return named ? named.map((day) => names[day]).join(language === "ja" ? "・" : ", ") : item.days.join(", ");
}

/** A moment such as 2026-12-01T06:45:00+09:00 as the node's clock shows it; today is the node's date. */
export function moment(iso, clock) {
  if (!iso) return "";
  const [date, rest] = iso.split("T");
  const time = rest.slice(0, 5);
  const today = (clock || "").slice(0, 10);
  const days = Math.round((Date.parse(`${date}T00:00Z`) - Date.parse(`${today}T00:00Z`)) / 86_400_000);
  if (days === 0) return `${t("today")} ${time}`;
  if (days === 1) return `${t("tomorrow")} ${time}`;
  return `${dateInWords(date, days > 1 && days < 7)} ${time}`;
}

/** A date, or within the next days its weekday. */
export function dateInWords(date, weekdayAlone = false) {
  const options = weekdayAlone ? { weekday: "long" } : { month: "long", day: "numeric", weekday: "short" };
  return new Intl.DateTimeFormat(language, { ...options, timeZone: "UTC" }).format(new Date(`${date}T00:00Z`));
}

/** Seconds as minutes, hours or days. */
export function age(seconds) {
  const [value, unit] =
    seconds < 90 ? [seconds, "second"] : seconds < 5400 ? [seconds / 60, "minute"]
      : seconds < 129_600 ? [seconds / 3600, "hour"] : [seconds / 86_400, "day"];
  return new Intl.NumberFormat(language, { style: "unit", unit, unitDisplay: "short", maximumFractionDigits: 0 }).format(value);
}
