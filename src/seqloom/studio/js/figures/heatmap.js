// A heat map of hidden units over time, on a canvas as wide as the token strip above it.
import { h } from "../dom.js";
import { ramp, signedPixel, viridisPixel } from "../colours.js";
import { clamp, onKeys, statusLine, focusGroup } from "./common.js";
import { columnAt } from "./tokens.js";

/**
 * heatmap({values (time × units), order, columns, kind, range: [low, high], name, onMove, onCell})
 * → element with `setCursor(i)` and `status`. The rows are in the order of `order`; ↑/↓ select a unit.
 */
export function heatmap({ values, order, columns, kind, range = [0, 1], name = "", onMove, onCell }) {
  const cells = order || values[0]?.map((_, i) => i) || [],
    tall = clamp(Math.floor(216 / cells.length), 13) || 1;
  const size = `width:${columns.total}px;height:${cells.length * tall}px`;
  const canvas = h("canvas.pixels", {
    "aria-hidden": "true",
    width: columns.even ? values.length : columns.total,
    height: Math.max(1, cells.length),
    style: size,
  });
  paintHeat(canvas, values, cells, columns, kind, range);
  const column = h(".heat-cursor", { hidden: true }),
    line = h(".heat-cell", { hidden: true });
  const stage = h(".heat-stage", { style: size }, canvas, line, column);
  const element = focusGroup(
    "heat",
    `${name} over time: left and right move in time, up and down between cells`,
    stage,
  );
  element.status = statusLine(`${name}: ${cells.length} cells`);
  let at = null,
    row = null;
  const show = (time, cell, isSpoken) => {
    if (!values[time] || cell === null) return;
    element.status.show(
      `${name}, cell ${cells[cell]}, “${columns.shown[time]}”: ${values[time][cells[cell]]?.toFixed(2)}`,
      isSpoken,
    );
  };
  element.setCursor = (time) => {
    at = values[time] ? time : null;
    column.hidden = at === null;
    Object.assign(column.style, { left: `${columns.lefts[time]}px`, width: `${columns.widths[time]}px` });
    show(at, row);
  };
  const choose = (wanted) => {
    row = clamp(wanted, cells.length);
    line.hidden = false;
    Object.assign(line.style, { top: `${row * tall}px`, height: `${tall}px` });
  };
  stage.addEventListener("pointermove", (event) => show(...under(event)));
  stage.addEventListener("click", (event) => {
    const [time, cell] = under(event);
    choose(cell);
    onMove?.(time);
    onCell?.(cells[cell]);
  });
  onKeys(element, (key) => {
    const move = { ArrowRight: [1, 0], ArrowLeft: [-1, 0], ArrowDown: [0, 1], ArrowUp: [0, -1] }[key];
    if (!move) return false;
    choose(row === null ? 0 : row + move[1]);
    const time = clamp((at ?? -1) + move[0], values.length);
    if (time !== at) onMove?.(time);
    at = time;
    return show(time, row, true);
  });
  return element;

  function under(event) {
    const box = stage.getBoundingClientRect();
    return [
      clamp(columnAt(columns, event.clientX - box.left), values.length),
      clamp(Math.floor((event.clientY - box.top) / tall), cells.length),
    ];
  }
}

/** One pixel for each value (or as many as the column is wide), through a table of colours. */
export function paintHeat(canvas, values, cells, columns, kind, [low, high]) {
  const pen = canvas.getContext("2d"),
    { width, height } = canvas;
  if (!width || !cells.length) return;
  const image = pen.createImageData(width, height),
    words = new Uint32Array(image.data.buffer);
  const table = kind === "signed" ? ramp(signedPixel, -1, 1) : ramp(viridisPixel),
    factor = 255 / (high - low || 1);
  for (let time = 0; time < values.length; time++) {
    const line = values[time],
      from = columns.even ? time : columns.lefts[time],
      wide = columns.even ? 1 : columns.widths[time];
    for (let row = 0, start = from; row < height; row++, start += width) {
      const level = ((line[cells[row]] - low) * factor + 0.5) | 0,
        colour = table[level < 0 ? 0 : level > 255 ? 255 : level];
      for (let i = start; i < start + wide; i++) words[i] = colour;
    }
  }
  pen.putImageData(image, 0, 0);
}
