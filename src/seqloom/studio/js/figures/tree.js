// The beam as a tree from left to right: the winning path thick, what was dropped grey with the
// reason on focus. A click (or Enter) forces the answer to begin with that path.
import { announce, h, s } from "../dom.js";
import { cut, pixels, visible } from "./symbols.js";

const ROW = 24;

/** tree({nodes: [{parent, step, symbol, log_prob, fate, why, score}], answers, onForce(symbols, node), onStep}) → element. */
export function tree({ nodes, answers = [], onForce, onStep }) {
  const children = nodes.map(() => []), roots = [];
  nodes.forEach((node, i) => (node.parent === null || node.parent === undefined || node.parent < 0 ? roots : children[node.parent]).push(i));
  const won = new Set(pathTo(nodes, answers[0]));
  const rows = new Array(nodes.length).fill(0);
  let leaf = 0;
  const lay = (i) => {
    // The winning child first: the winning path is the top line.
    const order = children[i].sort((a, b) => won.has(b) - won.has(a) || (nodes[b].log_prob ?? 0) - (nodes[a].log_prob ?? 0));
    if (!order.length) { rows[i] = leaf++; return; }
    order.forEach(lay);
    rows[i] = rows[order[0]];
  };
  roots.forEach(lay);
  const least = Math.min(...nodes.map((node) => node.step), Infinity);
  const steps = Math.max(0, ...nodes.map((node) => node.step - least)) + 1, widths = new Array(steps).fill(34);
  nodes.forEach((node) => { widths[node.step - least] = Math.max(widths[node.step - least], Math.min(130, pixels(visible(node.symbol)) + 16)); });
  const lefts = widths.map((_, i) => 8 + widths.slice(0, i).reduce((sum, width) => sum + width + 24, 0));
  const width = lefts[steps - 1] + widths[steps - 1] + 12, height = Math.max(1, leaf) * ROW + 12;
  const x = (i) => lefts[nodes[i].step - least], y = (i) => 8 + rows[i] * ROW + ROW / 2;
  const shown = nodes.map((node) => cut(visible(node.symbol), 16));
  const wide = (i) => Math.min(widths[nodes[i].step - least], pixels(shown[i]) + 14);
  const svg = s("svg", { width, height, viewBox: `0 0 ${width} ${height}`, class: "tree-svg" });
  const status = h("p", { class: "muted tree-status", "aria-hidden": "true" }, "Arrow keys walk through the tree; Enter begins the answer with that path.");
  nodes.forEach((node, i) => {
    if (!(node.parent >= 0)) return;
    const from = x(node.parent) + wide(node.parent), to = x(i);
    svg.append(s("path", { class: `tree-edge${won.has(i) ? " won" : node.fate === "kept" || node.fate === "ended" ? "" : " dropped"}`, d: `M${from} ${y(node.parent)}C${from + 14} ${y(node.parent)} ${to - 14} ${y(i)} ${to} ${y(i)}` }));
  });
  const marks = nodes.map((node, i) => {
    const dropped = !won.has(i) && node.fate !== "kept" && node.fate !== "ended";
    const group = s("g", { class: `tree-node${won.has(i) ? " won" : ""}${dropped ? " dropped" : ""}`, "data-node": i, transform: `translate(${x(i)} ${y(i)})` },
      s("rect", { x: 0, y: -10, width: wide(i), height: 20, rx: 4 }),
      s("text", { class: "label", x: 6, y: 4 }, shown[i]), s("title", {}, said(node)));
    group.addEventListener("click", () => { choose(i, false); force(i); });
    group.addEventListener("pointerenter", () => { status.textContent = said(node); });
    svg.append(group);
    return group;
  });
  const element = h("div", { class: "tree", tabindex: "0", role: "group", dataset: { active: "true" }, "aria-label": "the tree of the search: arrow keys walk, Enter forces the path" },
    h("div", { class: "scroller" }, svg), status);
  let here = null;
  function choose(i, aloud = true) {
    if (i === undefined || i === null) return;
    marks[here]?.classList.remove("chosen");
    here = i;
    marks[i].classList.add("chosen");
    marks[i].scrollIntoView?.({ block: "nearest", inline: "nearest" });
    status.textContent = said(nodes[i]);
    if (aloud) announce(said(nodes[i]));
    onStep?.(nodes[i].step - least);
  }
  const force = (i) => onForce?.(pathTo(nodes, i).map((n) => nodes[n].symbol), nodes[i]);
  element.addEventListener("keydown", (event) => {
    if (event.altKey || event.ctrlKey || event.metaKey || !nodes.length) return;
    if (here === null && event.key.startsWith("Arrow")) choose(roots[0]);
    else if (event.key === "ArrowRight") choose(children[here][0]);
    else if (event.key === "ArrowLeft") choose(nodes[here].parent >= 0 ? nodes[here].parent : here);
    else if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      const level = nodes.map((_, i) => i).filter((i) => nodes[i].step === nodes[here].step).sort((a, b) => rows[a] - rows[b]);
      choose(level[level.indexOf(here) + (event.key === "ArrowDown" ? 1 : -1)]);
    } else if (event.key === "Enter" && here !== null) force(here);
    else return;
    event.preventDefault();
  });
  return element;
}

/** The nodes from the root to a node. */
export function pathTo(nodes, node) {
  const path = [];
  for (let i = node; i !== null && i !== undefined && i >= 0; i = nodes[i].parent) path.unshift(i);
  return path;
}

function said(node) {
  const parts = [visible(node.symbol), node.log_prob !== undefined && node.log_prob !== null && `log-probability ${node.log_prob.toFixed(2)}`,
    node.score !== undefined && node.score !== null && `score ${node.score.toFixed(2)}`, node.fate, node.why];
  return parts.filter(Boolean).join(" · ");
}
