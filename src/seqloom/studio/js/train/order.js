// What the Train page asks the server: is this recipe right, what is it on the command line, train it.

import { left, post } from "../api.js";

/** The recipes of a choice, one for each model: bodies for :check and for POST /runs. */
export function recipes({ task, data, models, settings }, options) {
  // A setting of one model is not told to another that has no such option.
  const own = (model) =>
    Object.entries(settings).filter(([name]) => options.get(name)?.models?.includes(model) ?? true);
  return models.map((model) => ({ task, model, settings: Object.fromEntries(own(model)), ...(data && { data }) }));
}

/** Check all recipes: {answers, problem}; the first problem ends it. */
export async function checked(bodies, signal) {
  const answers = [];
  try {
    for (const body of bodies) answers.push(await post("/recipes:check", body, { signal }));
    return { answers };
  } catch (problem) {
    return { answers, problem: left(problem) ? null : problem };
  }
}

/** One command for several models where only the model differs; else one line for each. */
export function commandOf(answers) {
  const model = / (?:-m|--model) (\S+)/;
  const lines = answers.map((answer) => answer.command);
  const isSame =
    lines.length > 1 && new Set(lines.map((line) => line.replace(model, ""))).size === 1 && model.test(lines[0]);
  return isSame
    ? lines[0].replace(model, lines.map((line) => ` -m ${model.exec(line)[1]}`).join(""))
    : lines.join("\n");
}

/** Settings that differ from their defaults, out of the tables of a recipe. */
export function differing(tables, options) {
  const all = Object.entries(tables).flatMap(([table, values]) =>
    Object.entries(values ?? {}).map(([key, value]) => [`${table}.${key}`, value]),
  );
  return Object.fromEntries(
    all.filter(
      ([name, value]) => options.has(name) && JSON.stringify(value) !== JSON.stringify(options.get(name).default),
    ),
  );
}
