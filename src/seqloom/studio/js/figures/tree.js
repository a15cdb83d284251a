// The search tree of beam search, from left to right: the best hypothesis thick, pruned hypotheses grey with the
// reason on focus. A click (or Enter) forces the output to begin with that prefix.
import { h, s } from "../dom.js";
import { svgCanvas, onKeys, statusLine, focusGroup } from "./common.js";
import { truncate, textWidth, visible } from "./tokens.js";

const ROW = 24;

/** beamTree({nodes: [{parent, step, symbol, log_prob, fate, why, score}], answers, onForce(tokens)}) → element. */
export function beamTree({ nodes, answers = [], onForce }) {
  const isRoot = (node) => !(node.parent >= 0),
    children = nodes.map(() => []),
    rows = [],
    best = new Set(pathTo(nodes, answers[0]));
  nodes.forEach((node, i) => isRoot(node) || children[node.parent].push(i));
  const isPruned = (i) => !best.has(i) && ["dropped", "cut"].includes(nodes[i].fate);
  let leaves = 0;
  const lay = (i) => {
    // The best child first, so that the best hypothesis is the top line.
    children[i].sort((a, b) => best.has(b) - best.has(a) || nodes[b].log_prob - nodes[a].log_prob).forEach(lay);
    rows[i] = children[i].length ? rows[children[i][0]] : leaves++;
  };
  const roots = nodes.map((_, i) => i).filter((i) => isRoot(nodes[i]));
  roots.forEach(lay);
  const shown = nodes.map((node) => truncate(visible(node.symbol), 16)),
    wide = shown.map((name) => Math.ceil(textWidth(name)) + 14),
    least = Math.min(...nodes.map((node) => node.step));
  const lefts = [8];
  for (let step = least; nodes.some((node) => node.step === step); step++)
    lefts.push(lefts.at(-1) + 24 + Math.max(...wide.filter((_, i) => nodes[i].step === step)));
  const x = (i) => lefts[nodes[i].step - least],
    y = (i) => 8 + (rows[i] + 0.5) * ROW;
  const svg = svgCanvas("tree-svg", lefts.at(-1), Math.max(1, leaves) * ROW + 12),
    status = statusLine("Arrow keys move through the tree; Enter forces the output to begin with that prefix.");
  nodes.forEach((node, i) => {
    if (isRoot(node)) return;
    const from = x(node.parent) + wide[node.parent],
      high = y(node.parent);
    svg.append(
      s("path", {
        class: `tree-edge${best.has(i) ? " won" : isPruned(i) ? " dropped" : ""}`,
        d: `M${from} ${high}C${from + 14} ${high} ${x(i) - 14} ${y(i)} ${x(i)} ${y(i)}`,
      }),
    );
  });
  const marks = nodes.map((node, i) =>
    s(
      "g",
      {
        class: `tree-node${best.has(i) ? " won" : isPruned(i) ? " dropped" : ""}`,
        "data-node": i,
        transform: `translate(${x(i)} ${y(i)})`,
        on: {
          click: () => {
            choose(i);
            force(i);
          },
          pointerenter: () => status.show(describe(node)),
        },
      },
      s("rect", { y: -10, width: wide[i], height: 20, rx: 4 }),
      s("text.label", { x: 6, y: 4 }, shown[i]),
      s("title", describe(node)),
    ),
  );
  svg.append(...marks);
  const element = focusGroup(
    "tree",
    "search tree: arrow keys move, Enter forces the output to begin with that prefix",
    h(".scroller", svg),
    status,
  );
  let current = null;
  function choose(i, isSpoken) {
    if (!nodes[i]) return;
    marks[current]?.classList.remove("chosen");
    current = i;
    marks[i].classList.add("chosen");
    marks[i].scrollIntoView({ block: "nearest", inline: "nearest" });
    status.show(describe(nodes[i]), isSpoken);
  }
  const force = (i) => onForce?.(pathTo(nodes, i).map((n) => nodes[n].symbol));
  onKeys(element, (key) => {
    if (key === "Enter" && current !== null) return force(current);
    if (!key.startsWith("Arrow")) return false;
    if (current === null) return choose(roots[0], true);
    const level = nodes
      .map((_, i) => i)
      .filter((i) => nodes[i].step === nodes[current].step)
      .sort((a, b) => rows[a] - rows[b]);
    return choose(
      {
        ArrowRight: children[current][0],
        ArrowLeft: nodes[current].parent,
        ArrowDown: level[level.indexOf(current) + 1],
        ArrowUp: level[level.indexOf(current) - 1],
      }[key],
      true,
    );
  });
  return element;
}

/** The path of nodes from the root to a node. */
export function pathTo(nodes, node) {
  const path = [];
  for (let i = node; nodes[i]; i = nodes[i].parent) path.unshift(i);
  return path;
}

function describe({ symbol, log_prob: logProbability, score, fate, why }) {
  return [
    visible(symbol),
    logProbability != null && `log-probability ${logProbability.toFixed(2)}`,
    score != null && `score ${score.toFixed(2)}`,
    fate,
    why,
  ]
    .filter(Boolean)
    .join(" · ");
}
