// Attention as ribbons between two lines of words: as wide as the weight, side by side on the word
// like a Sankey diagram, so that all a word receives can be read off. A word alone hides the others.
import { announce, h, s } from "../dom.js";
import { category } from "../colours.js";
import { cut, pixels, visible } from "./symbols.js";

const BUNDLE = 15, HEIGHT = 190, TOP = 30, BOTTOM = 160;

/** ribbons({rows (who looks), columns (what is looked at), weights, share, onRow, rowWord}) → element. */
export function ribbons({ rows, columns, weights, share = 0.9, onRow, onColumn }) {
  const received = columns.map((_, column) => weights.reduce((sum, line) => sum + line[column], 0));
  const seen = slots(columns, received.map((total) => BUNDLE * total));
  const looks = slots(rows, rows.map(() => BUNDLE));
  const width = Math.max(seen.total, looks.total) + 20;
  const shift = [(width - seen.total) / 2, (width - looks.total) / 2];
  const svg = s("svg", { width, height: HEIGHT, viewBox: `0 0 ${width} ${HEIGHT}`, class: "ribbons-svg" });
  const kept = weights.map((line) => strongest(line, share));
  const edges = [];
  const used = columns.map((_, column) => -BUNDLE * kept.reduce((sum, line, row) => sum + (line.has(column) ? weights[row][column] : 0), 0) / 2);
  weights.forEach((line, row) => {
    let place = -BUNDLE * [...kept[row]].reduce((sum, column) => sum + line[column], 0) / 2;
    line.forEach((weight, column) => {
      if (!kept[row].has(column)) return;
      const thick = BUNDLE * weight;
      const x1 = shift[0] + seen.middles[column] + used[column] + thick / 2, x2 = shift[1] + looks.middles[row] + place + thick / 2;
      used[column] += thick;
      place += thick;
      const edge = s("path", {
        class: "ribbon", "data-row": row, "data-column": column, "stroke-width": Math.max(0.6, thick).toFixed(2), style: `stroke:${category(0)}`,
        d: `M${x1.toFixed(1)} ${TOP + 6}C${x1.toFixed(1)} 95 ${x2.toFixed(1)} 95 ${x2.toFixed(1)} ${BOTTOM - 16}`,
      }, s("title", {}, `${visible(rows[row])} looks at ${visible(columns[column])}: ${weight.toFixed(2)}`));
      edges.push({ edge, row, column, weight });
      svg.append(edge);
    });
  });
  const words = [...columns.map((word, i) => node(word, i, "column")), ...rows.map((word, i) => node(word, i, "row"))];
  svg.append(...words.map(({ group }) => group));
  const status = h("p", { class: "muted ribbons-status", "aria-hidden": "true" }, "Point at a word, or walk with the arrow keys: only its ribbons stay.");
  const element = h("div", {
    class: "ribbons", tabindex: "0", role: "group", dataset: { active: "true" },
    "aria-label": "above: what is looked at; below: what looks. Arrow keys walk from word to word",
  }, h("div", { class: "scroller" }, svg), status);
  let here = null;
  const only = (word, aloud) => {
    here = word;
    for (const { edge, row, column } of edges) edge.style.display = !word || (word.side === "row" ? row : column) === word.index ? "" : "none";
    for (const other of words) other.group.classList.toggle("chosen", other === word);
    if (!word) return;
    const said = sentence(word);
    status.textContent = said;
    if (aloud) announce(said);
  };
  element.setCursor = ({ row = null, column = null }) => words.forEach((word) => word.group.classList.toggle("at-cursor", word.index === (word.side === "row" ? row : column)));
  words.forEach((word) => {
    word.group.addEventListener("pointerenter", () => only(word));
    word.group.addEventListener("click", () => (word.side === "row" ? onRow : onColumn)?.(word.index));
  });
  element.addEventListener("pointerleave", () => only(null));
  element.addEventListener("blur", () => only(null));
  element.addEventListener("keydown", (event) => {
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    const side = { ArrowUp: "column", ArrowDown: "row" }[event.key], move = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (event.key === "Escape") return only(null);
    if (!side && !move) return;
    event.preventDefault();
    const line = words.filter((word) => word.side === (side || here?.side || "row"));
    const from = here ? here.index : -1;
    const next = line[Math.max(0, Math.min(line.length - 1, side ? Math.max(0, from) : from + move))];
    if (!next) return;
    only(next, true);
    if (next.side === "row") onRow?.(next.index); else onColumn?.(next.index);
  });
  return element;

  function node(word, index, side) {
    const [line, offset, y] = side === "column" ? [seen, shift[0], TOP] : [looks, shift[1], BOTTOM];
    const middle = offset + line.middles[index], shown = cut(visible(word), 18);
    const group = s("g", { class: "ribbon-word", "data-side": side, "data-index": index },
      s("rect", { x: offset + line.lefts[index], y: y - 18, width: line.widths[index], height: 26, rx: 4 }),
      s("text", { class: "label", x: middle, y, "text-anchor": "middle" }, shown));
    return { group, index, side };
  }

  function sentence({ side, index }) {
    if (side === "column") return `${visible(columns[index])} receives ${received[index].toFixed(2)} in all`;
    const line = weights[index], order = line.map((_, i) => i).sort((a, b) => line[b] - line[a]).slice(0, 3);
    return `${visible(rows[index])} looks at ${order.map((column) => `${visible(columns[column])} ${line[column].toFixed(2)}`).join(", ")}`;
  }
}

/** The columns that together have `share` of a row, the largest first. */
function strongest(line, share) {
  const order = line.map((_, i) => i).sort((a, b) => line[b] - line[a]), all = line.reduce((sum, value) => sum + value, 0), kept = new Set();
  let sum = 0;
  for (const column of order) {
    if (sum >= share * all - 1e-9 || line[column] <= 0) break;
    kept.add(column);
    sum += line[column];
  }
  return kept;
}

function slots(words, bundles) {
  const widths = words.map((word, i) => Math.max(pixels(cut(visible(word), 18)) + 12, bundles[i] + 4, 20));
  const lefts = [], middles = [];
  let left = 0;
  for (const width of widths) { lefts.push(left); middles.push(left + width / 2); left += width + 4; }
  return { widths, lefts, middles, total: left };
}
