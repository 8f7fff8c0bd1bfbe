// Requests to the service, with the token where it wants one, and the stream of what happens.

import { $ } from "./dom.js";
import { t } from "./words.js";

const KEY = "asagoe.token";
const SILENCE = 45_000; // milliseconds without a sign of life; the service sends one every 15 s

let asking = null;

const token = () => {
  try {
    return sessionStorage.getItem(KEY);
  } catch {
    return null;
  }
};

/** Ask for the token; one question serves all requests that wait for it. */
function askForToken(again) {
  asking ??= new Promise((resolve) => {
    const dialog = $("token-dialog");
    $("token-error").textContent = again ? t("token_wrong") : "";
    $("token").value = "";
    dialog.oncancel = (event) => event.preventDefault();
    $("token-form").onsubmit = () => {
      sessionStorage.setItem(KEY, $("token").value.trim());
      asking = null;
      resolve();
    };
    dialog.showModal();
    $("token").focus();
  });
  return asking;
}

/** A response; an error is thrown with the sentence of the service. */
export async function request(method, path, body, options = {}) {
  for (;;) {
    const sent = token();
    const headers = { ...(sent ? { Authorization: `Bearer ${sent}` } : {}) };
    if (body !== undefined) headers["Content-Type"] = "application/json";
    let response;
    try {
      response = await fetch(path, { method, headers, body: body === undefined ? undefined : JSON.stringify(body), ...options });
    } catch (error) {
      if (error.name === "AbortError") throw error;
      throw new Error(t("unreachable"));
    }
    if (response.status === 401) {
      if (token() === sent) await askForToken(Boolean(sent));
      continue;
    }
    if (response.ok) return response;
    const problem = await response.json().catch(() => ({}));
    const error = new Error(problem.detail || `${response.status} ${response.statusText}`);
    error.status = response.status;
    throw error;
  }
}

/** The JSON of an answer, or null where it has none. */
export async function ask(method, path, body) {
  const response = await request(method, path, body);
  return response.status === 204 ? null : response.json();
}

/** A path with parts that may hold anything. */
export const path = (parts, ...values) => parts.reduce((whole, part, index) => whole + encodeURIComponent(values[index - 1]) + part);

/** A text as WAV. What is streamed does not tell its length; here it is known. */
export async function wav(body) {
  const data = await (await request("POST", "/api/say", body)).arrayBuffer();
  const view = new DataView(data);
  view.setUint32(4, data.byteLength - 8, true);
  view.setUint32(40, data.byteLength - 44, true);
  return new Blob([data], { type: "audio/wav" });
}

/** Call `onMessage(kind, body)` for all that happens, for ever; `onConnection(up)` tells whether it is heard. */
export async function listen(onMessage, onConnection) {
  let pause = 500;
  for (;;) {
    const control = new AbortController();
    let watch;
    const alive = () => {
      clearTimeout(watch);
      watch = setTimeout(() => control.abort(), SILENCE);
    };
    try {
      alive();
      const response = await request("GET", "/api/events", undefined, { signal: control.signal });
      const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
      onConnection(true);
      pause = 500;
      let rest = "";
      for (;;) {
        const { done, value } = await reader.read();
        if (done) break;
        alive();
        const blocks = (rest + value).split("\n\n");
        rest = blocks.pop();
        for (const block of blocks) deliver(block, onMessage);
      }
    } catch {
      // the next attempt tells
    } finally {
      clearTimeout(watch);
      control.abort();
    }
    onConnection(false);
    await new Promise((resolve) => setTimeout(resolve, pause));
    pause = Math.min(pause * 2, 15_000);
  }
}

function deliver(block, onMessage) {
  const fields = block.split("\n").map((line) => [line.slice(0, line.indexOf(":")), line.slice(line.indexOf(":") + 1).trim()]);
  const { event, data } = Object.fromEntries(fields);
  if (event && data) onMessage(event, JSON.parse(data));
}
