// A recipe in the address: /train?data=…&task=…&models=a,b&training.steps=200.

const SETTING = /^(data|task|model|training)\.\w+$/;

/** The query of the Train page for a data set, a task, models and settings. */
export function query({ dataset, task, models, settings = {} }) {
  const named = { data: dataset?.id ?? dataset, task, models: models?.join(",") };
  const pairs = [...Object.entries(named), ...Object.entries(settings)];
  return new URLSearchParams(pairs.filter(([, value]) => value != null && value !== "")).toString();
}

/** The settings of a query, as the options' kinds say: {"training.steps": 200}. */
export function settingsOf(params, options) {
  return Object.fromEntries(
    [...params]
      .filter(([name]) => SETTING.test(name))
      .map(([name, text]) => [name, asValue(text, options.get(name)?.kind)]),
  );
}

/** A value as its kind says; what cannot be one stays a text, and the server says what is wrong. */
export function asValue(text, kind) {
  if (kind === "truth") return String(text) === "true";
  const value = Number(text);
  return ["whole", "number"].includes(kind) && String(text).trim() && Number.isFinite(value) ? value : text;
}
