// Form fields for options: the type of an option decides the control.

import { h } from "../dom.js";
import { asValue } from "../shell/recipes.js";

// The most used options, in the order of the page.
const COMMON = [
  "model.order",
  "model.hidden_size",
  "model.states",
  "model.num_layers",
  "model.encoder_layers",
  "model.dropout",
  "training.learning_rate",
  "training.batch_size",
  "training.epochs",
  "training.max_steps",
  "training.max_time",
  "model.embedding_size",
  "model.cell",
  "training.patience",
  "model.smoothing",
  "model.season",
  "training.seed",
];
const GRADIENT_ONLY = [
  "training.learning_rate",
  "training.batch_size",
  "training.patience",
  "training.epochs",
  "training.max_steps",
];

/** Options by full name: {"model.hidden_size" → {…option, models: ["recurrent"]}}. */
export function optionsOf(available, task, chosen) {
  const all = new Map();
  const add = (table, options = [], model) => {
    for (const option of options) {
      const full = `${table}.${option.name}`;
      if (all.has(full)) all.get(full).models?.push(model);
      else if (option.name !== "name" && full !== "data.train")
        all.set(full, { ...option, full, table, models: model && [model] });
    }
  };
  for (const model of available.models) if (chosen.includes(model.name)) add("model", model.options, model.name);
  add("training", available.training);
  add("task", task?.options);
  add("data", available.data);
  return all;
}

/** The six most used options among those that apply. */
export function commonOptions(options, learns) {
  const isClosedForm = !learns.includes("gradients") && !learns.includes("passes");
  return COMMON.filter((name) => options.has(name) && !(isClosedForm && GRADIENT_ONLY.includes(name))).slice(0, 6);
}

/**
 * The field of an option, of all `models`, or of one alone. `changed(full, value, alone)` is called on changes; null
 * stands for the default.
 */
export function field(option, value, models, changed, alone) {
  const id = `set-${option.full.replace(".", "-")}${alone ? `-${alone}` : ""}`;
  const shown = String(value ?? option.default ?? "");
  const only = !alone && option.models?.length < models.length && ` (${option.models.join(", ")} only)`;
  const report = (raw) =>
    changed(option.full, String(raw).trim() === String(option.default ?? "") ? null : asValue(raw, option.kind), alone);
  const props = { id, "aria-describedby": `${id}-help ${id}-wrong`, dataset: { setting: option.full } };
  const label = `${option.name.replaceAll("_", " ")}${alone ? ` of ${alone}` : ""}`;
  const isTruth = option.kind === "truth";
  const control = isTruth
    ? h("input", {
        ...props,
        type: "checkbox",
        checked: shown === "true",
        onchange: (event) => report(event.target.checked),
      })
    : option.choices?.length
      ? h(
          "select",
          { ...props, value: shown, onchange: (event) => report(event.target.value) },
          option.choices.map((choice) => h("option", { value: choice }, choice)),
        )
      : h("input", {
          ...props,
          type: "text",
          inputmode: { whole: "numeric", number: "decimal" }[option.kind],
          value: shown,
          autocomplete: "off",
          spellcheck: "false",
          oninput: (event) => report(event.target.value),
        });
  return h(
    ".field",
    { dataset: { field: option.full } },
    isTruth ? h("label.check", control, label) : [h("label", { for: id }, label), control],
    h("p.help", { id: `${id}-help` }, option.help, only),
    h("p.wrong", { id: `${id}-wrong`, hidden: true }),
  );
}

/** Mark the fields that an error names, with its message. */
export function markInvalid(root, problem) {
  const lines = problem ? [problem.message, ...(problem.notes ?? [])] : [];
  for (const control of root.querySelectorAll("[data-setting]")) {
    const { setting } = control.dataset;
    // Errors name a setting as “[model] cell = …” or as “training.max_steps”.
    const [table, key] = setting.split(".");
    const line = lines.find((text) => text.includes(`[${table}] ${key} `) || text.includes(setting));
    control.setAttribute("aria-invalid", Boolean(line));
    const wrong = control.closest("[data-field]").querySelector(".wrong");
    wrong.hidden = !line;
    wrong.textContent = line?.replace(`[${table}] `, "") ?? "";
  }
}
