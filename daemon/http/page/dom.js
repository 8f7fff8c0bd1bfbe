// Small helpers for the document. Text is always set as text: nothing that comes from elsewhere is ever HTML.

export const $ = (id) => document.getElementById(id);

/** An element with properties and children; `class`, `data` and attributes with a hyphen are set as such. */
export function h(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (value === undefined || value === null || value === false) continue;
    if (name === "class") element.className = value;
    else if (name === "data") Object.assign(element.dataset, value);
    else if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name.includes("-") || ["role", "for", "lang"].includes(name)) element.setAttribute(name, value);
    else element[name] = value;
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

/** Put other children into an element; the focus stays on the control that has the same `data-key`. */
export function fill(element, ...children) {
  const focused = element.contains(document.activeElement) ? document.activeElement.dataset.key : null;
  element.replaceChildren(...children.flat().filter(Boolean));
  if (focused) element.querySelector(`[data-key="${CSS.escape(focused)}"]`)?.focus();
}

/** Fill only if what it is made of is different from last time. */
const last = new WeakMap();
export function fillIfNew(element, facts, make) {
  const written = JSON.stringify(facts);
  if (last.get(element) === written) return;
  last.set(element, written);
  fill(element, make());
}

/** A button; while its work goes on it cannot be pressed again. */
export function button(label, work, properties = {}) {
  return h("button", { type: "button", onclick: (event) => during(event.currentTarget, work), ...properties }, label);
}

export async function during(control, work) {
  if (control.getAttribute("aria-busy") === "true") return;
  control.setAttribute("aria-busy", "true");
  try {
    await work();
  } catch (error) {
    failed(error);
  } finally {
    control.removeAttribute("aria-busy");
  }
}

const timers = {};
function show(id, text, milliseconds) {
  $(id).textContent = text;
  clearTimeout(timers[id]);
  timers[id] = setTimeout(() => $(id).replaceChildren(), milliseconds);
}

export const told = (text) => show("told", text, 3500);

/** Show what went wrong; what was given up by the reader himself is nothing to show. */
export const failed = (error) => error.name !== "AbortError" && show("failed", error.message, 9000);

/** The outline of a sound, peaks from 0 to 100. */
export function waveform(peaks, label) {
  if (!peaks.length) return h("div", { class: "wave none" });
  const NS = "http://www.w3.org/2000/svg";
  const svg = document.createElementNS(NS, "svg");
  const values = { class: "wave", viewBox: `0 0 ${peaks.length} 100`, preserveAspectRatio: "none", role: "img", "aria-label": label };
  for (const [name, value] of Object.entries(values)) svg.setAttribute(name, value);
  const path = document.createElementNS(NS, "path");
  const bars = peaks.map((peak, index) => {
    const height = Math.max(2, peak);
    return `M${index + 0.15} ${50 - height / 2}h.7v${height}h-.7z`;
  });
  path.setAttribute("d", bars.join(""));
  path.setAttribute("fill", "currentColor");
  svg.append(path);
  return svg;
}
