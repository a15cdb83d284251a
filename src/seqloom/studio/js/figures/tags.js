// Labels on words: marks with the label inside, and a line below as thick as the model is sure.
// A label beyond the colours has a pattern; the label is always printed.
import { h } from "../dom.js";
import { categoryVariable } from "../colours.js";
import { percent } from "./scales.js";
import { visible } from "./symbols.js";

const PATTERNS = ["solid", "dashed", "double", "dotted"];
const bare = (label) => String(label).replace(/^[BILUES]-/, "");

/** tags({tokens, tags: [{label, p}], spans, labels, onMove}) → element with `setCursor(i)`. */
export function tags({ tokens, tags: found, spans: given, labels, onMove }) {
  // Labels such as B-place, I-place and O stand for spans; all others belong to one word each.
  const spans = labels.every((label) => label === "O" || bare(label) !== label) ? given : null,
    kinds = [...new Set(labels.map(bare))],
    nodes = [],
    parts = [];
  const word = (i, label) => {
    const { p, label: own } = found[i] || {},
      look = Math.max(0, kinds.indexOf(bare(label)));
    nodes[i] = h(
      "span",
      {
        class: "tagged-word",
        dataset: { place: i, label: own, p },
        title: found[i] && alternatives(found[i]),
        style:
          label &&
          `border-bottom:${(1 + 4 * (p ?? 1)).toFixed(1)}px ${PATTERNS[Math.floor(look / 6) % 4]} ${categoryVariable(look)}`,
      },
      h("bdi", visible(tokens[i])),
    );
    return nodes[i];
  };
  const mark = (from, to, label) =>
    h(
      "span.tag-mark",
      { dataset: { label } },
      Array.from({ length: to - from }, (_, i) => [i > 0 && " ", word(from + i, label)]),
      h("span.tag-label", label),
    );
  let place = 0;
  const upTo = (end) => {
    for (; place < end; place++) parts.push(spans ? word(place) : mark(place, place + 1, found[place].label));
  };
  for (const { start, end, label } of [...(spans || [])].sort((a, b) => a.start - b.start)) {
    upTo(start);
    // What overlaps an earlier span only gets its label: a word stands once.
    parts.push(mark(place, Math.max(place, end), label));
    place = Math.max(place, end);
  }
  upTo(tokens.length);
  const element = h(
    ".tagged",
    { dir: "auto" },
    parts.map((part) => [part, " "]),
  );
  element.addEventListener("click", (event) => {
    const node = event.target.closest("[data-place]");
    if (node) onMove?.(Number(node.dataset.place));
  });
  element.setCursor = (i) => nodes.forEach((node, at) => node.classList.toggle("at-cursor", at === i));
  return element;
}

/** A label with its rivals: "DATE 52.0 %, PER 45.0 %". */
export function alternatives({ label, p, alternatives: others }) {
  return [[label, p], ...(others || [])]
    .slice(0, 5)
    .map(([name, chance]) => `${name} ${chance == null ? "" : percent(chance)}`.trim())
    .join(", ");
}
