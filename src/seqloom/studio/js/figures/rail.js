// The rail: what was read, one symbol after another, with a cursor. One tab stop, ←/→ move.
import { announce, h } from "../dom.js";
import { columnsOf, visible } from "./symbols.js";

let counter = 0;

/**
 * rail({tokens, at, onMove, label, wrap, paint?: (i) => {background, title?, said?}, below?: (i) => Element})
 * → element with `setCursor(i)` and `repaint(paint)`. `wrap` folds it like a text; else it is one
 * line whose columns line up with the canvases below it.
 */
export function rail({ tokens, at = null, onMove, label = "what was read", wrap = false, paint, below }) {
  const name = `rail-${++counter}`, columns = wrap ? null : columnsOf(tokens);
  const options = tokens.map((token, i) => option(token, i, name, columns, below));
  const element = h("div", {
    class: wrap ? "rail rail-text" : "rail", role: "listbox", tabindex: "0", "aria-label": label,
    "aria-orientation": "horizontal", dir: wrap ? "auto" : "ltr", dataset: { active: "true" },
    style: columns ? `width:${columns.total}px` : null,
  }, ...(wrap ? options.flatMap((node, i) => (String(tokens[i]).endsWith("\n") ? [node, h("br")] : [node, h("wbr")])) : options));
  let cursor = null, said = null;
  element.setCursor = (place) => {
    const old = options[cursor];
    old?.setAttribute("aria-selected", "false");
    cursor = place === null || place === undefined || !options.length ? null : Math.max(0, Math.min(options.length - 1, place));
    const now = options[cursor];
    if (!now) { element.removeAttribute("aria-activedescendant"); return; }
    now.setAttribute("aria-selected", "true");
    element.setAttribute("aria-activedescendant", now.id);
  };
  element.repaint = (how) => {
    said = how;
    options.forEach((node, i) => {
      const look = how?.(i) || {};
      node.style.background = look.background || "";
      if (look.title) node.title = look.title; else node.removeAttribute("title");
    });
  };
  element.options = options;
  const move = (place, aloud) => {
    const wanted = Math.max(0, Math.min(options.length - 1, place));
    element.setCursor(wanted);
    show(options[wanted]);
    if (aloud) announce(said?.(wanted)?.title || `${wanted + 1}: ${visible(tokens[wanted])}`);
    onMove?.(wanted);
  };
  element.addEventListener("click", (event) => {
    const node = event.target.closest("[data-place]");
    if (node) move(Number(node.dataset.place), false);
  });
  element.addEventListener("keydown", (event) => {
    if (event.altKey || event.ctrlKey || event.metaKey || !options.length) return;
    const ahead = wrap && getComputedStyle(element).direction === "rtl" ? -1 : 1;
    const here = cursor ?? (event.key === "ArrowLeft" ? options.length : -1);
    const there = { ArrowRight: here + ahead, ArrowLeft: here - ahead, Home: 0, End: options.length - 1 }[event.key];
    if (there === undefined) return;
    event.preventDefault();
    move(there, true);
  });
  if (paint) element.repaint(paint);
  if (at !== null) element.setCursor(at);
  return element;
}

/** A line that scrolls sideways; all of a page that carry the same name scroll together. */
export function scroller(content, group) {
  const line = h("div", { class: "scroller", dataset: { group: group || "" } }, content);
  if (group) line.addEventListener("scroll", () => together(line, group), { passive: true });
  return line;
}

/** Brings a column of every line of a group into sight. */
export function reveal(group, left, width) {
  const line = document.querySelector(`.scroller[data-group="${group}"]`);
  if (!line) return;
  if (left < line.scrollLeft + 20) line.scrollLeft = Math.max(0, left - 60);
  else if (left + width > line.scrollLeft + line.clientWidth - 20) line.scrollLeft = left + width - line.clientWidth + 60;
}

function together(line, group) {
  for (const other of document.querySelectorAll(`.scroller[data-group="${group}"]`)) {
    if (other !== line && Math.abs(other.scrollLeft - line.scrollLeft) > 1) other.scrollLeft = line.scrollLeft;
  }
}

function option(token, i, name, columns, below) {
  const shown = visible(token);
  return h("span", {
    class: "symbol", role: "option", id: `${name}-${i}`, dataset: { place: i }, "aria-selected": "false",
    style: columns ? `width:${columns.widths[i]}px` : null,
  }, h("bdi", { class: "symbol-text" }, shown), below?.(i));
}

function show(node) {
  node?.scrollIntoView?.({ block: "nearest", inline: "nearest" });
}
