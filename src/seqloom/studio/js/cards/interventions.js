// Interventions (ablations): mute an attention head, clamp a hidden unit, replace a token. The banner of the edited
// run, and the differences of a view to the original run.
import { h, put } from "../dom.js";
import { setQuery } from "../route.js";
import { visible } from "../figures/tokens.js";
import { buttonGroup } from "./controls.js";

/** The banner above the cards; `changed` is called after the URL has changed. */
export function interventionBanner(query, changed) {
  const description = h("span"),
    modes = h("span");
  const element = h(
    ".edited-banner",
    { role: "status", hidden: true },
    h("b", "Edited run"),
    description,
    modes,
    h("button.small", { dataset: { control: "edit.reset" }, on: { click: () => add("") } }, "Reset"),
  );
  const edit = () => query().get("edit") || "";
  /** Add an intervention to the others; an empty one removes all. */
  function add(text) {
    setQuery({ edit: text ? [edit(), text].filter((one, i, all) => one && all.indexOf(one) === i).join(" ") : null });
    changed();
  }
  const isDifference = () => query().get("shows") !== "edited";
  function show(text) {
    element.hidden = !edit();
    description.textContent = text || edit();
    put(
      modes,
      buttonGroup(
        "edited run",
        [
          ["difference", "Difference"],
          ["edited", "Edited"],
        ],
        isDifference() ? "difference" : "edited",
        (value) => {
          setQuery({ shows: value === "edited" ? value : null }, { replace: true });
          changed();
        },
      ),
    );
  }
  return { element, edit, add, show, isDifference };
}

/**
 * The difference of some values of a view, edited minus original, with the limit of its colours; null without an
 * intervention, if the edited values themselves are to be shown, or if the shapes differ. A change of `full` has the
 * full colour, or the largest change where that is larger: so a small change is pale, whatever the others are.
 */
export function editDifference(json, numbers, api, full = 1) {
  if (!json.before || !api.page.edits.isDifference()) return null;
  const values = minus(numbers(json), numbers(json.before));
  return values && { values, limit: values.flat(4).reduce((most, value) => Math.max(most, Math.abs(value ?? 0)), full) };
}

function minus(after, before) {
  if (!Array.isArray(after)) return after == null || before == null ? null : after - before;
  if (!Array.isArray(before) || before.length !== after.length) return null;
  const rows = after.map((row, i) => minus(row, before[i]));
  return Array.isArray(after[0]) && rows.includes(null) ? null : rows;
}

/** A button that adds an intervention. */
export const interventionButton = (api, name, label, edit) =>
  h("button.small", { dataset: { control: `edit.${name}` }, on: { click: () => api.page.edits.add(edit()) } }, label);

const quote = (text) => `"${text.replace(/[\\"]/g, "\\$&")}"`;

/** The form that replaces the token at the cursor; `show(position, token)` sets which one that is. */
export function replaceForm(edits, isSeries) {
  const field = h("input", {
    type: isSeries ? "number" : "text",
    step: "any",
    class: "short mono",
    dir: "auto",
    "aria-label": isSeries ? "new value" : "new token",
    dataset: { control: "edit.replace" },
  });
  const replaced = h("bdi.mono");
  let at = null;
  const element = h(
    "form.replacing",
    {
      hidden: true,
      on: {
        submit: (event) => {
          event.preventDefault();
          edits.add(`replace at=${at} by=${quote(field.value)}`);
          field.value = "";
        },
      },
    },
    h("span", "Replace ", replaced, " by"),
    field,
    h("button.small", { type: "submit" }, "Replace"),
  );
  return {
    element,
    show(position, token) {
      at = position;
      element.hidden = position === null || token === undefined || /^<\/?s>$/.test(token);
      replaced.textContent = visible(token);
    },
  };
}
