// Curves over a shared x: raw lines faint with a smooth one over them, dots, bands, direct labels
// at the ends, and one box with all values at the cursor, by pointer or by arrow keys.
import { announce, clear, h, s } from "../dom.js";
import { category, categoryVariable } from "../colours.js";
import { scale, short, ticks } from "./scales.js";

const SVG_POINTS = 3000, COLOURED = 6;

/**
 * lines({series: [{name, points: [[x, y]…], smooth?: [[x, y]…], dots?, band?: [[x, low, high]…],
 * colour?: index}], x: {label, scale, show?}, y: {label, scale, band?: [low, high], bandLabel?},
 * height, cursor, onCursor, now?: x}) → element with `update(options)` and `setCursor(x)`.
 */
export function lines(options) {
  const box = h("div", { class: "lines-values", "aria-hidden": "true" });
  const stage = h("div", { class: "lines-stage" });
  const element = h("div", {
    class: "lines", tabindex: "0", role: "group", dataset: { active: "true" },
    "aria-label": `${options.y?.label || "curve"} over ${options.x?.label || "steps"}: arrow keys read the values`,
  }, stage, box);
  const state = { options, width: 0, cursor: options.cursor ?? null, plot: null };
  const redraw = () => draw(state, stage, box);
  element.update = (changed) => {
    state.options = { ...state.options, ...changed };
    if (changed.cursor !== undefined) state.cursor = changed.cursor;
    redraw();
  };
  element.setCursor = (x) => { state.cursor = x; showCursor(state, box); };
  new ResizeObserver(([entry]) => {
    const width = Math.round(entry.contentRect.width);
    if (width && width !== state.width) { state.width = width; redraw(); }
  }).observe(element);
  const move = (x, aloud) => {
    state.cursor = x;
    showCursor(state, box, aloud);
    state.options.onCursor?.(x);
  };
  stage.addEventListener("pointermove", (event) => {
    if (!state.plot) return;
    const place = state.plot.x.back(event.clientX - stage.getBoundingClientRect().left);
    move(nearest(state.plot.places, place));
  });
  element.addEventListener("keydown", (event) => {
    const places = state.plot?.places;
    if (!places?.length || event.altKey || event.ctrlKey || event.metaKey) return;
    const here = state.cursor === null ? -1 : places.indexOf(nearest(places, state.cursor));
    const leap = event.shiftKey ? 10 : 1;
    const there = { ArrowRight: here + leap, ArrowLeft: here < 0 ? places.length - 1 : here - leap, Home: 0, End: places.length - 1 }[event.key];
    if (there === undefined) return;
    event.preventDefault();
    move(places[Math.max(0, Math.min(places.length - 1, there))], true);
  });
  return element;
}

/** The same numbers as rows of a table: one column per series, one row per x. */
export function linesTable(series, xLabel = "x") {
  const places = placesOf(series);
  const lookups = series.map((line) => new Map((line.points || []).map(([x, y]) => [x, y])));
  return [[xLabel, ...series.map((line) => line.name)],
    ...places.map((x) => [short(x, 6), ...lookups.map((values) => (values.has(x) ? short(values.get(x), 5) : ""))])];
}

function draw(state, stage, box) {
  const { options } = state, width = state.width || 640, height = options.height || 220;
  clear(stage);
  const kinds = { x: options.x?.scale || "linear", y: options.y?.scale || "linear" };
  const series = options.series.map((line, i) => clean(line, i, kinds));
  const shown = series.filter((line) => line.points.length || line.band?.length);
  if (!shown.length) {
    stage.append(h("p", { class: "muted lines-empty" }, options.empty || "No points yet."));
    state.plot = null;
    return;
  }
  const named = width >= 420 && shown.some((line) => line.name);
  const right = named ? Math.min(170, 26 + 7 * Math.max(...shown.map((line) => [...line.name].length))) : 14;
  const frame = { left: 52, right: width - right, top: 12, bottom: height - 36 };
  const limits = limitsOf(shown, options, kinds);
  const x = scale(limits.x[0], limits.x[1], frame.left, frame.right, kinds.x);
  const y = scale(limits.y[0], limits.y[1], frame.bottom, frame.top, kinds.y);
  const svg = s("svg", { width, height, viewBox: `0 0 ${width} ${height}`, class: "lines-svg" });
  drawAxes(svg, frame, limits, x, y, options, kinds);
  const count = shown.reduce((sum, line) => sum + line.points.length + (line.smooth?.length || 0), 0);
  if (count > SVG_POINTS) stage.append(paintLines(shown, x, y, width, height));
  else shown.forEach((line) => drawLine(svg, line, x, y, shown.length));
  if (options.now !== undefined) drawNow(svg, x(options.now), frame);
  if (named) drawNames(svg, shown, x, y, frame);
  const ruler = s("line", { class: "lines-cursor", y1: frame.top, y2: frame.bottom, visibility: "hidden" });
  svg.append(ruler);
  stage.append(svg);
  if (!named && shown.some((line) => line.name)) stage.append(legendOf(shown));
  state.plot = { x, y, places: placesOf(shown), shown, ruler, frame, width };
  showCursor(state, box);
}

function clean(line, index, kinds) {
  const fits = ([px, py]) => Number.isFinite(px) && (kinds.x !== "log" || px > 0) && py !== null && Number.isFinite(py) && (kinds.y !== "log" || py > 0);
  return { ...line, name: line.name || "", index: line.colour ?? index, points: (line.points || []).filter(fits), smooth: line.smooth?.filter(fits) };
}

function limitsOf(shown, options, kinds) {
  const xs = [], ys = [];
  for (const line of shown) {
    // A raw line with spikes under a smooth one should not flatten what is looked at.
    for (const [px, py] of line.points) { xs.push(px); ys.push(py); }
    for (const [px, low, high] of line.band || []) { xs.push(px); ys.push(low, high); }
  }
  const spread = (values) => values.reduce(([low, high], value) => [Math.min(low, value), Math.max(high, value)], [Infinity, -Infinity]);
  let [low, high] = spread(ys);
  if (kinds.y === "linear") {
    const room = (high - low) * 0.06 || Math.abs(high) * 0.1 || 1;
    low = low >= 0 && low - room < 0 ? 0 : low - room;
    high += room;
  } else if (high / low < 10) { low /= 1.6; high *= 1.6; }
  return { x: options.x?.limits || spread(xs), y: options.y?.limits || [low, high] };
}

function drawAxes(svg, frame, limits, x, y, options, kinds) {
  if (options.y?.band) {
    const [low, high] = options.y.band.map((value) => Math.max(frame.top, Math.min(frame.bottom, y(Math.max(limits.y[0], Math.min(limits.y[1], value))))));
    svg.append(s("rect", { class: "lines-healthy", x: frame.left, width: Math.max(0, frame.right - frame.left), y: high, height: Math.max(0, low - high) }));
  }
  for (const value of ticks(limits.y[0], limits.y[1], 4, kinds.y)) {
    svg.append(s("line", { class: "gridline", x1: frame.left, x2: frame.right, y1: y(value), y2: y(value) }),
      s("text", { class: "tick", x: frame.left - 6, y: y(value) + 4, "text-anchor": "end" }, short(value)));
  }
  const room = Math.max(2, Math.floor((frame.right - frame.left) / 90));
  for (const value of ticks(limits.x[0], limits.x[1], room, kinds.x)) {
    svg.append(s("line", { class: "gridline", x1: x(value), x2: x(value), y1: frame.bottom, y2: frame.bottom + 4 }),
      s("text", { class: "tick", x: x(value), y: frame.bottom + 16, "text-anchor": "middle" }, (options.x?.show || short)(value)));
  }
  svg.append(s("line", { class: "axis", x1: frame.left, x2: frame.right, y1: frame.bottom, y2: frame.bottom }),
    s("text", { class: "axis-label", x: frame.right, y: frame.bottom + 31, "text-anchor": "end" }, options.x?.label || ""),
    s("text", { class: "axis-label", x: frame.left + 4, y: frame.top - 1 }, options.y?.label || ""));
}

function drawLine(svg, line, x, y, many) {
  const colour = line.index < COLOURED ? categoryVariable(line.index) : "var(--muted)";
  const path = (points) => points.map(([px, py], i) => `${i ? "L" : "M"}${x(px).toFixed(1)} ${y(py).toFixed(1)}`).join("");
  const group = s("g", { class: "series", "data-series": line.name });
  if (line.band?.length) {
    const edge = (row, i) => `${x(row[0]).toFixed(1)} ${y(row[i]).toFixed(1)}`;
    const area = `M${line.band.map((row) => edge(row, 2)).join("L")}L${[...line.band].reverse().map((row) => edge(row, 1)).join("L")}Z`;
    group.append(s("path", { d: area, class: "line-band", style: `fill:${colour}` }));
  }
  const faint = line.smooth?.length > 0;
  if (line.points.length > 1) group.append(s("path", { d: path(line.points), class: faint ? "line faint" : "line", style: `stroke:${colour}` }));
  if (faint) group.append(s("path", { d: path(line.smooth), class: "line", style: `stroke:${colour}` }));
  if (line.dots || line.points.length === 1) {
    for (const [px, py] of line.points) group.append(s("circle", { cx: x(px), cy: y(py), r: 3, style: `fill:${colour}` }));
  }
  if (line.index >= COLOURED && many > COLOURED) group.setAttribute("opacity", "0.6");
  svg.append(group);
}

function paintLines(shown, x, y, width, height) {
  const fine = window.devicePixelRatio || 1;
  const canvas = h("canvas", { class: "lines-canvas", width: Math.round(width * fine), height: Math.round(height * fine), "aria-hidden": "true", style: `width:${width}px;height:${height}px` });
  const pen = canvas.getContext("2d");
  pen.scale(fine, fine);
  const stroke = (points, colour, alpha) => {
    pen.globalAlpha = alpha;
    pen.strokeStyle = colour;
    pen.lineWidth = 1.75;
    pen.beginPath();
    points.forEach(([px, py], i) => (i ? pen.lineTo(x(px), y(py)) : pen.moveTo(x(px), y(py))));
    pen.stroke();
  };
  for (const line of shown) {
    const colour = line.index < COLOURED ? category(line.index) : "#808a94";
    stroke(line.points, colour, line.smooth?.length ? 0.3 : 1);
    if (line.smooth?.length) stroke(line.smooth, colour, 1);
  }
  return canvas;
}

function drawNow(svg, at, frame) {
  svg.append(s("line", { class: "now", x1: at, x2: at, y1: frame.top, y2: frame.bottom }),
    s("text", { class: "tick", x: at - 4, y: frame.top + 9, "text-anchor": "end" }, "now"));
}

function drawNames(svg, shown, x, y, frame) {
  const ends = shown.filter((line) => line.name).map((line) => {
    const points = line.smooth?.length ? line.smooth : line.points;
    return { line, at: points.length ? y(points[points.length - 1][1]) : frame.top, mark: 0 };
  }).sort((a, b) => a.at - b.at);
  let last = frame.top - 10;
  for (const end of ends) { end.mark = Math.max(end.at, last + 14); last = end.mark; }
  const over = last - frame.bottom;
  if (over > 0) ends.forEach((end) => { end.mark -= over; });
  for (const { line, at, mark } of ends) {
    const colour = line.index < COLOURED ? categoryVariable(line.index) : "var(--muted)";
    svg.append(s("path", { class: "line-end", d: `M${frame.right + 2} ${at.toFixed(1)}L${frame.right + 12} ${mark.toFixed(1)}`, style: `stroke:${colour}` }),
      s("text", { class: "line-name", x: frame.right + 16, y: mark + 4 }, cut(line.name, 20)));
  }
}

function legendOf(shown) {
  return h("ul", { class: "lines-legend" }, ...shown.filter((line) => line.name).map((line) => h("li", {},
    h("span", { class: "swatch", style: `background:${line.index < COLOURED ? categoryVariable(line.index) : "var(--muted)"}` }), line.name)));
}

function showCursor(state, box, aloud = false) {
  const { plot, cursor, options } = state;
  if (!plot || cursor === null || cursor === undefined) { box.hidden = true; return; }
  const at = nearest(plot.places, cursor), pixel = plot.x(at);
  plot.ruler.setAttribute("x1", pixel);
  plot.ruler.setAttribute("x2", pixel);
  plot.ruler.setAttribute("visibility", "visible");
  const values = plot.shown.map((line) => ({ line, value: valueAt(line.points, at) }))
    .filter(({ value }) => value !== null).sort((a, b) => b.value - a.value);
  clear(box);
  box.hidden = false;
  const heading = `${options.x?.label || "x"} ${(options.x?.show || short)(at)}`;
  box.append(h("b", {}, heading), ...values.map(({ line, value }) => h("div", {},
    h("span", { class: "swatch", style: `background:${line.index < COLOURED ? categoryVariable(line.index) : "var(--muted)"}` }), `${line.name} ${short(value, 4)}`)));
  box.classList.toggle("at-left", pixel > plot.width * 0.55);
  if (aloud) announce(`${heading}: ${values.map(({ line, value }) => `${line.name} ${short(value, 4)}`).join(", ")}`);
}

function placesOf(series) {
  const places = new Set();
  for (const line of series) for (const [x] of line.points || []) places.add(x);
  return [...places].sort((a, b) => a - b);
}

/** The value at x or the last one before it: runs are not measured at the same steps. */
function valueAt(points, x) {
  let low = 0, high = points.length - 1;
  if (high < 0 || points[0][0] > x) return null;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (points[middle][0] <= x) low = middle; else high = middle - 1;
  }
  return points[low][1];
}

function nearest(places, x) {
  let low = 0, high = places.length - 1;
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (places[middle] <= x) low = middle; else high = middle;
  }
  return Math.abs(places[low] - x) <= Math.abs(places[high] - x) ? places[low] : places[high];
}

function cut(name, length) {
  const letters = [...name];
  return letters.length > length ? `${letters.slice(0, length - 1).join("")}…` : name;
}
