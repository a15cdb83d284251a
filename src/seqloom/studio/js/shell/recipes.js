// A recipe in the address: /train?data=…&task=…&models=a,b&training.steps=200.

const TABLES = ["data", "task", "model", "training"];

/** Whether a name of the query is a setting, such as training.steps. */
export function isSetting(name) {
  const [table, key] = name.split(".");
  return Boolean(key) && TABLES.includes(table);
}

/** The query of the Train page for a data set, a task, models and settings. */
export function query({ dataset, task, models = [], settings = {} }) {
  const found = new URLSearchParams();
  if (dataset) found.set("data", dataset.id ?? dataset);
  if (task) found.set("task", task);
  if (models.length) found.set("models", models.join(","));
  for (const [name, value] of Object.entries(settings)) if (isSetting(name)) found.set(name, value);
  return found.toString();
}

/** The settings of a query, as the options' kinds say: {"training.steps": 200}. */
export function settingsOf(params, kinds = {}) {
  const found = {};
  for (const [name, text] of params) if (isSetting(name)) found[name] = asValue(text, kinds[name]);
  return found;
}

/** A value as its kind says; what cannot be one stays a text, and the server says what is wrong. */
export function asValue(text, kind) {
  if (kind === "truth") return text === "true" || text === true;
  if (kind === "whole" || kind === "number") {
    const value = Number(text);
    return String(text).trim() !== "" && Number.isFinite(value) ? value : text;
  }
  return text;
}
