// The trellis of a hidden Markov model: columns are time, rows are states, the area of a dot is how
// likely the state is there; the likeliest path is a thick line. Many states are painted as a heat map.
import { h, s } from "../dom.js";
import { categoryVariable } from "../colours.js";
import { paintHeat } from "./heat.js";
import { columnAt, cut, pixels } from "./symbols.js";

const MOST_DOTS = 1600;

/** trellis({states, mass (time × states), path, columns, onMove}) → {names, stage} to put beside each other. */
export function trellis({ states, mass, path, columns, onMove, showPath = true }) {
  const used = states.map((_, state) => state).filter((state) => states.length <= 24 || path?.includes(state) || mass.some((line) => line[state] > 0.05));
  const size = Math.max(8, Math.min(28, Math.floor(420 / Math.max(1, used.length)))), height = used.length * size + 8;
  const rowOf = new Map(used.map((state, row) => [state, row]));
  const middle = (time) => columns.lefts[time] + columns.widths[time] / 2, level = (state) => 4 + (rowOf.get(state) + 0.5) * size;
  const svg = s("svg", { width: columns.total, height, viewBox: `0 0 ${columns.total} ${height}`, class: "trellis-svg" });
  const stage = h("div", { class: "trellis-stage", style: `width:${columns.total}px;height:${height}px` });
  if (used.length * mass.length > MOST_DOTS) {
    const canvas = h("canvas", { class: "pixels", "aria-hidden": "true", width: columns.even ? mass.length : columns.total, height: used.length, style: `top:4px;width:${columns.total}px;height:${used.length * size}px` });
    paintHeat(canvas, mass, used, columns, "viridis", [0, 1]);
    stage.append(canvas);
  } else {
    used.forEach((state) => svg.append(s("line", { class: "gridline", x1: 0, x2: columns.total, y1: level(state), y2: level(state) })));
    mass.forEach((line, time) => used.forEach((state) => {
      if (line[state] < 0.001) return;
      svg.append(s("circle", { class: "trellis-dot", cx: middle(time), cy: level(state), r: (Math.sqrt(line[state]) * Math.min(size, 2 * columns.widths[time]) * 0.46).toFixed(2), style: `fill:${categoryVariable(0)}` },
        s("title", {}, `${states[state]} at ${columns.shown[time]}: ${line[state].toFixed(3)}`)));
    }));
  }
  if (showPath && path?.length) {
    svg.append(s("path", { class: "trellis-path", d: path.map((state, time) => `${time ? "L" : "M"}${middle(time).toFixed(1)} ${level(state).toFixed(1)}`).join("") }));
  }
  const cursor = s("rect", { class: "trellis-cursor", y: 0, height, visibility: "hidden" });
  svg.append(cursor);
  stage.append(svg);
  stage.setCursor = (time) => {
    const inside = time !== null && time >= 0 && time < mass.length;
    cursor.setAttribute("visibility", inside ? "visible" : "hidden");
    if (!inside) return;
    cursor.setAttribute("x", columns.lefts[time]);
    cursor.setAttribute("width", columns.widths[time]);
  };
  svg.addEventListener("click", (event) => onMove?.(Math.min(mass.length - 1, columnAt(columns, event.clientX - svg.getBoundingClientRect().left))));
  const shown = used.map((state) => cut(states[state], 12));
  const wide = Math.ceil(Math.max(...shown.map((name) => pixels(name, "12px ui-monospace, monospace")))) + 8;
  const names = s("svg", { width: wide, height, class: "trellis-names" }, ...used.map((state, row) => s("text", { class: "label", x: wide - 6, y: level(state) + 4, "text-anchor": "end" }, shown[row])));
  return { names, stage };
}
