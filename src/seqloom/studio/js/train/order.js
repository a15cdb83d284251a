// What the Train page asks the server: is this recipe right, what is it on the command line, train it.

import { post } from "../api.js";

/** The recipes of a choice, one for each model: bodies for :check and for POST /runs. */
export function recipes(choice, options) {
  return choice.models.map((model) => {
    const settings = {};
    for (const [name, value] of Object.entries(choice.settings)) {
      const option = options.get(name);
      // A setting of one model is not told to another that has no such option.
      if (!option?.models || option.models.includes(model)) settings[name] = value;
    }
    const body = { task: choice.task, model, settings };
    if (choice.data) body.data = choice.data;
    return body;
  });
}

/** Check all recipes: {answers, problem}; the first problem ends it. */
export async function checked(bodies, signal) {
  const answers = [];
  for (const body of bodies) {
    try {
      answers.push(await post("/recipes:check", body, { signal }));
    } catch (problem) {
      if (problem.name === "AbortError") throw problem;
      return { answers, problem };
    }
  }
  return { answers, problem: null };
}

/** One command for several models where only the model differs; else one line for each. */
export function commandOf(answers) {
  const lines = answers.map((answer) => answer.command);
  const model = / (?:-m|--model) (\S+)/;
  const bare = new Set(lines.map((line) => line.replace(model, "")));
  if (lines.length < 2 || bare.size > 1 || !lines.every((line) => model.test(line))) return lines.join("\n");
  return lines[0].replace(model, lines.map((line) => ` -m ${model.exec(line)[1]}`).join(""));
}

/** Settings that differ from their defaults, out of the tables of a recipe. */
export function differing(tables, options) {
  const found = {};
  for (const [table, values] of Object.entries(tables))
    for (const [key, value] of Object.entries(values ?? {})) {
      const option = options.get(`${table}.${key}`);
      if (option && JSON.stringify(value) !== JSON.stringify(option.default)) found[`${table}.${key}`] = value;
    }
  return found;
}
