// Badges for the states of runs and the levels of findings, and sparklines.

import { h, icon, s } from "../dom.js";
import { capital } from "./format.js";

/** The state of a run as a badge: Running, Finished, Stopped, Diverged, Crashed, Vanished… */
export const stateBadge = (state) => h("span.badge", { class: state, dataset: { state } }, icon(state), capital(state));

/** The level of a finding as a badge: Problem, Warning, Note. */
export const levelBadge = (level) => h("span.badge", { class: level }, icon(level), capital(level));

/** A sparkline of a metric, with a dot at its end. */
export function sparkline(values, label) {
  const points = (values ?? []).filter(Number.isFinite);
  if (points.length < 2) return h("span.muted", "–");
  const low = Math.min(...points);
  const span = Math.max(...points) - low;
  const point = (value, i) => [
    (2 + (104 * i) / (points.length - 1)).toFixed(1),
    (25 - 22 * (span ? (value - low) / span : 0.5)).toFixed(1),
  ];
  const coordinates = points.map(point);
  const [cx, cy] = coordinates.at(-1);
  return s(
    "svg.spark",
    { viewBox: "0 0 110 28", role: "img", "aria-label": label },
    s("path", { d: `M${coordinates.join("L")}` }),
    s("circle", { cx, cy, r: 2.4 }),
  );
}
