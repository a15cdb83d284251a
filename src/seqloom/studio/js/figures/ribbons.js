// Attention as ribbons between two lines of tokens, as wide as the weight and side by side as in a Sankey diagram,
// so that the total weight of a token can be read off. Selecting a token hides the ribbons of all others.
import { h, s } from "../dom.js";
import { svgCanvas, clamp, onKeys, statusLine, fixed2, focusGroup } from "./common.js";
import { truncate, textWidth, visible } from "./tokens.js";

const BUNDLE = 15,
  HEIGHT = 176,
  TOP = 30,
  BOTTOM = 160;
const sum = (values) => values.reduce((total, value) => total + value, 0);

/** ribbons({rows (queries), columns (keys), weights, share, onRow, onColumn}) → element. */
export function ribbons({ rows, columns, weights, share = 0.9, onRow, onColumn }) {
  const received = columns.map((_, column) => sum(weights.map((line) => line[column])));
  const keySlots = slots(columns, received),
    querySlots = slots(
      rows,
      rows.map(() => 1),
    ),
    width = Math.max(keySlots.total, querySlots.total) + 20;
  const shift = { column: (width - keySlots.total) / 2, row: (width - querySlots.total) / 2 };
  const svg = svgCanvas("ribbons-svg", width, HEIGHT),
    kept = weights.map((line) => strongest(line, share));
  const used = columns.map(
    (_, column) => (-BUNDLE / 2) * sum(weights.map((line, row) => (kept[row].has(column) ? line[column] : 0))),
  );
  const edges = weights.flatMap((line, row) => {
    let offset = (-BUNDLE / 2) * sum([...kept[row]].map((column) => line[column]));
    return [...kept[row]]
      .sort((a, b) => a - b)
      .map((column) => {
        const thick = BUNDLE * line[column],
          x1 = (shift.column + keySlots.middles[column] + used[column] + thick / 2).toFixed(1),
          x2 = (shift.row + querySlots.middles[row] + offset + thick / 2).toFixed(1);
        used[column] += thick;
        offset += thick;
        return s(
          "path.ribbon",
          {
            "data-row": row,
            "data-column": column,
            "stroke-width": Math.max(0.6, thick).toFixed(2),
            d: `M${x1} ${TOP + 6}C${x1} 95 ${x2} 95 ${x2} ${BOTTOM - 16}`,
          },
          s("title", `${visible(rows[row])} attends to ${visible(columns[column])}: ${fixed2(line[column])}`),
        );
      });
  });
  const words = [
    ...columns.map((word, i) => node(word, i, "column", keySlots, TOP)),
    ...rows.map((word, i) => node(word, i, "row", querySlots, BOTTOM)),
  ];
  svg.append(...edges, ...words.map(({ group }) => group));
  const status = statusLine("Point at a token, or use the arrow keys, to show only its ribbons.");
  const element = focusGroup(
    "ribbons",
    "above: keys (attended to); below: queries. Arrow keys move between tokens",
    h(".scroller", svg),
    status,
  );
  let current = null;
  const showOnly = (word, isSpoken) => {
    current = word;
    for (const edge of edges)
      edge.style.display = !word || Number(edge.dataset[word.side]) === word.index ? "" : "none";
    for (const other of words) other.group.classList.toggle("chosen", other === word);
    if (word) status.show(sentence(word), isSpoken);
  };
  const choose = ({ side, index }) => (side === "row" ? onRow : onColumn)?.(index);
  element.setCursor = (positions) =>
    words.forEach(({ group, side, index }) => group.classList.toggle("at-cursor", index === positions[side]));
  for (const word of words) {
    word.group.addEventListener("pointerenter", () => showOnly(word));
    word.group.addEventListener("click", () => choose(word));
  }
  for (const kind of ["pointerleave", "blur"]) element.addEventListener(kind, () => showOnly(null));
  onKeys(element, (key) => {
    const side = { ArrowUp: "column", ArrowDown: "row" }[key],
      move = { ArrowRight: 1, ArrowLeft: -1 }[key];
    if (!side && !move) return false;
    const line = words.filter((word) => word.side === (side || current?.side || "row"));
    const next = line[clamp(side ? (current?.index ?? 0) : (current?.index ?? -1) + move, line.length)];
    showOnly(next, true);
    return choose(next);
  });
  return element;

  function node(word, index, side, line, y) {
    const x = shift[side] + line.lefts[index];
    return {
      index,
      side,
      group: s(
        "g.ribbon-word",
        { "data-side": side, "data-index": index },
        s("rect", { x, y: y - 18, width: line.widths[index], height: 26, rx: 4 }),
        s("text.label", { x: x + line.widths[index] / 2, y, "text-anchor": "middle" }, truncate(visible(word), 18)),
      ),
    };
  }
  function sentence({ side, index }) {
    if (side === "column") return `${visible(columns[index])} receives ${fixed2(received[index])} in total`;
    return `${visible(rows[index])} attends to ${ordered(weights[index])
      .slice(0, 3)
      .map((column) => `${visible(columns[column])} ${fixed2(weights[index][column])}`)
      .join(", ")}`;
  }
}

const ordered = (line) => line.map((_, i) => i).sort((a, b) => line[b] - line[a]);

/** The largest columns of a row that together have the fraction `share` of its sum. */
function strongest(line, share) {
  const kept = new Set(),
    wanted = share * sum(line) - 1e-9;
  let have = 0;
  for (const column of ordered(line)) {
    if (have >= wanted || line[column] <= 0) break;
    kept.add(column);
    have += line[column];
  }
  return kept;
}

function slots(words, bundles) {
  const widthOf = (word, i) => Math.max(textWidth(truncate(visible(word), 18)) + 12, BUNDLE * bundles[i] + 4, 20);
  const widths = words.map(widthOf),
    lefts = [];
  let total = 0;
  for (const width of widths) {
    lefts.push(total);
    total += width + 4;
  }
  return { widths, lefts, middles: lefts.map((left, i) => left + widths[i] / 2), total };
}
