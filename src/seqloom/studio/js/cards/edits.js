// Edits of a run: what is changed inside the model or in what it reads, the banner that says so,
// and how far the numbers of a view went from where they were.
import { h, put } from "../dom.js";
import { set } from "../address.js";
import { visible } from "../figures/symbols.js";
import { choice } from "./controls.js";

/** The banner above the cards and what sets it; `changed` is called after the address is. */
export function editing(query, changed) {
  const words = h("span"),
    ways = h("span");
  const element = h(
    ".edited-banner",
    { role: "status", hidden: true },
    h("b", "Edited run"),
    words,
    ways,
    h("button.small", { dataset: { control: "edit.reset" }, on: { click: () => make("") } }, "Reset"),
  );
  const edit = () => query().get("edit") || "";
  /** Makes an edit beside those there are; none takes all of them back. */
  function make(text) {
    set({ edit: text ? [edit(), text].filter((one, i, all) => one && all.indexOf(one) === i).join(" ") : null });
    changed();
  }
  const isDifference = () => query().get("shows") !== "edited";
  function tell(told) {
    element.hidden = !edit();
    words.textContent = told || edit();
    put(
      ways,
      choice(
        "edited run",
        [
          ["difference", "Difference"],
          ["edited", "Edited"],
        ],
        isDifference() ? "difference" : "edited",
        (value) => {
          set({ shows: value === "edited" ? value : null }, { replace: true });
          changed();
        },
      ),
    );
  }
  return { element, edit, make, tell, isDifference };
}

/**
 * What an edit added to some numbers of a view, with the largest of it; null where there was no
 * edit, where the edited numbers themselves are wanted, or where both do not lie side by side.
 */
export function gained(json, numbers, api) {
  if (!json.before || !api.page.edits.isDifference()) return null;
  const values = minus(numbers(json), numbers(json.before));
  return values && { values, limit: Math.max(1e-6, ...values.flat(4).map((value) => Math.abs(value ?? 0))) };
}

function minus(after, before) {
  if (!Array.isArray(after)) return after == null || before == null ? null : after - before;
  if (!Array.isArray(before) || before.length !== after.length) return null;
  const rows = after.map((row, i) => minus(row, before[i]));
  return Array.isArray(after[0]) && rows.includes(null) ? null : rows;
}

/** A button that makes an edit. */
export const intervene = (api, name, words, edit) =>
  h("button.small", { dataset: { control: `edit.${name}` }, on: { click: () => api.page.edits.make(edit()) } }, words);

const quote = (text) => `"${text.replace(/[\\"]/g, "\\$&")}"`;

/** The line that replaces the symbol under the cursor; `tell(place, symbol)` says which that is. */
export function replacing(edits, isSeries) {
  const field = h("input", {
    type: isSeries ? "number" : "text",
    step: "any",
    class: "short mono",
    dir: "auto",
    "aria-label": "what is read instead",
    dataset: { control: "edit.replace" },
  });
  const symbol = h("bdi.mono");
  let at = null;
  const element = h(
    "form.replacing",
    {
      hidden: true,
      on: {
        submit: (event) => {
          event.preventDefault();
          edits.make(`replace at=${at} by=${quote(field.value)}`);
          field.value = "";
        },
      },
    },
    h("span", "Replace ", symbol, " by"),
    field,
    h("button.small", { type: "submit" }, "Replace"),
  );
  return {
    element,
    tell(place, token) {
      at = place;
      element.hidden = place === null || token === undefined || /^<\/?s>$/.test(token);
      symbol.textContent = visible(token);
    },
  };
}
