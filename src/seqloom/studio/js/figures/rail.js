// The rail: what was read, one symbol after another, with a cursor. One tab stop, ←/→ move.
import { announce, h } from "../dom.js";
import { along, onKeys } from "./parts.js";
import { columnsOf, visible } from "./symbols.js";

let counter = 0;

/**
 * rail({tokens, numbers?, at, onMove, label, wrap, paint?: (i) => {background, title}, below?: (i) => Element})
 * → element with `setCursor(i)` and `repaint(paint)`. `wrap` folds it like a text; else it is one
 * line whose columns line up with the canvases below it. Of a series, whose tokens are times, the
 * numbers that were observed then are shown.
 */
export function rail({ tokens, numbers, at = null, onMove, label = "what was read", wrap, paint, below }) {
  const name = `rail-${++counter}`,
    columns = wrap ? null : columnsOf(numbers || tokens);
  const options = tokens.map((token, i) =>
    h(
      "span",
      {
        class: "symbol",
        role: "option",
        id: `${name}-${i}`,
        dataset: { place: i },
        "aria-selected": "false",
        title: numbers ? `${tokens[i]}: ${numbers[i]}` : "",
        style: columns && `width:${columns.widths[i]}px`,
      },
      h("bdi", columns ? columns.shown[i] : visible(numbers ? numbers[i] : token)),
      below?.(i),
    ),
  );
  const words = wrap && tokens.filter((symbol) => [...symbol].length > 1).length > tokens.length / 3;
  const element = h(
    "div",
    {
      class: `rail${wrap ? " rail-text" : ""}${words ? " words" : ""}`,
      role: "listbox",
      tabindex: "0",
      "aria-label": label,
      "aria-orientation": "horizontal",
      dir: wrap ? "auto" : "ltr",
      dataset: { active: "true" },
      style: columns && `width:${columns.total}px`,
    },
    wrap ? options.map((node, i) => [node, h(String(tokens[i]).endsWith("\n") ? "br" : "wbr")]) : options,
  );
  let cursor = null;
  element.setCursor = (place) => {
    options[cursor]?.setAttribute("aria-selected", "false");
    cursor = place === null || !options[place] ? null : place;
    options[cursor]?.setAttribute("aria-selected", "true");
    element.setAttribute("aria-activedescendant", cursor === null ? "" : options[cursor].id);
  };
  element.repaint = (how) =>
    options.forEach((node, i) => {
      const { background = "", title = "" } = how(i);
      Object.assign(node.style, { background });
      node.title = title;
    });
  const move = (place, aloud) => {
    element.setCursor(place);
    options[place].scrollIntoView({ block: "nearest", inline: "nearest" });
    if (aloud) announce(options[place].title || `${place + 1}: ${visible(tokens[place])}`);
    onMove?.(place);
  };
  element.addEventListener("click", (event) => {
    const node = event.target.closest("[data-place]");
    if (node) move(Number(node.dataset.place));
  });
  onKeys(element, (key) => {
    const ahead = wrap && getComputedStyle(element).direction === "rtl" ? -1 : 1;
    const there = along(key, cursor, options.length, ahead);
    return there === undefined || !options.length ? false : move(there, true);
  });
  if (paint) element.repaint(paint);
  element.setCursor(at);
  return element;
}

/** A line that scrolls sideways; all of a page that carry the same name scroll together. */
export function scroller(content, group = "") {
  const line = h(".scroller", { dataset: { group } }, content);
  if (group) {
    line.addEventListener(
      "scroll",
      () => {
        for (const other of inGroup(group))
          if (Math.abs(other.scrollLeft - line.scrollLeft) > 1) other.scrollLeft = line.scrollLeft;
      },
      { passive: true },
    );
  }
  return line;
}

/** Brings a column of every line of a group into sight. */
export function reveal(group, left, width) {
  const [line] = inGroup(group);
  if (!line) return;
  if (left < line.scrollLeft + 20) line.scrollLeft = Math.max(0, left - 60);
  else if (left + width > line.scrollLeft + line.clientWidth - 20)
    line.scrollLeft = left + width - line.clientWidth + 60;
}

const inGroup = (group) => document.querySelectorAll(`.scroller[data-group="${group}"]`);
