// Request bodies of the Train page, validation of recipes, and the command for them.

import { isAborted, post } from "../api.js";

/** One recipe for each chosen model: request bodies for :check and for POST /runs. */
export function recipeBodies({ task, data, models, settings, own = {} }, options) {
  // An option of one model is not sent to models that do not have it.
  const ofModel = (model) =>
    Object.entries({ ...settings, ...own[model] }).filter(
      ([name]) => options.get(name)?.models?.includes(model) ?? true,
    );
  return models.map((model) => ({ task, model, settings: Object.fromEntries(ofModel(model)), ...(data && { data }) }));
}

/** Validate all recipes: {results, problem}; stops at the first problem. */
export async function checkRecipes(bodies, signal) {
  const results = [];
  try {
    for (const body of bodies) results.push(await post("/recipes:check", body, { signal }));
    return { results };
  } catch (problem) {
    return { results, problem: isAborted(problem) ? null : problem };
  }
}

/** One command if only the model differs; else one line for each. */
export function commandOf(results) {
  const model = / (?:-m|--model) (\S+)/;
  const lines = results.map((result) => result.command);
  const isSame =
    lines.length > 1 && new Set(lines.map((line) => line.replace(model, ""))).size === 1 && model.test(lines[0]);
  return isSame
    ? lines[0].replace(model, lines.map((line) => ` -m ${model.exec(line)[1]}`).join(""))
    : lines.join("\n");
}

/** The settings in the tables of a recipe that differ from their defaults. */
export function nonDefault(tables, options) {
  const all = Object.entries(tables).flatMap(([table, values]) =>
    Object.entries(values ?? {}).map(([key, value]) => [`${table}.${key}`, value]),
  );
  return Object.fromEntries(
    all.filter(
      ([name, value]) => options.has(name) && JSON.stringify(value) !== JSON.stringify(options.get(name).default),
    ),
  );
}
