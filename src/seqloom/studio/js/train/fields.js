// A field for an option of a constructor: its kind decides how, its help says what for.

import { h } from "../dom.js";
import { asValue } from "../shell/recipes.js";

// The settings people change most, in this order; those that apply come first on the page.
const USUAL = [
  "model.order",
  "model.hidden",
  "model.states",
  "model.layers",
  "model.encoder_layers",
  "model.dropout",
  "training.learning_rate",
  "training.batch_size",
  "training.epochs",
  "training.steps",
  "training.max_time",
  "model.width",
  "model.cell",
  "training.patience",
  "model.smoothing",
  "model.season",
  "training.seed",
];
const LEARNING = [
  "training.learning_rate",
  "training.batch_size",
  "training.patience",
  "training.epochs",
  "training.steps",
];

/** Options by their full names: {"model.hidden" → {…option, models: ["recurrent"]}}. */
export function optionsOf(found, task, chosen) {
  const all = new Map();
  const add = (table, options = [], model) => {
    for (const option of options) {
      const full = `${table}.${option.name}`;
      if (all.has(full)) all.get(full).models?.push(model);
      else if (option.name !== "name" && full !== "data.train")
        all.set(full, { ...option, full, table, models: model && [model] });
    }
  };
  for (const model of found.models) if (chosen.includes(model.name)) add("model", model.options, model.name);
  add("training", found.training);
  add("task", task?.options);
  add("data", found.data);
  return all;
}

/** The six that are most used, of those that apply. */
export function usual(options, learns) {
  const counts = !learns.includes("gradients") && !learns.includes("passes");
  return USUAL.filter((name) => options.has(name) && !(counts && LEARNING.includes(name))).slice(0, 6);
}

/** The field of an option. `changed(full, value)` hears of changes; null means “as it was”. */
export function field(option, value, models, changed) {
  const id = `set-${option.full.replace(".", "-")}`;
  const shown = String(value ?? option.default ?? "");
  const only = option.models?.length < models.length && ` (${option.models.join(", ")} only)`;
  const tell = (raw) =>
    changed(option.full, String(raw).trim() === String(option.default ?? "") ? null : asValue(raw, option.kind));
  const props = { id, "aria-describedby": `${id}-help ${id}-wrong`, dataset: { setting: option.full } };
  const label = option.name.replaceAll("_", " ");
  const isTruth = option.kind === "truth";
  const control = isTruth
    ? h("input", {
        ...props,
        type: "checkbox",
        checked: shown === "true",
        onchange: (event) => tell(event.target.checked),
      })
    : option.choices?.length
      ? h(
          "select",
          { ...props, value: shown, onchange: (event) => tell(event.target.value) },
          option.choices.map((choice) => h("option", { value: choice }, choice)),
        )
      : h("input", {
          ...props,
          type: "text",
          inputmode: { whole: "numeric", number: "decimal" }[option.kind],
          value: shown,
          autocomplete: "off",
          spellcheck: "false",
          oninput: (event) => tell(event.target.value),
        });
  return h(
    ".field",
    { dataset: { field: option.full } },
    isTruth ? h("label.check", control, label) : [h("label", { for: id }, label), control],
    h("p.help", { id: `${id}-help` }, option.help, only),
    h("p.wrong", { id: `${id}-wrong`, hidden: true }),
  );
}

/** Mark the fields that a problem names, and say there what is wrong. */
export function markWrong(root, problem) {
  const lines = problem ? [problem.message, ...(problem.notes ?? [])] : [];
  for (const control of root.querySelectorAll("[data-setting]")) {
    const { setting } = control.dataset;
    // Problems name a setting as “[model] cell = …”, or as “training.steps”.
    const [table, key] = setting.split(".");
    const line = lines.find((words) => words.includes(`[${table}] ${key} `) || words.includes(setting));
    control.setAttribute("aria-invalid", Boolean(line));
    const wrong = control.closest("[data-field]").querySelector(".wrong");
    wrong.hidden = !line;
    wrong.textContent = line?.replace(`[${table}] `, "") ?? "";
  }
}
