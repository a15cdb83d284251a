// A matrix with names on both sides: SVG up to 1,600 cells, a canvas with one focus cell on top
// above that. Arrow keys walk from cell to cell and read the values out.
import { announce, h, s } from "../dom.js";
import { ramp, signed, signedPixel, viridis, viridisPixel } from "../colours.js";
import { cut, pixels, visible } from "./symbols.js";

const SVG_CELLS = 1600;

/**
 * matrix({rows, columns, values, kind: "viridis" | "signed", limit (of signed), outline, entropy,
 * onCell(row, column), rowWord, columnWord, small}) → element with `setCursor({row, column})`.
 */
export function matrix({ rows, columns, values, kind = "viridis", limit = 1, outline = false, entropy,
  onCell, rowWord = "row", columnWord = "column", cell, show = (value) => value.toFixed(2) }) {
  const size = cell || pitch(Math.max(rows.length, columns.length));
  const names = { rows: rows.map(visible), columns: columns.map(visible) };
  const step = Math.max(1, Math.ceil(11 / size));
  const longest = (list) => Math.min(110, Math.max(14, ...list.map((text) => pixels(cut(text, 16), "12px ui-monospace, monospace"))));
  const upright = size >= 14 && names.columns.every((text) => pixels(text, "12px ui-monospace, monospace") <= size - 2);
  const left = Math.ceil(longest(names.rows)) + 10, top = upright ? 20 : Math.ceil(longest(names.columns)) + 10;
  const strip = entropy?.length ? 74 : 0;
  const width = left + columns.length * size + (strip || 6), height = top + rows.length * size + 6;
  const svg = s("svg", { width, height, viewBox: `0 0 ${width} ${height}`, class: "matrix-svg" });
  const status = h("p", { class: "matrix-status muted", "aria-hidden": "true" }, "Arrow keys walk through the cells.");
  const stage = h("div", { class: "matrix-stage", style: `width:${width}px;height:${height}px` });
  const element = h("div", {
    class: "matrix", tabindex: "0", role: "group", dataset: { active: "true", cells: rows.length * columns.length <= SVG_CELLS ? "svg" : "canvas" },
    "aria-label": `${rows.length} ${rowWord}s by ${columns.length} ${columnWord}s: arrow keys walk through the cells`,
  }, h("div", { class: "scroller" }, stage), status);
  const shownValue = (value) => (value === null || value === undefined ? "unknown" : show(value));
  const colour = (value) => (value === null || value === undefined ? "var(--card)" : kind === "signed" ? signed(value / limit) : viridis(value));
  if (rows.length * columns.length <= SVG_CELLS) drawCells();
  else stage.append(paintCells(values, rows.length, columns.length, kind, limit, { left, top, size }));
  drawNames();
  if (outline) drawOutlines();
  if (strip) drawEntropy();
  const band = s("rect", { class: "matrix-band", visibility: "hidden" });
  const focus = s("rect", { class: "matrix-focus", width: Math.max(2, size), height: Math.max(2, size), visibility: "hidden" });
  svg.append(band, focus);
  stage.append(svg);

  const at = { row: null, column: null };
  const choose = (row, column, aloud) => {
    at.row = Math.max(0, Math.min(rows.length - 1, row));
    at.column = Math.max(0, Math.min(columns.length - 1, column));
    place(focus, left + at.column * size, top + at.row * size, Math.max(2, size), Math.max(2, size));
    const value = shownValue(values[at.row][at.column]);
    status.textContent = `${rowWord} ${names.rows[at.row]}, ${columnWord} ${names.columns[at.column]}: ${value}`;
    element.dataset.value = values[at.row][at.column];
    if (aloud) announce(`${rowWord} ${names.rows[at.row]}, ${columnWord} ${names.columns[at.column]}, ${value}`);
  };
  element.setCursor = ({ row = null, column = null }) => {
    if (row === null && column === null) return band.setAttribute("visibility", "hidden");
    if (row !== null) return place(band, left, top + row * size, columns.length * size, size);
    return place(band, left + column * size, top, size, rows.length * size);
  };
  element.addEventListener("keydown", (event) => {
    if (event.altKey || event.ctrlKey || event.metaKey || !rows.length || !columns.length) return;
    const move = { ArrowRight: [0, 1], ArrowLeft: [0, -1], ArrowDown: [1, 0], ArrowUp: [-1, 0] }[event.key];
    if (event.key === "Home") choose(at.row ?? 0, 0, true);
    else if (event.key === "End") choose(at.row ?? 0, columns.length - 1, true);
    else if (move) at.row === null ? choose(0, 0, true) : choose(at.row + move[0], at.column + move[1], true);
    else return;
    event.preventDefault();
    onCell?.(at.row, at.column);
  });
  const under = (event) => {
    const box = svg.getBoundingClientRect();
    const column = Math.floor((event.clientX - box.left - left) / size), row = Math.floor((event.clientY - box.top - top) / size);
    return row >= 0 && row < rows.length && column >= 0 && column < columns.length ? [row, column] : null;
  };
  svg.addEventListener("pointermove", (event) => { const found = under(event); if (found) choose(...found, false); });
  svg.addEventListener("click", (event) => { const found = under(event); if (found) { choose(...found, false); onCell?.(...found); } });
  return element;

  function drawCells() {
    const side = size >= 18 ? size - 1 : size;
    const grid = s("g", { role: "grid", "aria-label": "weights" });
    values.forEach((line, row) => {
      const group = s("g", { role: "row" });
      line.forEach((value, column) => group.append(s("rect", {
        role: "gridcell", "aria-label": `${names.rows[row]} ${names.columns[column]} ${shownValue(value)}`, "data-value": value,
        x: left + column * size, y: top + row * size, width: side, height: side, fill: colour(value),
      })));
      grid.append(group);
    });
    svg.append(grid);
  }

  function drawNames() {
    names.rows.forEach((name, row) => {
      if (row % step === 0) svg.append(s("text", { class: "label", x: left - 5, y: top + (row + 0.5) * size + 4, "text-anchor": "end" }, cut(name, 16)));
    });
    names.columns.forEach((name, column) => {
      if (column % step) return;
      const x = left + (column + 0.5) * size;
      svg.append(upright ? s("text", { class: "label", x, y: top - 6, "text-anchor": "middle" }, name)
        : s("text", { class: "label", transform: `translate(${x + 4} ${top - 5}) rotate(-90)` }, cut(name, 16)));
    });
  }

  function drawOutlines() {
    const thick = size >= 16 ? 2 : 1;
    values.forEach((line, row) => {
      const best = line.indexOf(Math.max(...line));
      if (best < 0 || line.filter((value) => value >= line[best] - 1e-9).length > 1) return;
      // Two lines, dark and light: one of them shows on any colour.
      for (const [inset, name] of [[0, "outline-dark"], [thick, "outline-light"]]) {
        const side = Math.max(1, size - (size >= 18 ? 1 : 0) - thick - 2 * inset);
        svg.append(s("rect", { class: `matrix-best ${name}`, x: left + best * size + inset + thick / 2, y: top + row * size + inset + thick / 2, width: side, height: side, "stroke-width": thick }));
      }
    });
  }

  function drawEntropy() {
    const start = left + columns.length * size + 10, most = Math.max(1, Math.log2(columns.length || 2));
    svg.append(s("text", { class: "label", x: start, y: top - 6 }, "bits"));
    entropy.forEach((bits, row) => {
      svg.append(s("rect", { class: "entropy", x: start, y: top + row * size + size * 0.2, width: Math.max(1, 36 * bits / most), height: Math.max(1, size * 0.6) }));
      if (row % step === 0) svg.append(s("text", { class: "label small", x: start + Math.max(1, 36 * bits / most) + 4, y: top + (row + 0.5) * size + 4 }, bits.toFixed(1)));
    });
  }
}

/** Every cell as one pixel of a canvas, enlarged by the browser without smoothing. */
export function paintCells(values, rows, columns, kind, limit, { left, top, size }) {
  const canvas = h("canvas", { width: columns, height: rows, class: "pixels", "aria-hidden": "true", style: `left:${left}px;top:${top}px;width:${columns * size}px;height:${rows * size}px` });
  if (!rows || !columns) return canvas;
  const pen = canvas.getContext("2d"), image = pen.createImageData(columns, rows), words = new Uint32Array(image.data.buffer);
  const low = kind === "signed" ? -1 : 0, table = ramp(kind === "signed" ? (value) => signedPixel(value) : viridisPixel, low, 1);
  for (let row = 0; row < rows; row++) {
    for (let column = 0; column < columns; column++) {
      const value = (values[row][column] ?? 0) / limit;
      words[row * columns + column] = table[Math.max(0, Math.min(255, Math.round(255 * (value - low) / (1 - low))))];
    }
  }
  pen.putImageData(image, 0, 0);
  return canvas;
}

/** The ramp with its numbers, for the legend. */
export function rampLegend(kind, low, high, word) {
  const stops = Array.from({ length: 9 }, (_, i) => (kind === "signed" ? signed(-1 + i / 4) : viridis(i / 8)));
  return h("span", { class: "ramp-legend" }, h("span", {}, String(low)),
    h("span", { class: "ramp", "aria-hidden": "true", style: `background:linear-gradient(90deg, ${stops.join(", ")})` }), h("span", {}, String(high)), word && h("span", { class: "muted" }, word));
}

function pitch(longest) {
  for (const [limit, size] of [[12, 32], [24, 24], [40, 18], [100, 12]]) if (longest <= limit) return size;
  return Math.max(3, Math.floor(1200 / longest));
}

function place(node, x, y, width, height) {
  for (const [name, value] of Object.entries({ x, y, width, height })) node.setAttribute(name, value);
  node.setAttribute("visibility", "visible");
}
