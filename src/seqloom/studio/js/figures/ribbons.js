// Attention as ribbons between two lines of words: as wide as the weight, side by side on the word
// like a Sankey diagram, so that all a word receives can be read off. A word alone hides the others.
import { h, s } from "../dom.js";
import { canvasOf, clamp, onKeys, teller, two, walkable } from "./parts.js";
import { cut, pixels, visible } from "./symbols.js";

const BUNDLE = 15,
  HEIGHT = 176,
  TOP = 30,
  BOTTOM = 160;
const sum = (values) => values.reduce((total, value) => total + value, 0);

/** ribbons({rows (who looks), columns (what is looked at), weights, share, onRow, onColumn}) → element. */
export function ribbons({ rows, columns, weights, share = 0.9, onRow, onColumn }) {
  const received = columns.map((_, column) => sum(weights.map((line) => line[column])));
  const seen = slots(columns, received),
    looks = slots(
      rows,
      rows.map(() => 1),
    ),
    width = Math.max(seen.total, looks.total) + 20;
  const shift = { column: (width - seen.total) / 2, row: (width - looks.total) / 2 };
  const svg = canvasOf("ribbons-svg", width, HEIGHT),
    kept = weights.map((line) => strongest(line, share));
  const used = columns.map(
    (_, column) => (-BUNDLE / 2) * sum(weights.map((line, row) => (kept[row].has(column) ? line[column] : 0))),
  );
  const edges = weights.flatMap((line, row) => {
    let place = (-BUNDLE / 2) * sum([...kept[row]].map((column) => line[column]));
    return [...kept[row]]
      .sort((a, b) => a - b)
      .map((column) => {
        const thick = BUNDLE * line[column],
          x1 = (shift.column + seen.middles[column] + used[column] + thick / 2).toFixed(1),
          x2 = (shift.row + looks.middles[row] + place + thick / 2).toFixed(1);
        used[column] += thick;
        place += thick;
        return s(
          "path.ribbon",
          {
            "data-row": row,
            "data-column": column,
            "stroke-width": Math.max(0.6, thick).toFixed(2),
            d: `M${x1} ${TOP + 6}C${x1} 95 ${x2} 95 ${x2} ${BOTTOM - 16}`,
          },
          s("title", `${visible(rows[row])} looks at ${visible(columns[column])}: ${two(line[column])}`),
        );
      });
  });
  const words = [
    ...columns.map((word, i) => node(word, i, "column", seen, TOP)),
    ...rows.map((word, i) => node(word, i, "row", looks, BOTTOM)),
  ];
  svg.append(...edges, ...words.map(({ group }) => group));
  const status = teller("Point at a word, or walk with the arrow keys: only its ribbons stay.");
  const element = walkable(
    "ribbons",
    "above: what is looked at; below: what looks. Arrow keys walk from word to word",
    h(".scroller", svg),
    status,
  );
  let here = null;
  const only = (word, aloud) => {
    here = word;
    for (const edge of edges)
      edge.style.display = !word || Number(edge.dataset[word.side]) === word.index ? "" : "none";
    for (const other of words) other.group.classList.toggle("chosen", other === word);
    if (word) status.tell(sentence(word), aloud);
  };
  const choose = ({ side, index }) => (side === "row" ? onRow : onColumn)?.(index);
  element.setCursor = (places) =>
    words.forEach(({ group, side, index }) => group.classList.toggle("at-cursor", index === places[side]));
  for (const word of words) {
    word.group.addEventListener("pointerenter", () => only(word));
    word.group.addEventListener("click", () => choose(word));
  }
  for (const kind of ["pointerleave", "blur"]) element.addEventListener(kind, () => only(null));
  onKeys(element, (key) => {
    const side = { ArrowUp: "column", ArrowDown: "row" }[key],
      move = { ArrowRight: 1, ArrowLeft: -1 }[key];
    if (!side && !move) return false;
    const line = words.filter((word) => word.side === (side || here?.side || "row"));
    const next = line[clamp(side ? (here?.index ?? 0) : (here?.index ?? -1) + move, line.length)];
    only(next, true);
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
        s("text.label", { x: x + line.widths[index] / 2, y, "text-anchor": "middle" }, cut(visible(word), 18)),
      ),
    };
  }
  function sentence({ side, index }) {
    if (side === "column") return `${visible(columns[index])} receives ${two(received[index])} in all`;
    return `${visible(rows[index])} looks at ${ordered(weights[index])
      .slice(0, 3)
      .map((column) => `${visible(columns[column])} ${two(weights[index][column])}`)
      .join(", ")}`;
  }
}

const ordered = (line) => line.map((_, i) => i).sort((a, b) => line[b] - line[a]);

/** The columns that together have `share` of a row, the largest first. */
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
  const widths = words.map((word, i) => Math.max(pixels(cut(visible(word), 18)) + 12, BUNDLE * bundles[i] + 4, 20)),
    lefts = [];
  let total = 0;
  for (const width of widths) {
    lefts.push(total);
    total += width + 4;
  }
  return { widths, lefts, middles: lefts.map((left, i) => left + widths[i] / 2), total };
}
