// A recipe in a URL: /train?data=…&task=…&models=a,b&training.max_steps=200&b:model.dropout=0.3. The settings of one
// model have its name in front.

const SETTING = /^(?:([\w-]+):)?((?:data|task|model|training)\.\w+)$/;

/** The query of the Train page for a data set, a task, models, settings of all, and those of each model. */
export function query({ dataset, task, models, settings = {}, own = {} }) {
  const base = { data: dataset?.id ?? dataset, task, models: models?.join(",") };
  const owned = Object.entries(own).flatMap(([model, ones]) =>
    Object.entries(ones).map(([name, value]) => [`${model}:${name}`, value]),
  );
  const pairs = [...Object.entries(base), ...Object.entries(settings), ...owned];
  return new URLSearchParams(pairs.filter(([, value]) => value != null && value !== "")).toString();
}

/**
 * The settings in a query, converted to the types of their options: {settings: {"training.max_steps": 200}, own:
 * {recurrent: {"model.dropout": 0.3}}}.
 */
export function settingsOf(params, options) {
  const found = { settings: {}, own: {} };
  for (const [key, text] of params) {
    const [, model, name] = SETTING.exec(key) ?? [];
    if (name) (model ? (found.own[model] ??= {}) : found.settings)[name] = asValue(text, options.get(name)?.kind);
  }
  return found;
}

/** The recipes of an example, as the server describes it: a request body for each of its models. */
export const exampleRecipes = ({ task, dataset, models, settings }) =>
  models.map((model) => ({ task, data: dataset?.id ?? dataset, model, settings: settings[model] }));

/** The same recipes for the Train page: the settings that all models share, and those of each. */
export function exampleQuery({ task, dataset, models, settings }) {
  const isShared = ([name, value]) =>
    models.every((model) => JSON.stringify(settings[model][name]) === JSON.stringify(value));
  const pick = (model, keep) => Object.fromEntries(Object.entries(settings[model]).filter(keep));
  return query({
    dataset,
    task,
    models,
    settings: pick(models[0], isShared),
    own: Object.fromEntries(models.map((model) => [model, pick(model, (pair) => !isShared(pair))])),
  });
}

/** A text converted to the type of its option; if it cannot be, it stays a text and the server reports it. */
export function asValue(text, kind) {
  if (kind === "truth") return String(text) === "true";
  const value = Number(text);
  return ["whole", "number"].includes(kind) && String(text).trim() && Number.isFinite(value) ? value : text;
}
