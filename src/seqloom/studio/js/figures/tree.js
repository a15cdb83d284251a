// The beam as a tree from left to right: the winning path thick, what was dropped grey with the
// reason on focus. A click (or Enter) forces the answer to begin with that path.
import { h, s } from "../dom.js";
import { canvasOf, onKeys, teller, walkable } from "./parts.js";
import { cut, pixels, visible } from "./symbols.js";

const ROW = 24;

/** tree({nodes: [{parent, step, symbol, log_prob, fate, why, score}], answers, onForce(symbols)}) → element. */
export function tree({ nodes, answers = [], onForce }) {
  const isRoot = (node) => !(node.parent >= 0),
    children = nodes.map(() => []),
    rows = [],
    won = new Set(pathTo(nodes, answers[0]));
  nodes.forEach((node, i) => isRoot(node) || children[node.parent].push(i));
  const isDropped = (i) => !won.has(i) && ["dropped", "cut"].includes(nodes[i].fate);
  let leaves = 0;
  const lay = (i) => {
    // The winning child first: the winning path is the top line.
    children[i].sort((a, b) => won.has(b) - won.has(a) || nodes[b].log_prob - nodes[a].log_prob).forEach(lay);
    rows[i] = children[i].length ? rows[children[i][0]] : leaves++;
  };
  const roots = nodes.map((_, i) => i).filter((i) => isRoot(nodes[i]));
  roots.forEach(lay);
  const shown = nodes.map((node) => cut(visible(node.symbol), 16)),
    wide = shown.map((name) => Math.ceil(pixels(name)) + 14),
    least = Math.min(...nodes.map((node) => node.step));
  const lefts = [8];
  for (let step = least; nodes.some((node) => node.step === step); step++)
    lefts.push(lefts.at(-1) + 24 + Math.max(...wide.filter((_, i) => nodes[i].step === step)));
  const x = (i) => lefts[nodes[i].step - least],
    y = (i) => 8 + (rows[i] + 0.5) * ROW;
  const svg = canvasOf("tree-svg", lefts.at(-1), Math.max(1, leaves) * ROW + 12),
    status = teller("Arrow keys walk through the tree; Enter begins the answer with that path.");
  nodes.forEach((node, i) => {
    if (isRoot(node)) return;
    const from = x(node.parent) + wide[node.parent],
      high = y(node.parent);
    svg.append(
      s("path", {
        class: `tree-edge${won.has(i) ? " won" : isDropped(i) ? " dropped" : ""}`,
        d: `M${from} ${high}C${from + 14} ${high} ${x(i) - 14} ${y(i)} ${x(i)} ${y(i)}`,
      }),
    );
  });
  const marks = nodes.map((node, i) =>
    s(
      "g",
      {
        class: `tree-node${won.has(i) ? " won" : isDropped(i) ? " dropped" : ""}`,
        "data-node": i,
        transform: `translate(${x(i)} ${y(i)})`,
        on: {
          click: () => {
            choose(i);
            force(i);
          },
          pointerenter: () => status.tell(said(node)),
        },
      },
      s("rect", { y: -10, width: wide[i], height: 20, rx: 4 }),
      s("text.label", { x: 6, y: 4 }, shown[i]),
      s("title", said(node)),
    ),
  );
  svg.append(...marks);
  const element = walkable(
    "tree",
    "the tree of the search: arrow keys walk, Enter begins the answer with that path",
    h(".scroller", svg),
    status,
  );
  let here = null;
  function choose(i, aloud) {
    if (!nodes[i]) return;
    marks[here]?.classList.remove("chosen");
    here = i;
    marks[i].classList.add("chosen");
    marks[i].scrollIntoView({ block: "nearest", inline: "nearest" });
    status.tell(said(nodes[i]), aloud);
  }
  const force = (i) => onForce?.(pathTo(nodes, i).map((n) => nodes[n].symbol));
  onKeys(element, (key) => {
    if (key === "Enter" && here !== null) return force(here);
    if (!key.startsWith("Arrow")) return false;
    if (here === null) return choose(roots[0], true);
    const level = nodes
      .map((_, i) => i)
      .filter((i) => nodes[i].step === nodes[here].step)
      .sort((a, b) => rows[a] - rows[b]);
    return choose(
      {
        ArrowRight: children[here][0],
        ArrowLeft: nodes[here].parent,
        ArrowDown: level[level.indexOf(here) + 1],
        ArrowUp: level[level.indexOf(here) - 1],
      }[key],
      true,
    );
  });
  return element;
}

/** The nodes from the root to a node. */
export function pathTo(nodes, node) {
  const path = [];
  for (let i = node; nodes[i]; i = nodes[i].parent) path.unshift(i);
  return path;
}

function said({ symbol, log_prob: chance, score, fate, why }) {
  return [
    visible(symbol),
    chance != null && `log-probability ${chance.toFixed(2)}`,
    score != null && `score ${score.toFixed(2)}`,
    fate,
    why,
  ]
    .filter(Boolean)
    .join(" · ");
}
