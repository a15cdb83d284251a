// The parts a series is made of, one panel below another: each with the band that holds 95 %.
import { h } from "../dom.js";
import { lines } from "./lines.js";
import { short } from "./scales.js";

/** components({times, components: [{name, mean, deviation, observed}]}, {onCursor}) → element. */
export function components({ times, components: parts }) {
  const show = (i) => String(times[Math.round(i)] ?? "").slice(0, 16);
  const panels = parts.map((part, index) => lines({
    height: 150,
    series: [
      { name: part.name, colour: index, points: part.mean.map((value, i) => [i, value]), band: bandOf(part) },
      ...(part.observed ? [{ name: "observed", colour: index + 1, dots: part.observed.length <= 120, points: part.observed.map((value, i) => [i, value]) }] : []),
    ],
    x: { label: "step", scale: "linear", show }, y: { label: part.name, scale: "linear" },
    onCursor: (x) => panels.forEach((panel, other) => other !== index && panel.setCursor(x)),
  }));
  return h("div", { class: "components", dataset: { active: "true" } }, ...panels);
}

export function componentsTable({ times, components: parts }) {
  return [["step", ...parts.flatMap((part) => [part.name, "±1.96 σ"])],
    ...times.map((time, i) => [time, ...parts.flatMap((part) => [short(part.mean[i], 5), short(1.96 * part.deviation[i], 3)])])];
}

function bandOf(part) {
  return part.mean.map((value, i) => [i, value - 1.96 * part.deviation[i], value + 1.96 * part.deviation[i]]).filter(([, low]) => Number.isFinite(low));
}
