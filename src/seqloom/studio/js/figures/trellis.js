// The trellis of a hidden Markov model: columns are time steps, rows are states, the area of a dot is the posterior
// probability of the state; the Viterbi path is a thick line. Many states are drawn as a heat map.
import { h, s } from "../dom.js";
import { paintHeat } from "./heatmap.js";
import { svgCanvas, clamp } from "./common.js";
import { columnAt, truncate, textWidth } from "./tokens.js";

const MAX_DOTS = 1600;

/** trellis({states, mass (time × states), path, columns, onMove}) → {names, stage}, to be placed side by side. */
export function trellis({ states, mass, path, columns, onMove }) {
  const used = states
    .map((_, state) => state)
    .filter((state) => states.length <= 24 || path.includes(state) || mass.some((line) => line[state] > 0.05));
  const size = Math.max(10, Math.min(28, Math.floor(420 / used.length))),
    height = used.length * size + 8,
    { total, lefts, widths } = columns;
  const middle = (time) => lefts[time] + widths[time] / 2,
    level = (state) => 4 + (used.indexOf(state) + 0.5) * size;
  const svg = svgCanvas("trellis-svg", total, height),
    stage = h(".trellis-stage", { style: `width:${total}px;height:${height}px` });
  if (used.length * mass.length > MAX_DOTS) {
    const canvas = h("canvas.pixels", {
      "aria-hidden": "true",
      width: columns.even ? mass.length : total,
      height: used.length,
      style: `top:4px;width:${total}px;height:${used.length * size}px`,
    });
    paintHeat(canvas, mass, used, columns, "viridis", [0, 1]);
    stage.append(canvas);
  } else {
    svg.append(...used.map((state) => s("line.gridline", { x2: total, y1: level(state), y2: level(state) })));
    mass.forEach((line, time) =>
      used.forEach(
        (state) =>
          line[state] >= 0.001 &&
          svg.append(
            s(
              "circle.trellis-dot",
              {
                cx: middle(time),
                cy: level(state),
                r: (Math.sqrt(line[state]) * Math.min(size, 2 * widths[time]) * 0.46).toFixed(2),
              },
              s("title", `${states[state]} at ${columns.shown[time]}: ${line[state].toFixed(3)}`),
            ),
          ),
      ),
    );
  }
  if (path.length)
    svg.append(
      s("path.trellis-path", {
        d: `M${path.map((state, time) => `${middle(time).toFixed(1)} ${level(state).toFixed(1)}`).join("L")}`,
      }),
    );
  const cursor = s("rect.trellis-cursor", { height });
  svg.append(cursor);
  stage.append(svg);
  stage.setCursor = (time) => {
    cursor.setAttribute("x", lefts[time] ?? 0);
    cursor.setAttribute("width", widths[time] ?? 0);
  };
  svg.addEventListener("click", (event) =>
    onMove?.(clamp(columnAt(columns, event.clientX - svg.getBoundingClientRect().left), mass.length)),
  );
  const shown = used.map((state) => truncate(states[state], 12)),
    wide = Math.ceil(Math.max(...shown.map((name) => textWidth(name, "12px ui-monospace, monospace")))) + 8;
  const names = svgCanvas(
    "trellis-names",
    wide,
    height,
    used.map((state, row) => s("text.label", { x: wide - 6, y: level(state) + 4, "text-anchor": "end" }, shown[row])),
  );
  return { names, stage };
}
