// What figures share: a group that takes the focus, keys, a line that tells the value under the
// cursor, an <svg>, and drawing anew when the width changes.
import { announce, h, s } from "../dom.js";

/** An element with one tab stop that says what its keys do. */
export function walkable(kind, label, ...children) {
  return h(
    "div",
    { class: kind, tabindex: "0", role: "group", "aria-label": label, dataset: { active: "true" } },
    children,
  );
}

/** Calls `act(key, event)` for keys without modifiers; what it gives back other than false is done. */
export function onKeys(node, act) {
  node.addEventListener("keydown", (event) => {
    if (event.altKey || event.ctrlKey || event.metaKey || act(event.key, event) === false) return;
    event.preventDefault();
  });
}

/** Where an arrow leads in a list: a new place, or undefined for other keys. */
export function along(key, here, length, leap = 1) {
  const there = { ArrowRight: (here ?? -1) + leap, ArrowLeft: (here ?? length) - leap, Home: 0, End: length - 1 }[key];
  return there === undefined ? there : clamp(there, length);
}

export const clamp = (place, length) => Math.max(0, Math.min(length - 1, place));

/** The line below a figure that tells what is under the cursor; `tell(text, true)` also reads it out. */
export function teller(text = "") {
  const line = h("p.told.muted", { "aria-hidden": "true" }, text);
  line.tell = (words, aloud) => {
    line.textContent = words;
    if (aloud) announce(words);
  };
  return line;
}

export function canvasOf(kind, width, height, ...children) {
  return s("svg", { class: kind, width, height, viewBox: `0 0 ${width} ${height}` }, children);
}

/** Draws when the element gets a width, and again when that changes. */
export function whenSized(element, draw) {
  let width = 0;
  new ResizeObserver(([entry]) => {
    const found = Math.round(entry.contentRect.width);
    if (found && found !== width) draw((width = found));
  }).observe(element);
}

export const muted = (...words) => h("span.muted", words);
export const swatch = (colour, name) => h("span", h("span.swatch", { style: `background:${colour}` }), name);
/** Two digits, or nothing where there is no number. */
export const two = (value) => (value == null ? "" : value.toFixed(2));
