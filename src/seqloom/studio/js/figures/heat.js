// Time from left to right, cells from top to bottom: a canvas as wide as the rail above it.
import { announce, h } from "../dom.js";
import { ramp, signedPixel, viridisPixel } from "../colours.js";
import { columnAt } from "./symbols.js";

/**
 * heat({values (time × cells), order, columns, kind, range: [low, high], name, tokens, onMove,
 * onCell}) → element with `setCursor(i)`. The rows follow `order`; ↑/↓ choose a cell.
 */
export function heat({ values, order, columns, kind = "viridis", range = [0, 1], name = "", onMove, onCell }) {
  const cells = order || values[0]?.map((_, i) => i) || [];
  const tall = Math.max(1, Math.min(12, Math.floor(216 / Math.max(1, cells.length))));
  const canvas = h("canvas", {
    class: "pixels", "aria-hidden": "true", width: columns.even ? values.length : columns.total, height: Math.max(1, cells.length),
    style: `width:${columns.total}px;height:${cells.length * tall}px`,
  });
  paintHeat(canvas, values, cells, columns, kind, range);
  const column = h("div", { class: "heat-cursor", hidden: true }), line = h("div", { class: "heat-cell", hidden: true });
  const status = h("p", { class: "heat-status muted", "aria-hidden": "true" }, `${name ? `${name}: ` : ""}${cells.length} cells`);
  const stage = h("div", { class: "heat-stage", style: `width:${columns.total}px;height:${cells.length * tall}px` }, canvas, line, column);
  const element = h("div", {
    class: "heat", tabindex: "0", role: "group", dataset: { active: "true" },
    "aria-label": `${name || "cells"} over time: left and right move in time, up and down from cell to cell`,
  }, stage);
  const at = { time: null, row: null };
  const tell = (aloud) => {
    if (at.time === null || at.row === null) return;
    const cell = cells[at.row], value = values[at.time]?.[cell];
    const said = `${name ? `${name}, ` : ""}cell ${cell}, “${columns.shown[at.time]}”: ${value === undefined ? "unknown" : value.toFixed(2)}`;
    status.textContent = said;
    if (aloud) announce(said);
  };
  element.setCursor = (time) => {
    at.time = time;
    column.hidden = time === null || time === undefined || time < 0 || time >= values.length;
    if (column.hidden) return;
    column.style.left = `${columns.lefts[time]}px`;
    column.style.width = `${columns.widths[time]}px`;
    tell(false);
  };
  element.setRow = (row) => {
    at.row = row;
    line.hidden = row === null;
    line.style.top = `${row * tall}px`;
    line.style.height = `${tall}px`;
    tell(false);
  };
  element.status = status;
  const under = (event) => {
    const box = stage.getBoundingClientRect();
    return [columnAt(columns, event.clientX - box.left), Math.max(0, Math.min(cells.length - 1, Math.floor((event.clientY - box.top) / tall)))];
  };
  stage.addEventListener("pointermove", (event) => {
    const [time, row] = under(event), kept = { ...at };
    Object.assign(at, { time: Math.min(values.length - 1, time), row });
    tell(false);
    Object.assign(at, kept);
  });
  stage.addEventListener("click", (event) => {
    const [time, row] = under(event);
    element.setRow(row);
    onMove?.(Math.min(values.length - 1, time));
    onCell?.(cells[row]);
  });
  element.addEventListener("keydown", (event) => {
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    const move = { ArrowRight: [1, 0], ArrowLeft: [-1, 0], ArrowDown: [0, 1], ArrowUp: [0, -1] }[event.key];
    if (!move) return;
    event.preventDefault();
    const time = Math.max(0, Math.min(values.length - 1, (at.time ?? -1) + move[0]));
    element.setRow(Math.max(0, Math.min(cells.length - 1, (at.row ?? 0) + (at.row === null ? 0 : move[1]))));
    if (move[0] || at.time === null) onMove?.(time);
    at.time = time;
    tell(true);
  });
  return element;
}

/** One pixel for each value (or as many as the column is wide), through a table of colours. */
export function paintHeat(canvas, values, cells, columns, kind, [low, high]) {
  const pen = canvas.getContext("2d"), { width, height } = canvas;
  if (!width || !cells.length) return;
  const image = pen.createImageData(width, height), words = new Uint32Array(image.data.buffer);
  const table = kind === "signed" ? ramp((value) => signedPixel(value), -1, 1) : ramp(viridisPixel);
  const factor = 255 / (high - low || 1);
  for (let time = 0; time < values.length; time++) {
    const line = values[time], from = columns.even ? time : columns.lefts[time], wide = columns.even ? 1 : columns.widths[time];
    for (let row = 0, start = from; row < height; row++, start += width) {
      const level = ((line[cells[row]] - low) * factor + 0.5) | 0, colour = table[level < 0 ? 0 : level > 255 ? 255 : level];
      for (let i = start; i < start + wide; i++) words[i] = colour;
    }
  }
  pen.putImageData(image, 0, 0);
}
