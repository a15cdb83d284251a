// Horizontal bar chart of probabilities; tokens that sampling excludes (top-k, top-p, min-p) are hatched.
import { h } from "../dom.js";
import { muted } from "./common.js";
import { percent } from "./scales.js";
import { visible } from "./tokens.js";

/**
 * bars([{name, value, after?, kept?, shown?, colour?}], {most, onPick, label, plain}) → a list. `value` is the
 * probability of the model (the thin mark if `after` differs), `after` the probability after sampling options.
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
          h("span.share-value", row.shown ?? percent(value), isCut && muted(" excluded")),
        ),
      );
    }),
  );
}
