// A field for an option of a constructor: its kind decides how, its help says what for.

import { h } from "../dom.js";
import { asValue } from "../shell/recipes.js";

// The settings people change most, in this order; those that apply come first on the page.
const USUAL = [
  "model.order", "model.hidden", "model.states", "model.layers", "model.encoder_layers", "model.dropout",
  "training.learning_rate", "training.batch_size", "training.epochs", "training.steps", "training.max_time",
  "model.width", "model.cell", "training.patience", "model.smoothing", "model.season", "training.seed",
];
const GRADIENTS = new Set(["training.learning_rate", "training.batch_size", "training.patience", "training.epochs", "training.steps"]);

/** Options by their full names: {"model.hidden": {…option, models: ["recurrent"]}}. */
export function optionsOf(found, task, chosen) {
  const all = new Map();
  const add = (table, option, model) => {
    const name = `${table}.${option.name}`;
    if (option.name === "name" || name === "data.train") return;
    const known = all.get(name);
    if (known) known.models?.push(model);
    else all.set(name, { ...option, full: name, table, models: model ? [model] : undefined });
  };
  for (const model of found.models.filter((one) => chosen.includes(one.name)))
    for (const option of model.options ?? []) add("model", option, model.name);
  for (const option of found.training ?? []) add("training", option);
  for (const option of task?.options ?? []) add("task", option);
  for (const option of found.data ?? []) add("data", option);
  for (const option of all.values()) option.alone = option.models?.length < chosen.length;
  return all;
}

/** The six that are most used, of those that apply. */
export function usual(options, learns) {
  const fits = (name) => options.has(name) && (learns.has("gradients") || learns.has("passes") || !GRADIENTS.has(name));
  return USUAL.filter(fits).slice(0, 6);
}

/** The field of an option. `changed(full, value)` hears of changes; null means “as it was”. */
export function field(option, value, changed) {
  const id = `set-${option.full.replace(".", "-")}`;
  const shown = value ?? option.default;
  const help = h("p.help", { id: `${id}-help` }, option.help ?? "", option.alone ? ` (${option.models.join(", ")} only)` : "");
  const wrong = h("p.wrong", { id: `${id}-wrong`, hidden: true });
  const tell = (raw) => changed(option.full, same(raw, option) ? null : asValue(raw, option.kind));
  const common = { id, "aria-describedby": `${id}-help ${id}-wrong`, dataset: { setting: option.full } };
  const box = h(".field", { dataset: { field: option.full } });
  if (option.kind === "truth") {
    const check = h("input", { ...common, type: "checkbox", checked: shown === true || shown === "true", on: { change: (event) => tell(event.target.checked) } });
    box.append(h("label.check", check, label(option)), help, wrong);
    return box;
  }
  const control = option.kind === "choice" || option.choices?.length
    ? h("select", { ...common, value: String(shown), on: { change: (event) => tell(event.target.value) } }, option.choices.map((choice) => h("option", { value: String(choice) }, String(choice))))
    : h("input", { ...common, type: "text", inputmode: { whole: "numeric", number: "decimal" }[option.kind], value: shown == null ? "" : String(shown), autocomplete: "off", spellcheck: "false", on: { input: (event) => tell(event.target.value) } });
  box.append(h("label", { for: id }, label(option)), control, help, wrong);
  return box;
}

function label(option) {
  return option.name.replaceAll("_", " ");
}

function same(raw, option) {
  return String(raw).trim() === String(option.default ?? "");
}

/** Mark the fields that a problem names, and say there what is wrong. */
export function markWrong(root, problem) {
  const lines = problem ? [problem.message, ...(problem.notes ?? [])] : [];
  for (const control of root.querySelectorAll("[data-setting]")) {
    const [table, key] = control.dataset.setting.split(".");
    // Problems name a setting as “[model] cell = …”, or as “training.steps”.
    const line = lines.find((words) => words.includes(`[${table}] ${key} `) || words.includes(control.dataset.setting));
    control.setAttribute("aria-invalid", String(Boolean(line)));
    const wrong = control.closest("[data-field]").querySelector(".wrong");
    wrong.hidden = !line;
    wrong.textContent = line?.replace(`[${table}] `, "") ?? "";
  }
}
