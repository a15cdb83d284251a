// Line charts over a shared x axis: raw lines faint with a smoothed one over them, dots, intervals, labels at the
// line ends, and a box with all values at the cursor (pointer or arrow keys).
import { announce, clear, h, s } from "../dom.js";
import { category, categoryVariable } from "../colours.js";
import { arrowTarget, svgCanvas, onKeys, swatch, focusGroup, onResize } from "./common.js";
import { scale, short, ticks } from "./scales.js";
import { textWidth, truncate } from "./tokens.js";

const SVG_POINTS = 3000,
  COLOURED = 6,
  SMALL = "11px system-ui, sans-serif",
  SIGN = 7; // pixels of a digit
const colourOf = ({ index }) => (index < COLOURED ? categoryVariable(index) : "var(--muted)");

/**
 * lines({series: [{name, points: [[x, y]…], smooth?: [[x, y]…], dots?, bands?: [{share, rows: [[x,
 * low, high]…]}], colour?: index, plain? (text colour)}], x: {label, scale, show?}, y: {label,
 * scale, band?: [low, high]}, height, cursor, onCursor, now?: x}) → element with `update(options)`
 * and `setCursor(x)`.
 */
export function lines(options) {
  const box = h(".lines-values", { "aria-hidden": "true", hidden: true }),
    stage = h(".lines-stage");
  const element = focusGroup(
    "lines",
    `${options.y?.label || "curve"} over ${options.x?.label || "steps"}: arrow keys read the values`,
    stage,
    box,
  );
  const state = { options, width: 640, cursor: options.cursor ?? null, plot: null };
  const redraw = () => draw(state, stage, box);
  element.update = (changed) => {
    Object.assign(
      state,
      { options: { ...state.options, ...changed } },
      "cursor" in changed && { cursor: changed.cursor },
    );
    redraw();
  };
  element.setCursor = (x) => {
    state.cursor = x;
    showCursor(state, box);
  };
  onResize(element, (width) => {
    state.width = width;
    redraw();
  });
  const move = (x, isSpoken) => {
    state.cursor = x;
    showCursor(state, box, isSpoken);
    state.options.onCursor?.(x);
  };
  stage.addEventListener(
    "pointermove",
    (event) =>
      state.plot && move(nearest(state.plot.xs, state.plot.x.back(event.clientX - stage.getBoundingClientRect().left))),
  );
  onKeys(element, (key, event) => {
    const xs = state.plot?.xs || [];
    const target = arrowTarget(
      key,
      state.cursor === null ? null : xs.indexOf(nearest(xs, state.cursor)),
      xs.length,
      event.shiftKey ? 10 : 1,
    );
    return target === undefined || !xs.length ? false : move(xs[target], true);
  });
  return element;
}

/** The data as rows of a table: one column per series, one row per x. */
export function linesTable(series, xLabel = "x") {
  const lookups = series.map((line) => new Map(line.points));
  return [
    [xLabel, ...series.map((line) => line.name)],
    ...xsOf(series).map((x) => [
      short(x, 6),
      ...lookups.map((values) => (values.has(x) ? short(values.get(x), 5) : "")),
    ]),
  ];
}

function draw(state, stage, box) {
  const { options, width } = state,
    height = options.height || 220,
    kinds = { x: options.x?.scale, y: options.y?.scale };
  clear(stage);
  const shown = options.series
    .map((line, i) => clean(line, i, kinds))
    .filter((line) => line.points.length || line.bands);
  state.plot = null;
  if (!shown.length) return stage.append(h("p.muted", "No points yet."));
  const named = shown.filter((line) => line.name),
    beside = width >= 420 && named.length,
    limits = limitsOf(shown, kinds);
  const across = ticks(...limits.y, 4, kinds.y).map((value) => textWidth(short(value), SMALL));
  const frame = {
    left: Math.max(52, 10 + Math.ceil(Math.max(...across))),
    right: width - (beside ? Math.min(170, 26 + 7 * Math.max(...named.map((line) => [...line.name].length))) : 14),
    top: 20,
    bottom: height - 36,
  };
  const x = scale(...limits.x, frame.left, frame.right, kinds.x),
    y = scale(...limits.y, frame.bottom, frame.top, kinds.y);
  const svg = svgCanvas("lines-svg", width, height);
  drawAxes(svg, frame, limits, x, y, options, kinds);
  const count = shown.reduce((sum, line) => sum + line.points.length + (line.smooth?.length || 0), 0);
  if (count > SVG_POINTS) stage.append(paintLines(shown, x, y, width, height));
  else svg.append(...shown.map((line) => drawLine(line, x, y)));
  if (options.now !== undefined) {
    const at = x(options.now);
    svg.append(
      s("line.now", { x1: at, x2: at, y1: frame.top, y2: frame.bottom }),
      s("text.tick", { x: at - 4, y: frame.top + 9, "text-anchor": "end" }, "now"),
    );
  }
  if (beside) drawNames(svg, named, y, frame);
  const ruler = s("line.lines-cursor", { y1: frame.top, y2: frame.bottom, visibility: "hidden" });
  svg.append(ruler);
  stage.append(svg);
  if (!beside && named.length)
    stage.append(
      h(
        "ul.lines-legend",
        named.map((line) => h("li", swatch(colourOf(line), line.name))),
      ),
    );
  state.plot = { x, xs: xsOf(shown), shown, ruler, width };
  showCursor(state, box);
}

function clean(line, index, kinds) {
  const fits = ([x, y]) =>
    Number.isFinite(x) && Number.isFinite(y) && (kinds.x !== "log" || x > 0) && (kinds.y !== "log" || y > 0);
  return {
    ...line,
    name: line.name || "",
    index: line.colour ?? index,
    points: (line.points || []).filter(fits),
    smooth: line.smooth?.filter(fits),
  };
}

function limitsOf(shown, kinds) {
  const rows = shown.flatMap((line) => [...line.points, ...(line.bands || []).flatMap((band) => band.rows)]);
  const spread = (values) =>
    values.reduce(([low, high], value) => [Math.min(low, value), Math.max(high, value)], [Infinity, -Infinity]);
  let [low, high] = spread(rows.flatMap((row) => row.slice(1)));
  if (kinds.y !== "log") {
    const room = (high - low) * 0.06 || Math.abs(high) * 0.1 || 1;
    low = low >= 0 && low - room < 0 ? 0 : low - room;
    high += room;
  } else if (high / low < 10) {
    low /= 1.6;
    high *= 1.6;
  }
  return { x: spread(rows.map((row) => row[0])), y: [low, high] };
}

function drawAxes(svg, frame, limits, x, y, { x: across = {}, y: up = {} }, kinds) {
  const line = (kind, x1, x2, y1, y2) => s("line", { class: kind, x1, x2, y1, y2 }),
    text = (kind, px, py, anchor, label) => s("text", { class: kind, x: px, y: py, "text-anchor": anchor }, label);
  if (up.band) {
    const [low, high] = up.band.map((value) => y(Math.max(limits.y[0], Math.min(limits.y[1], value))));
    svg.append(
      s("rect.lines-healthy", {
        x: frame.left,
        width: Math.max(0, frame.right - frame.left),
        y: high,
        height: Math.max(0, low - high),
      }),
    );
  }
  for (const value of ticks(...limits.y, 4, kinds.y))
    svg.append(
      line("gridline", frame.left, frame.right, y(value), y(value)),
      text("tick", frame.left - 6, y(value) + 4, "end", short(value)),
    );
  const show = across.show || short,
    width = Number(svg.getAttribute("width"));
  const longest = Math.max(...limits.x.map((value) => SIGN * show(value).length), 50) + 20;
  for (const value of ticks(...limits.x, Math.max(1, Math.floor((frame.right - frame.left) / longest)), kinds.x)) {
    // At an edge a label is moved inside: none is cut.
    const half = textWidth(show(value), SMALL) / 2;
    svg.append(
      line("gridline", x(value), x(value), frame.bottom, frame.bottom + 4),
      text("tick", Math.max(half, Math.min(width - half, x(value))), frame.bottom + 16, "middle", show(value)),
    );
  }
  svg.append(
    line("axis", frame.left, frame.right, frame.bottom, frame.bottom),
    text("axis-label", frame.right, frame.bottom + 31, "end", across.label || ""),
    text("axis-label", 4, 11, "start", fitting(up.label || "", width - 8)),
  );
}

/** A text, or as much of it as has room. */
function fitting(text, room) {
  const wide = textWidth(text, SMALL);
  return wide <= room ? text : truncate(text, Math.max(2, Math.floor((text.length * room) / wide) - 1));
}

function drawLine(line, x, y) {
  const colour = line.plain ? "var(--text)" : colourOf(line),
    spot = (px, py) => `${x(px).toFixed(1)} ${y(py).toFixed(1)}`;
  const path = (points, kind) =>
    s("path", { class: kind, style: `stroke:${colour}`, d: `M${points.map(([px, py]) => spot(px, py)).join("L")}` });
  return s(
    "g.series",
    { "data-series": line.name },
    (line.bands || []).map(({ share, rows }) =>
      s("path.line-band", {
        "data-share": share,
        style: `fill:${colour}`,
        d: `M${[...rows.map((row) => spot(row[0], row[2])), ...rows.map((row) => spot(row[0], row[1])).reverse()].join("L")}Z`,
      }),
    ),
    line.points.length > 1 && line.dots !== "only" && path(line.points, line.smooth ? "line faint" : "line"),
    line.smooth?.length > 0 && path(line.smooth, "line"),
    (line.dots || line.points.length === 1) &&
      line.points.map(([px, py]) => s("circle", { cx: x(px), cy: y(py), r: 2.8, style: `fill:${colour}` })),
  );
}

function paintLines(shown, x, y, width, height) {
  const fine = window.devicePixelRatio || 1;
  const canvas = h("canvas.lines-canvas", {
    width: Math.round(width * fine),
    height: Math.round(height * fine),
    "aria-hidden": "true",
    style: `width:${width}px;height:${height}px`,
  });
  const pen = canvas.getContext("2d");
  pen.scale(fine, fine);
  pen.lineWidth = 1.75;
  for (const line of shown) {
    for (const [points, alpha] of [
      [line.points, line.smooth?.length ? 0.3 : 1],
      [line.smooth || [], 1],
    ]) {
      Object.assign(pen, { globalAlpha: alpha, strokeStyle: line.index < COLOURED ? category(line.index) : "#808a94" });
      pen.beginPath();
      for (const [px, py] of points) pen.lineTo(x(px), y(py));
      pen.stroke();
    }
  }
  return canvas;
}

/** Labels at the ends of the lines, moved apart where they would overlap. */
function drawNames(svg, named, y, frame) {
  const ends = named
    .map((line) => ({
      line,
      at: y((line.smooth?.length ? line.smooth : line.points).at(-1)?.[1] ?? line.bands?.[0].rows.at(-1)[1]),
    }))
    .sort((a, b) => a.at - b.at);
  let last = frame.top - 10;
  for (const end of ends) last = end.mark = Math.max(end.at, last + 14);
  for (const { line, at, mark } of ends) {
    const height = mark - Math.max(0, last - frame.bottom);
    svg.append(
      s("path.line-end", {
        d: `M${frame.right + 2} ${at.toFixed(1)}L${frame.right + 12} ${height.toFixed(1)}`,
        style: `stroke:${line.plain ? "var(--text)" : colourOf(line)}`,
      }),
      s("text.line-name", { x: frame.right + 16, y: height + 4 }, truncate(line.name, 20)),
    );
  }
}

function showCursor({ plot, cursor, options }, box, isSpoken) {
  box.hidden = !plot?.xs.length || cursor === null;
  if (box.hidden) return;
  const at = nearest(plot.xs, cursor),
    pixel = plot.x(at);
  for (const [name, value] of [
    ["x1", pixel],
    ["x2", pixel],
    ["visibility", "visible"],
  ])
    plot.ruler.setAttribute(name, value);
  const values = plot.shown
    .map((line) => ({
      line,
      value: valueAt(line.points, at),
      band: line.bands?.flatMap(({ share, rows }) =>
        rows
          .filter((row) => row[0] === at)
          .map((row) => `${100 * share} %: ${short(row[1], 4)} to ${short(row[2], 4)}`),
      ),
    }))
    .filter(({ value }) => value !== null)
    .sort((a, b) => b.value - a.value);
  const heading = `${options.x?.label || "x"} ${(options.x?.show || short)(at)}`,
    describe = ({ line, value, band }) => [`${line.name} ${short(value, 4)}`, ...(band || [])];
  clear(box).append(
    h("b", heading),
    ...values.flatMap((one) =>
      describe(one).map((text, i) =>
        h("div", i ? text : swatch(one.line.plain ? "var(--text)" : colourOf(one.line), text)),
      ),
    ),
  );
  box.classList.toggle("at-left", pixel > plot.width * 0.55);
  if (isSpoken) announce(`${heading}: ${values.flatMap(describe).join(", ")}`);
}

function xsOf(series) {
  return [...new Set(series.flatMap((line) => (line.points || []).map(([x]) => x)))].sort((a, b) => a - b);
}

/** The value at x, or the last one before it: runs are not evaluated at the same steps. */
function valueAt(points, x) {
  const after = points.findIndex(([px]) => px > x),
    at = after < 0 ? points.length - 1 : after - 1;
  return at < 0 ? null : points[at][1];
}

function nearest(xs, x) {
  return xs.reduce((best, other) => (Math.abs(other - x) < Math.abs(best - x) ? other : best), xs[0]);
}
