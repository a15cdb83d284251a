// Horizontal bars with their names; what sampling cuts off is hatched.
import { h } from "../dom.js";
import { percent } from "./scales.js";
import { visible } from "./symbols.js";

/**
 * bars([{name, value, after?, kept?, title?}], {most, show, onPick, label}) → a list. `value` is the
 * model's share (the thin mark where `after` differs), `after` what it is drawn with.
 */
export function bars(rows, { most, show = percent, onPick, label = "", plain = false } = {}) {
  const largest = most || Math.max(1e-9, ...rows.map((row) => Math.max(row.value, row.after ?? 0)));
  return h("ol", { class: "shares", "aria-label": label }, ...rows.map((row) => {
    const shown = row.after ?? row.value, cutOff = row.kept === false;
    const name = plain ? row.name : visible(row.name);
    const inside = [
      h("bdi", { class: "share-name", title: name }, name),
      h("span", { class: "share-track", "aria-hidden": "true" },
        h("span", { class: cutOff ? "share-bar cut" : "share-bar", style: `width:${(100 * (cutOff ? row.value : shown) / largest).toFixed(2)}%` }),
        row.after !== undefined && !cutOff && Math.abs(row.after - row.value) > 0.002 && h("span", { class: "share-mark", style: `left:${(100 * row.value / largest).toFixed(2)}%` })),
      h("span", { class: "share-value" }, show(cutOff ? row.value : shown), cutOff && h("span", { class: "muted" }, " cut")),
    ];
    return h("li", { class: cutOff ? "share-row is-cut" : "share-row", title: row.title || null, dataset: { name: row.name, value: row.value } },
      onPick ? h("button", { type: "button", class: "share-button", on: { click: () => onPick(row) } }, ...inside) : h("div", { class: "share-button" }, ...inside));
  }));
}
