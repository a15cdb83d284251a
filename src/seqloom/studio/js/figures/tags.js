// Labels of tokens (tagging): the label inside a mark, and a line below whose thickness is the probability. Labels
// beyond the number of colours have a line pattern; the label is always printed.
import { h } from "../dom.js";
import { categoryVariable } from "../colours.js";
import { percent } from "./scales.js";
import { visible } from "./tokens.js";

const PATTERNS = ["solid", "dashed", "double", "dotted"];
const bare = (label) => String(label).replace(/^[BILUES]-/, "");

/** tags({tokens, tags: [{label, p}], spans, labels, onMove}) → element with `setCursor(i)`. */
export function tags({ tokens, tags: predicted, spans: allSpans, labels, onMove }) {
  // Labels such as B-place, I-place and O (BIO, IOBES) mark spans; all others belong to one token each.
  const spans = labels.every((label) => label === "O" || bare(label) !== label) ? allSpans : null,
    kinds = [...new Set(labels.map(bare))],
    nodes = [],
    parts = [];
  const word = (i, label) => {
    const { p, label: own } = predicted[i] || {},
      look = Math.max(0, kinds.indexOf(bare(label)));
    nodes[i] = h(
      "span",
      {
        class: "tagged-word",
        dataset: { position: i, label: own, p },
        title: predicted[i] && alternatives(predicted[i]),
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
  let next = 0;
  const upTo = (end) => {
    for (; next < end; next++) parts.push(spans ? word(next) : mark(next, next + 1, predicted[next].label));
  };
  for (const { start, end, label } of [...(spans || [])].sort((a, b) => a.start - b.start)) {
    upTo(start);
    // A span that overlaps an earlier one only adds its label: each token is printed once.
    parts.push(mark(next, Math.max(next, end), label));
    next = Math.max(next, end);
  }
  upTo(tokens.length);
  const element = h(
    ".tagged",
    { dir: "auto" },
    parts.map((part) => [part, " "]),
  );
  element.addEventListener("click", (event) => {
    const node = event.target.closest("[data-position]");
    if (node) onMove?.(Number(node.dataset.position));
  });
  element.setCursor = (i) => nodes.forEach((node, at) => node.classList.toggle("at-cursor", at === i));
  return element;
}

/** The most probable labels: "DATE 52.0 %, PER 45.0 %". */
export function alternatives({ label, p, alternatives: others }) {
  return [[label, p], ...(others || [])]
    .slice(0, 5)
    .map(([name, probability]) => `${name} ${probability == null ? "" : percent(probability)}`.trim())
    .join(", ");
}
