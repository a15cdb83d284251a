// Horizontal bars with their names; what sampling cuts off is hatched.
import { h } from "../dom.js";
import { muted } from "./parts.js";
import { percent } from "./scales.js";
import { visible } from "./symbols.js";

/**
 * bars([{name, value, after?, kept?, shown?, colour?}], {most, onPick, label, plain}) → a list. `value` is the
 * model's share (the thin mark where `after` differs), `after` what it is drawn with.
 */
export function bars(rows, { most, onPick, label = "", plain } = {}) {
  const long = (value) =>
    `${((100 * value) / (most || Math.max(1e-9, ...rows.flatMap((row) => [row.value, row.after ?? 0])))).toFixed(2)}%`;
  return h(
    "ol.shares",
    { "aria-label": label },
    rows.map((row) => {
      const isCut = row.kept === false,
        value = isCut ? row.value : (row.after ?? row.value),
        name = plain ? row.name : visible(row.name);
      return h(
        "li",
        { class: isCut ? "share-row is-cut" : "share-row", dataset: { name: row.name, value: row.value } },
        h(
          onPick ? "button" : "div",
          { class: "share-button", type: onPick && "button", on: onPick && { click: () => onPick(row) } },
          h("bdi.share-name", { title: name }, name),
          h(
            "span.share-track",
            { "aria-hidden": "true" },
            h("span", {
              class: isCut ? "share-bar cut" : "share-bar",
              style: `width:${long(value)}${row.colour ? `;background:${row.colour}` : ""}`,
            }),
            Math.abs(value - row.value) > 0.002 && h("span.share-mark", { style: `left:${long(row.value)}` }),
          ),
          h("span.share-value", row.shown ?? percent(value), isCut && muted(" cut")),
        ),
      );
    }),
  );
}
