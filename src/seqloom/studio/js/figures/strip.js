// A token strip: the tokens of a sequence with a cursor. One tab stop; ←/→ move.
import { announce, h } from "../dom.js";
import { arrowTarget, onKeys } from "./common.js";
import { columnsOf, visible } from "./tokens.js";

let counter = 0;

/**
 * tokenStrip({tokens, numbers?, at, onMove, label, wrap, paint?: (i) => {background, title}, below?: (i) => Element})
 * → element with `setCursor(i)` and `repaint(paint)`. With `wrap` it is set like a text; else it is one line whose
 * columns are aligned with the heat maps below it. The tokens of a time series are time stamps; its observations,
 * `numbers`, are shown instead.
 */
export function tokenStrip({ tokens, numbers, at = null, onMove, label = "input tokens", wrap, paint, below }) {
  const name = `strip-${++counter}`,
    columns = wrap ? null : columnsOf(numbers || tokens);
  const options = tokens.map((token, i) =>
    h(
      "span",
      {
        class: "token",
        role: "option",
        id: `${name}-${i}`,
        dataset: { position: i },
        "aria-selected": "false",
        title: numbers ? `${tokens[i]}: ${numbers[i]}` : "",
        style: columns && `width:${columns.widths[i]}px`,
      },
      h("bdi", columns ? columns.shown[i] : visible(numbers ? numbers[i] : token)),
      below?.(i),
    ),
  );
  const isWords = wrap && tokens.filter((token) => [...token].length > 1).length > tokens.length / 3;
  const element = h(
    "div",
    {
      class: `token-strip${wrap ? " strip-text" : ""}${isWords ? " words" : ""}`,
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
  element.setCursor = (position) => {
    options[cursor]?.setAttribute("aria-selected", "false");
    cursor = position === null || !options[position] ? null : position;
    options[cursor]?.setAttribute("aria-selected", "true");
    element.setAttribute("aria-activedescendant", cursor === null ? "" : options[cursor].id);
  };
  element.repaint = (paintToken) =>
    options.forEach((node, i) => {
      const { background = "", title = "" } = paintToken(i);
      Object.assign(node.style, { background });
      node.title = title;
    });
  const move = (position, isSpoken) => {
    element.setCursor(position);
    options[position].scrollIntoView({ block: "nearest", inline: "nearest" });
    if (isSpoken) announce(options[position].title || `${position + 1}: ${visible(tokens[position])}`);
    onMove?.(position);
  };
  element.addEventListener("click", (event) => {
    const node = event.target.closest("[data-position]");
    if (node) move(Number(node.dataset.position));
  });
  onKeys(element, (key) => {
    const step = wrap && getComputedStyle(element).direction === "rtl" ? -1 : 1;
    const target = arrowTarget(key, cursor, options.length, step);
    return target === undefined || !options.length ? false : move(target, true);
  });
  if (paint) element.repaint(paint);
  element.setCursor(at);
  return element;
}

/** A horizontally scrolling line; all lines of the same group scroll together. */
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

/** Scroll all lines of a group so that a column is visible. */
export function reveal(group, left, width) {
  const [line] = inGroup(group);
  if (!line) return;
  if (left < line.scrollLeft + 20) line.scrollLeft = Math.max(0, left - 60);
  else if (left + width > line.scrollLeft + line.clientWidth - 20)
    line.scrollLeft = left + width - line.clientWidth + 60;
}

const inGroup = (group) => document.querySelectorAll(`.scroller[data-group="${group}"]`);
