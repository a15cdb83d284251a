// A recipe in a URL: /train?data=…&task=…&models=a,b&training.max_steps=200.

const SETTING = /^(data|task|model|training)\.\w+$/;

/** The query of the Train page for a data set, a task, models and settings. */
export function query({ dataset, task, models, settings = {} }) {
  const base = { data: dataset?.id ?? dataset, task, models: models?.join(",") };
  const pairs = [...Object.entries(base), ...Object.entries(settings)];
  return new URLSearchParams(pairs.filter(([, value]) => value != null && value !== "")).toString();
}

/** The settings in a query, converted to the types of their options: {"training.max_steps": 200}. */
export function settingsOf(params, options) {
  return Object.fromEntries(
    [...params]
      .filter(([name]) => SETTING.test(name))
      .map(([name, text]) => [name, asValue(text, options.get(name)?.kind)]),
  );
}

/** A text converted to the type of its option; if it cannot be, it stays a text and the server reports it. */
export function asValue(text, kind) {
  if (kind === "truth") return String(text) === "true";
  const value = Number(text);
  return ["whole", "number"].includes(kind) && String(text).trim() && Number.isFinite(value) ? value : text;
}
