// A forecast: the past as a line, "now", then bands that hold 50, 80 and 95 % of chance, one inside
// the other; what came afterwards as dots.
import { announce, clear, h, s } from "../dom.js";
import { scale, short, ticks } from "./scales.js";

export const BANDS = [[0.95, "0.025", "0.975"], [0.8, "0.1", "0.9"], [0.5, "0.25", "0.75"]];

/** fan(series of the view `forecast`, {height, onCursor}) → element with `setCursor(i)`. */
export function fan(series, { height = 220, past: shownPast } = {}) {
  const stage = h("div", { class: "fan-stage" }), status = h("p", { class: "muted fan-status", "aria-hidden": "true" }, "Arrow keys read the numbers, step by step.");
  const element = h("div", { class: "fan", tabindex: "0", role: "group", dataset: { active: "true" }, "aria-label": `${series.name}: arrow keys read the forecast` }, stage, status);
  const ahead = series.mean.length, keep = Math.min(series.past.length, shownPast || Math.max(3 * ahead, 40));
  const past = series.past.slice(-keep), times = [...series.times.past.slice(-keep), ...series.times.ahead];
  let width = 0, cursor = null, ruler = null, x = null;
  const draw = () => {
    clear(stage);
    const values = [...past, ...series.mean, ...(series.actual || []), ...BANDS.flatMap(([, low, high]) => [...(series.quantiles[low] || []), ...(series.quantiles[high] || [])])].filter((value) => value !== null);
    const [low, high] = [Math.min(...values), Math.max(...values)], room = (high - low || 1) * 0.05;
    const frame = { left: 54, right: width - 12, top: 12, bottom: height - 24 };
    x = scale(0, Math.max(1, times.length - 1), frame.left, frame.right);
    const y = scale(low - room, high + room, frame.bottom, frame.top);
    const svg = s("svg", { width, height, viewBox: `0 0 ${width} ${height}`, class: "fan-svg" });
    for (const value of ticks(low - room, high + room, 4)) {
      svg.append(s("line", { class: "gridline", x1: frame.left, x2: frame.right, y1: y(value), y2: y(value) }), s("text", { class: "tick", x: frame.left - 6, y: y(value) + 4, "text-anchor": "end" }, short(value)));
    }
    const many = Math.max(2, Math.floor((frame.right - frame.left) / 110));
    for (let i = 0; i < many; i++) {
      const at = Math.round(i * (times.length - 1) / (many - 1));
      svg.append(s("text", { class: "tick", x: x(at), y: height - 8, "text-anchor": i === 0 ? "start" : i === many - 1 ? "end" : "middle" }, String(times[at]).slice(0, 16)));
    }
    const spot = (i, value) => `${x(i).toFixed(1)} ${y(value).toFixed(1)}`;
    const last = past.length - 1, now = past[last];
    for (const [share, lowName, highName] of BANDS) {
      const lows = series.quantiles[lowName], highs = series.quantiles[highName];
      if (!lows || !highs) continue;
      const root = now === null || now === undefined ? "" : `${spot(last, now)}L`;
      svg.append(s("path", {
        class: "fan-band", "data-share": share, "data-low": JSON.stringify(lows), "data-high": JSON.stringify(highs),
        d: `M${root}${highs.map((value, i) => spot(last + 1 + i, value)).join("L")}L${lows.map((value, i) => spot(last + 1 + i, value)).reverse().join("L")}Z`,
      }));
    }
    svg.append(s("path", { class: "fan-past", d: pathOf(past.map((value, i) => [i, value]), spot) }),
      s("path", { class: "fan-mean", d: pathOf([...(now === null || now === undefined ? [] : [[last, now]]), ...series.mean.map((value, i) => [last + 1 + i, value])], spot) }));
    (series.actual || []).forEach((value, i) => value !== null && svg.append(s("circle", { class: "fan-actual", cx: x(last + 1 + i), cy: y(value), r: 2.5 })));
    svg.append(s("line", { class: "now", x1: x(last), x2: x(last), y1: frame.top, y2: frame.bottom }), s("text", { class: "tick", x: x(last) - 4, y: frame.top + 8, "text-anchor": "end" }, "now"));
    ruler = s("line", { class: "lines-cursor", y1: frame.top, y2: frame.bottom, visibility: "hidden" });
    svg.append(ruler);
    stage.append(svg);
    if (cursor !== null) show(cursor, false);
  };
  const show = (at, aloud) => {
    cursor = Math.max(0, Math.min(times.length - 1, at));
    ruler?.setAttribute("visibility", "visible");
    ruler?.setAttribute("x1", x(cursor));
    ruler?.setAttribute("x2", x(cursor));
    const step = cursor - past.length;
    const said = step < 0 ? `${times[cursor]}: ${short(past[cursor], 5)}`
      : `${times[cursor]}: ${short(series.mean[step], 5)}${BANDS.filter(([, low]) => series.quantiles[low]).map(([share, low, high]) => `; ${share * 100} % from ${short(series.quantiles[low][step], 5)} to ${short(series.quantiles[high][step], 5)}`).join("")}${series.actual?.[step] != null ? `; came ${short(series.actual[step], 5)}` : ""}`;
    status.textContent = said;
    if (aloud) announce(said);
  };
  new ResizeObserver(([entry]) => {
    const found = Math.round(entry.contentRect.width);
    if (found && found !== width) { width = found; draw(); }
  }).observe(element);
  stage.addEventListener("pointermove", (event) => x && show(Math.round(x.back(event.clientX - stage.getBoundingClientRect().left)), false));
  element.addEventListener("keydown", (event) => {
    const there = { ArrowRight: (cursor ?? past.length - 1) + 1, ArrowLeft: (cursor ?? past.length + 1) - 1, Home: 0, End: times.length - 1 }[event.key];
    if (there === undefined || event.altKey || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    show(there, true);
  });
  return element;
}

/** The steps ahead as rows of a table. */
export function fanTable(series) {
  const known = BANDS.filter(([, low]) => series.quantiles[low]).reverse();
  return [["step", "mean", ...known.flatMap(([share]) => [`${100 * share} % from`, "to"]), ...(series.actual ? ["came"] : [])],
    ...series.times.ahead.map((time, i) => [time, short(series.mean[i], 6), ...known.flatMap(([, low, high]) => [short(series.quantiles[low][i], 6), short(series.quantiles[high][i], 6)]), ...(series.actual ? [series.actual[i] === null ? "" : short(series.actual[i], 6)] : [])])];
}

function pathOf(points, spot) {
  let path = "", pen = false;
  for (const [i, value] of points) {
    if (value === null || value === undefined) { pen = false; continue; }
    path += `${pen ? "L" : "M"}${spot(i, value)}`;
    pen = true;
  }
  return path;
}
