// Start: drop a file, paste a text, or choose an example; below, the runs there are.

import { h, icon, put, sheet, taskIcon } from "../dom.js";
import { at, get, left, post, problemBox } from "../api.js";
import { go, path } from "../address.js";
import { waiting } from "../shell/waiting.js";
import { ago, duration, percent } from "../shell/words.js";
import { spark, stateBadge } from "../shell/states.js";
import { dropZone } from "../shell/dropping.js";
import { query } from "../shell/recipes.js";

export const title = "Train";

/** Fill the page. */
export async function show(main, place, signal) {
  const [runsBox, examplesBox] = [h("section", { hidden: true }), h("section")];
  const drop = dropZone({ paste: place.query.has("paste"), signal, done: (data) => go(path("data", data.id)) });
  main.append(
    h("h1", "Train a sequence model on your own file."),
    drop,
    runsBox,
    examplesBox,
    h("p.muted.last", "Nothing is uploaded anywhere. Everything runs on this computer."),
  );
  const examples = get("/examples", { signal });
  examples.catch(() => {});
  const { runs } = await waiting(examplesBox, get("/runs", { signal }), { height: 260 });
  drop.classList.toggle("small-drop", runs.length > 0);
  if (runs.length) showRuns(runsBox, runs);
  keepFresh(runsBox, signal);
  put(
    examplesBox,
    h("h2", runs.length ? "Examples" : "No file? Try one of these"),
    h("p.muted", "Each trains in about a minute on a laptop."),
  );
  try {
    const found = await waiting(examplesBox, examples, { height: 240 });
    examplesBox.append(
      h(
        ".grid",
        found.examples.map((example) => exampleCard(example, signal)),
      ),
    );
  } catch (problem) {
    if (!left(problem)) examplesBox.append(problemBox(problem));
  }
}

function showRuns(box, runs) {
  const [{ id, name, state }, second] = runs;
  box.hidden = false;
  put(
    box,
    h(
      ".row.apart",
      h("h2", { id: "runs-title" }, "Your runs"),
      h(
        "a.button.primary",
        { href: path("run", id), dataset: { part: "continue" } },
        icon("right"),
        `${state === "running" ? "Watch" : "Continue with"} ${name}`,
      ),
    ),
    sheet(
      [
        "Run .name",
        "Task .hide-narrow",
        "Model .hide-narrow",
        "State",
        "Best .number",
        "Curve .hide-narrow",
        "Last change .hide-narrow muted",
      ],
      runs.map(runRow),
      { class: "runs" },
    ),
    second &&
      h("p.small", h("a", { href: path("compare", null, { runs: `${id},${second.id}` }) }, "Compare the newest two")),
  );
}

const runRow = (run) => [
  { dataset: { run: run.id } },
  h("a", { href: path("run", run.id) }, run.name),
  run.task,
  run.model,
  h("span.row", stateBadge(run.state), run.state === "running" && h("span.small.number", percent(run.progress))),
  h("span", { title: run.metric_title ?? "" }, run.best_shown ?? "–"),
  spark(run.curve, `${run.metric_title ?? "metric"} over ${run.curve?.length} evaluations`),
  ago(run.age),
];

// The list is asked for anew, more often while something runs.
function keepFresh(box, signal) {
  let timer = 0;
  signal.addEventListener("abort", () => clearTimeout(timer));
  const again = (ms) => (timer = setTimeout(look, ms));
  const look = async () => {
    const { runs = [] } = await get("/runs", { signal }).catch(() => ({}));
    if (signal.aborted) return;
    if (runs.length && !box.contains(document.activeElement)) showRuns(box, runs);
    again(runs.some((run) => ["running", "waiting"].includes(run.state)) ? 3000 : 6000);
  };
  again(3000);
}

function exampleCard(example, signal) {
  const told = h("div");
  const button = (words, then, kind, ...icons) =>
    h(
      "button.small",
      {
        class: kind,
        onclick: async (event) => {
          const pressed = event.currentTarget;
          pressed.disabled = true;
          try {
            await then(await post(at`/examples/${example.name}`, {}, { signal }));
          } catch (problem) {
            if (!left(problem)) put(told, problemBox(problem));
          }
          pressed.disabled = false;
        },
      },
      icons,
      words,
    );
  const time = example.seconds == null ? "about a minute" : `about ${duration(Math.max(1, example.seconds))} here`;
  return h(
    "article.card.example",
    { dataset: { example: example.name } },
    h("h3", taskIcon(example.form ?? example.task), example.title),
    h("p.small", example.sentence),
    h("p.small.muted", time, example.source === "made" && " · data made on the spot"),
    h(
      ".row",
      button("Train it", train, "primary", icon("play")),
      button("Settings", settings, "quiet"),
      button("Data", look, "quiet"),
    ),
    told,
  );
}

const idOf = (chosen) => chosen.dataset?.id ?? chosen.dataset;
const settingsOf = (chosen, model) => chosen.settings?.[model] ?? chosen.settings ?? {};

async function train(chosen) {
  const { task, models } = chosen;
  const { runs } = await post("/runs", {
    recipes: models.map((model) => ({ task, data: idOf(chosen), model, settings: settingsOf(chosen, model) })),
  });
  document.dispatchEvent(new CustomEvent("runs-changed"));
  go(path("run", runs.at(-1)));
}

const settings = (chosen) =>
  go(
    `/train?${query({ ...chosen, settings: Object.assign({}, ...chosen.models.map((model) => settingsOf(chosen, model))) })}`,
  );

const look = (chosen) => (idOf(chosen) ? go(path("data", idOf(chosen), { task: chosen.task })) : settings(chosen));
