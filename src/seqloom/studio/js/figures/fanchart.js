// A fan chart of a forecast: the past as a line, "now", then the 50, 80 and 95 % prediction intervals; later
// observations as dots.
import { lines } from "./lines.js";
import { shortTimes } from "./scales.js";

const INTERVALS = [
  [0.95, "0.025", "0.975"],
  [0.8, "0.1", "0.9"],
  [0.5, "0.25", "0.75"],
];

/** fanChart(series of the view `forecast`, {height, before: the forecast without the intervention}) → element. */
export function fanChart(series, { height = 220, before } = {}) {
  const keep = Math.min(series.past.length, Math.max(3 * series.mean.length, 40)),
    past = series.past.slice(-keep);
  const times = shortTimes([...series.times.past.slice(-keep), ...series.times.ahead].map(String));
  const ahead = (values) => (values || []).map((value, i) => [keep + i, value]);
  // The intervals open at the last observation.
  const root = past.at(-1) == null ? [] : [[keep - 1, past.at(-1), past.at(-1)]];
  const bands = INTERVALS.filter(([, low]) => series.quantiles[low]).map(([share, low, high]) => ({
    share,
    rows: [...root, ...series.quantiles[low].map((value, i) => [keep + i, value, series.quantiles[high][i]])],
  }));
  return lines({
    height,
    now: keep - 1,
    x: { label: "", show: (i) => times[Math.round(i)] ?? "" },
    y: { label: series.name },
    series: [
      { name: "past", plain: true, points: past.map((value, i) => [i, value]) },
      { name: "forecast", colour: 0, points: ahead(series.mean), bands },
      ...(before ? [{ name: "before", colour: 1, points: ahead(before) }] : []),
      ...(series.actual ? [{ name: "actual", colour: 1, dots: "only", points: ahead(series.actual) }] : []),
    ],
  });
}
