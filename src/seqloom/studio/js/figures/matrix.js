// A labelled matrix (heat map): SVG up to 1,600 cells; above that a canvas with one SVG focus cell, because
// thousands of SVG nodes are slow. Arrow keys move from cell to cell and announce the values.
import { h, s } from "../dom.js";
import { ramp, signed, signedPixel, viridis, viridisPixel } from "../colours.js";
import { svgCanvas, clamp, muted, onKeys, statusLine, fixed2, focusGroup } from "./common.js";
import { truncate, textWidth, visible } from "./tokens.js";

const SVG_CELLS = 1600,
  FONT = "12px ui-monospace, monospace";

/**
 * matrix({rows, columns, values, kind: "viridis" | "signed", limit (of signed), outline, entropy,
 * onCell(row, column), rowWord, columnWord, show}) → element with `setCursor({row, column})`.
 */
export function matrix({
  rows,
  columns,
  values,
  kind = "viridis",
  limit = 1,
  outline,
  entropy,
  onCell,
  rowWord = "row",
  columnWord = "column",
  show = fixed2,
}) {
  const size = pitch(Math.max(rows.length, columns.length)),
    side = size >= 18 ? size - 1 : size,
    every = Math.ceil(11 / size);
  const names = { rows: rows.map(visible), columns: columns.map(visible) };
  const longest = (list) =>
    Math.ceil(Math.min(110, Math.max(14, ...list.map((text) => textWidth(truncate(text, 16), FONT))))) + 10;
  const upright = size >= 14 && names.columns.every((text) => textWidth(text, FONT) <= size - 2);
  const left = longest(names.rows),
    top = upright ? 20 : longest(names.columns),
    right = left + columns.length * size;
  const width = right + (entropy ? 74 : 6),
    height = top + rows.length * size + 6,
    small = rows.length * columns.length <= SVG_CELLS;
  const svg = svgCanvas("matrix-svg", width, height),
    status = statusLine("Arrow keys move between cells.");
  const stage = h(".matrix-stage", { style: `width:${width}px;height:${height}px` });
  const element = focusGroup(
    "matrix",
    `${rows.length} ${rowWord}s by ${columns.length} ${columnWord}s: arrow keys move between cells`,
    h(".scroller", stage),
    status,
  );
  element.dataset.cells = small ? "svg" : "canvas";
  const label = (props, ...text) => svg.append(s("text.label", { ...props }, text));
  const value = (row, column) => (values[row][column] == null ? "unknown" : show(values[row][column]));

  if (small) drawCells();
  else stage.append(paintCells(values, kind, limit, { left, top, size }));
  names.rows.forEach(
    (name, row) =>
      row % every || label({ x: left - 5, y: top + (row + 0.5) * size + 4, "text-anchor": "end" }, truncate(name, 16)),
  );
  names.columns.forEach(
    (name, column) =>
      column % every ||
      label(
        upright
          ? { x: left + (column + 0.5) * size, y: top - 6, "text-anchor": "middle" }
          : { transform: `translate(${left + (column + 0.5) * size + 4} ${top - 5}) rotate(-90)` },
        truncate(name, 16),
      ),
  );
  if (outline) values.forEach(drawBest);
  if (entropy) drawEntropy();
  const band = s("rect.matrix-band"),
    focus = s("rect.matrix-focus");
  svg.append(band, focus);
  stage.append(svg);

  let at = null;
  const choose = (row, column, isSpoken) => {
    at = [clamp(row, rows.length), clamp(column, columns.length)];
    box(focus, left + at[1] * size, top + at[0] * size, Math.max(2, size), Math.max(2, size));
    element.dataset.value = values[at[0]][at[1]];
    status.show(`${rowWord} ${names.rows[at[0]]}, ${columnWord} ${names.columns[at[1]]}, ${value(...at)}`, isSpoken);
  };
  element.setCursor = ({ row = null, column = null }) => {
    if (row !== null) box(band, left, top + row * size, right - left, size);
    else if (column !== null) box(band, left + column * size, top, size, rows.length * size);
    else box(band, 0, 0, 0, 0);
  };
  onKeys(element, (key) => {
    const move = {
      ArrowRight: [0, 1],
      ArrowLeft: [0, -1],
      ArrowDown: [1, 0],
      ArrowUp: [-1, 0],
      Home: [0, -Infinity],
      End: [0, Infinity],
    }[key];
    if (!move || !rows.length || !columns.length) return false;
    if (at) choose(at[0] + move[0], at[1] + move[1], true);
    else choose(0, 0, true);
    return onCell?.(...at);
  });
  const point = (event) => {
    const edge = svg.getBoundingClientRect(),
      row = Math.floor((event.clientY - edge.top - top) / size),
      column = Math.floor((event.clientX - edge.left - left) / size);
    if (!rows[row] || !columns[column]) return;
    choose(row, column);
    if (event.type === "click") onCell?.(row, column);
  };
  svg.addEventListener("pointermove", point);
  svg.addEventListener("click", point);
  return element;

  function drawCells() {
    const colour = (cell) => (cell == null ? "var(--card)" : kind === "signed" ? signed(cell / limit) : viridis(cell));
    svg.append(
      s(
        "g",
        { role: "grid", "aria-label": "values" },
        values.map((line, row) =>
          s(
            "g",
            { role: "row" },
            line.map((cell, column) =>
              s("rect", {
                role: "gridcell",
                "aria-label": `${names.rows[row]} ${names.columns[column]} ${value(row, column)}`,
                "data-value": cell,
                x: left + column * size,
                y: top + row * size,
                width: side,
                height: side,
                fill: colour(cell),
              }),
            ),
          ),
        ),
      ),
    );
  }
  function drawBest(line, row) {
    const best = line.indexOf(Math.max(...line)),
      thick = size >= 16 ? 2 : 1;
    if (line.filter((cell) => cell >= line[best] - 1e-9).length !== 1) return;
    // Two outlines, dark and light: one of them is visible on any colour.
    for (const [inset, name] of [
      [0, "dark"],
      [thick, "light"],
    ]) {
      const long = Math.max(1, side - thick - 2 * inset),
        start = inset + thick / 2;
      svg.append(
        s("rect", {
          class: `matrix-best outline-${name}`,
          x: left + best * size + start,
          y: top + row * size + start,
          width: long,
          height: long,
          "stroke-width": thick,
        }),
      );
    }
  }
  function drawEntropy() {
    const most = Math.max(1, Math.log2(columns.length)),
      long = (bits) => Math.max(1, (36 * bits) / most);
    label({ x: right + 10, y: top - 6 }, "bits");
    entropy.forEach((bits, row) => {
      svg.append(
        s("rect.entropy", {
          x: right + 10,
          y: top + (row + 0.2) * size,
          width: long(bits),
          height: Math.max(1, size * 0.6),
        }),
      );
      if (row % every === 0)
        label({ class: "label small", x: right + 14 + long(bits), y: top + (row + 0.5) * size + 4 }, bits.toFixed(1));
    });
  }
}

/** Every cell as one pixel of a canvas, which the browser enlarges without smoothing. */
export function paintCells(values, kind, limit, { left, top, size }) {
  const rows = values.length,
    columns = values[0]?.length || 0;
  const canvas = h("canvas", {
    width: columns,
    height: rows,
    class: "pixels",
    "aria-hidden": "true",
    style: `left:${left}px;top:${top}px;width:${columns * size}px;height:${rows * size}px`,
  });
  if (!rows || !columns) return canvas;
  const pen = canvas.getContext("2d"),
    image = pen.createImageData(columns, rows),
    words = new Uint32Array(image.data.buffer);
  const low = kind === "signed" ? -1 : 0,
    table = ramp(kind === "signed" ? signedPixel : viridisPixel, low, 1);
  values.forEach((line, row) =>
    line.forEach((value, column) => {
      words[row * columns + column] = table[clamp(Math.round((255 * ((value ?? 0) / limit - low)) / (1 - low)), 256)];
    }),
  );
  pen.putImageData(image, 0, 0);
  return canvas;
}

/** A colour bar with its limits, for the legend. */
export function colourBar(low, high, text, colour = viridis, from = 0) {
  const stops = Array.from({ length: 9 }, (_, i) => colour(from + ((1 - from) * i) / 8));
  return h(
    "span.ramp-legend",
    low,
    h("span.ramp", { "aria-hidden": "true", style: `background:linear-gradient(90deg, ${stops})` }),
    high,
    muted(text),
  );
}

export const signedColourBar = (limit, text) =>
  colourBar(`−${limit}`, String(limit), text, (value) => signed(value), -1);

function pitch(longest) {
  for (const [limit, size] of [
    [12, 32],
    [24, 24],
    [40, 18],
    [100, 12],
  ])
    if (longest <= limit) return size;
  return Math.max(3, Math.floor(1200 / longest));
}

function box(node, x, y, width, height) {
  for (const [name, value] of Object.entries({ x, y, width, height })) node.setAttribute(name, value);
}
