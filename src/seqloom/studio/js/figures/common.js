// Helpers of all figures: focusable group, keyboard, status line, <svg>, and redrawing on resize.
import { announce, h, s } from "../dom.js";

/** A group with one tab stop; its label says what its keys do. */
export function focusGroup(kind, label, ...children) {
  return h(
    "div",
    { class: kind, tabindex: "0", role: "group", "aria-label": label, dataset: { active: "true" } },
    children,
  );
}

/** Call `act(key, event)` for keys without modifiers; the key is handled unless it returns false. */
export function onKeys(node, act) {
  node.addEventListener("keydown", (event) => {
    if (event.altKey || event.ctrlKey || event.metaKey || act(event.key, event) === false) return;
    event.preventDefault();
  });
}

/** The list index that an arrow key leads to; undefined for other keys. */
export function arrowTarget(key, index, length, step = 1) {
  const right = (index ?? -1) + step,
    left = (index ?? length) - step;
  const target = { ArrowRight: right, ArrowLeft: left, Home: 0, End: length - 1 }[key];
  return target === undefined ? target : clamp(target, length);
}

export const clamp = (index, length) => Math.max(0, Math.min(length - 1, index));

/** The status line below a figure, with the value under the cursor; `show(text, true)` also announces it. */
export function statusLine(text = "") {
  const line = h("p.figure-status.muted", { "aria-hidden": "true" }, text);
  line.show = (value, isSpoken) => {
    line.textContent = value;
    if (isSpoken) announce(value);
  };
  return line;
}

export function svgCanvas(kind, width, height, ...children) {
  return s("svg", { class: kind, width, height, viewBox: `0 0 ${width} ${height}` }, children);
}

/** Call `draw(width)` once the element has a width, and again when it changes. */
export function onResize(element, draw) {
  let width = 0;
  new ResizeObserver(([entry]) => {
    const current = Math.round(entry.contentRect.width);
    if (current && current !== width) draw((width = current));
  }).observe(element);
}

export const muted = (...text) => h("span.muted", text);
export const swatch = (colour, name) => h("span", h("span.swatch", { style: `background:${colour}` }), name);
/** Two decimals; an empty text for null. */
export const fixed2 = (value) => (value == null ? "" : value.toFixed(2));
