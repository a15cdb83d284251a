// Labels on words: marks with the label inside, and a line below as thick as the model is sure.
// A label beyond the colours has a pattern; the label is always printed.
import { h } from "../dom.js";
import { category } from "../colours.js";
import { percent } from "./scales.js";
import { visible } from "./symbols.js";

const PATTERNS = ["solid", "dashed", "double", "dotted"];

/** tags({tokens, tags: [{label, p}], spans, labels, at, onMove}) → element with `setCursor(i)`. */
export function tags({ tokens, tags: found, spans, labels, onMove }) {
  const looks = new Map(labels.map((label, i) => [bare(label), i]));
  const nodes = [];
  const word = (i, label) => {
    const tag = found[i];
    const node = h("span", {
      class: "tagged-word", dataset: { place: i, label: tag?.label, p: tag?.p }, title: tag ? alternatives(tag) : null,
      style: tag && label !== null ? `border-bottom:${(1 + 4 * (tag.p ?? 1)).toFixed(1)}px ${PATTERNS[Math.floor((looks.get(bare(label)) ?? 0) / 6) % 4]} ${category(looks.get(bare(label)) ?? 0)}` : null,
    }, h("bdi", {}, visible(tokens[i])));
    nodes[i] = node;
    return node;
  };
  const mark = (from, to, label) => h("span", { class: "tag-mark", dataset: { label } },
    ...Array.from({ length: to - from }, (_, i) => [i > 0 && " ", word(from + i, label)]), h("span", { class: "tag-label" }, label));
  const parts = [];
  if (spans) {
    let place = 0;
    for (const span of [...spans].sort((a, b) => a.start - b.start)) {
      for (; place < Math.min(span.start, tokens.length); place++) parts.push(word(place, null));
      // What overlaps an earlier span only gets its label: a word stands once.
      parts.push(mark(Math.max(place, span.start), Math.max(place, span.end), span.label));
      place = Math.max(place, span.end);
    }
    for (; place < tokens.length; place++) parts.push(word(place, null));
  } else tokens.forEach((_, i) => parts.push(mark(i, i + 1, found[i].label)));
  const element = h("div", { class: "tagged", dir: "auto" }, ...parts.flatMap((part) => [part, " "]));
  element.addEventListener("click", (event) => {
    const node = event.target.closest("[data-place]");
    if (node) onMove?.(Number(node.dataset.place));
  });
  element.setCursor = (i) => nodes.forEach((node, place) => node.classList.toggle("at-cursor", place === i));
  return element;
}

export function alternatives(tag) {
  const others = tag.alternatives?.length ? tag.alternatives : [[tag.label, tag.p]];
  return others.slice(0, 5).map(([label, p]) => `${label} ${p == null ? "" : percent(p)}`).join(", ");
}

function bare(label) {
  return String(label).replace(/^[BILUES]-/, "");
}
