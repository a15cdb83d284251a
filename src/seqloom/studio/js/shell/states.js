// The states of a run, by word, icon and colour.

import { h, icon, s } from "../dom.js";

const WORDS = {
  running: "Running",
  waiting: "Waiting",
  finished: "Finished",
  stopped: "Stopped",
  diverged: "Diverged",
  crashed: "Crashed",
  vanished: "Vanished",
  damaged: "Damaged",
};

/** "Running", "Finished"… */
export function stateWord(state) {
  return WORDS[state] ?? state;
}

/** The state as a badge. */
export function stateBadge(state) {
  return h("span", { class: `badge ${state}`, dataset: { state } }, icon(state), stateWord(state));
}

/** A level of a finding as a badge: Problem, Warning, Note. */
export function levelBadge(level) {
  const word = level[0].toUpperCase() + level.slice(1);
  return h("span", { class: `badge ${level}` }, icon(level), word);
}

/** A small line of how the metric went, with a dot at its end. */
export function spark(values, label) {
  const points = (values ?? []).filter((value) => Number.isFinite(value));
  if (points.length < 2) return h("span.muted", "–");
  const low = Math.min(...points);
  const span = Math.max(...points) - low;
  const at = (value, i) => [(104 * i) / (points.length - 1) + 2, 25 - 22 * (span ? (value - low) / span : 0.5)];
  const d = points.map((value, i) => `${i ? "L" : "M"}${at(value, i).map((x) => x.toFixed(1)).join(" ")}`).join("");
  const [x, y] = at(points.at(-1), points.length - 1);
  return s("svg.spark", { viewBox: "0 0 110 28", role: "img", "aria-label": label }, s("path", { d }), s("circle", { cx: x, cy: y, r: 2.4 }));
}
