// The components of a time series (level, trend, season …), one panel each, with 95 % intervals.
import { h } from "../dom.js";
import { lines } from "./lines.js";
import { shortTimes } from "./scales.js";

/** components({times, components: [{name, mean, deviation, observed}]}) → element. */
export function components({ times, components: parts }) {
  const shown = shortTimes(times.map(String)),
    numbered = (values) => values.map((value, i) => [i, value]);
  const panels = parts.map(({ name, mean, deviation, observed }, index) =>
    lines({
      height: 150,
      series: [
        {
          name,
          colour: index,
          points: numbered(mean),
          bands: [
            {
              share: 0.95,
              rows: mean
                .map((value, i) => [i, value - 1.96 * deviation[i], value + 1.96 * deviation[i]])
                .filter((row) => Number.isFinite(row[1])),
            },
          ],
        },
        ...(observed ? [{ name: "observed", colour: index + 1, dots: "only", points: numbered(observed) }] : []),
      ],
      x: { label: "", show: (i) => shown[Math.round(i)] ?? "" },
      y: { label: name },
      onCursor: (x) => panels.forEach((panel, other) => other !== index && panel.setCursor(x)),
    }),
  );
  return h(".components", { dataset: { active: "true" } }, panels);
}
