// Start: drop a file, paste a text, or choose an example; below, the runs there are.

import { h, icon, put, taskIcon } from "../dom.js";
import { get, left, post, problemBox } from "../api.js";
import { go, path } from "../address.js";
import { waiting } from "../shell/waiting.js";
import { ago, duration, percent } from "../shell/words.js";
import { spark, stateBadge } from "../shell/states.js";
import { dropZone } from "../shell/dropping.js";
import { query } from "../shell/recipes.js";

export const title = "Train";

/** Fill the page. */
export async function show(main, place, signal) {
  const runsBox = h("section", { "aria-labelledby": "runs-title", hidden: true });
  const examplesBox = h("section", { "aria-labelledby": "examples-title" });
  const heading = h("h1", "Train a sequence model on your own file.");
  const drop = dropZone({ paste: place.query.has("paste"), signal, done: (data) => go(path("data", data.id)) });
  main.append(heading, drop, runsBox, examplesBox,
    h("p.muted", { style: { marginTop: "24px" } }, "Nothing is uploaded anywhere. Everything runs on this computer."));
  const runs = get("/runs", { signal });
  const examples = get("/examples", { signal });
  examples.catch(() => {});
  const listed = (await waiting(examplesBox, runs, { height: 260 })).runs;
  if (listed.length) {
    drop.classList.add("small-drop");
    showRuns(runsBox, listed);
  }
  keepFresh(runsBox, signal);
  await showExamples(examplesBox, examples, listed.length > 0, signal);
}

// --- Runs -------------------------------------------------------------------------------------

function showRuns(box, runs) {
  box.hidden = false;
  const newest = runs[0];
  put(box,
    h(".row.apart", { style: { marginBottom: "8px" } },
      h("h2", { id: "runs-title", style: { margin: 0 } }, "Your runs"),
      h("a.button.primary", { href: path("run", newest.id), dataset: { part: "continue" } }, icon("right"), newest.state === "running" ? `Watch ${newest.name}` : `Continue with ${newest.name}`)),
    h(".table-box", h("table.runs",
      h("thead", h("tr", ["Run", "Task", "Model", "State", "Best", "Curve", "Last change"].map((name, i) => h("th", { scope: "col", class: ["", "hide-narrow", "hide-narrow", "", "number", "hide-narrow", "hide-narrow"][i] }, name)))),
      h("tbody", runs.map(runRow)))),
    runs.length > 1 && h("p.small", { style: { marginTop: "8px" } }, h("a", { href: path("compare", null, { runs: runs.slice(0, 2).map((run) => run.id).join(",") }) }, "Compare the newest two")));
}

function runRow(run) {
  const state = h("span.row", { style: { gap: "6px" } }, stateBadge(run.state), run.state === "running" && h("span.small.number", percent(run.progress)));
  return h("tr", { dataset: { run: run.id } },
    h("td.name", h("a", { href: path("run", run.id) }, run.name ?? run.id)),
    h("td.hide-narrow", run.task),
    h("td.hide-narrow", run.model),
    h("td", state),
    h("td.number", { title: run.metric_title ?? run.metric ?? "" }, run.best_shown ?? "–"),
    h("td.hide-narrow", spark(run.curve, `${run.metric_title ?? "metric"} over ${run.curve?.length ?? 0} evaluations`)),
    h("td.hide-narrow.muted", ago(run.age)));
}

// The list is asked for anew while something runs, and seldom when nothing does.
function keepFresh(box, signal) {
  let timer = 0;
  const again = (ms) => (timer = setTimeout(look, ms));
  const look = async () => {
    try {
      const { runs } = await get("/runs", { signal });
      if (!box.contains(document.activeElement) && runs.length) showRuns(box, runs);
      again(runs.some((run) => run.state === "running" || run.state === "waiting") ? 3000 : 6000);
    } catch (error) {
      if (!left(error)) again(6000);
    }
  };
  again(3000);
  signal.addEventListener("abort", () => clearTimeout(timer));
}

// --- Examples ---------------------------------------------------------------------------------

async function showExamples(box, promise, hasRuns, signal) {
  put(box, h("h2", { id: "examples-title" }, hasRuns ? "Examples" : "No file? Try one of these"),
    h("p.muted", "Each trains in about a minute on a laptop."));
  try {
    const { examples } = await waiting(box, promise, { height: 240 });
    box.append(h(".grid", examples.map((example) => exampleCard(example, signal))));
  } catch (problem) {
    if (!left(problem)) box.append(problemBox(problem));
  }
}

function exampleCard(example, signal) {
  const told = h("div", { role: "alert" });
  const choose = (then) => async (event) => {
    const button = event.currentTarget;
    button.disabled = true;
    put(told);
    try {
      await then(await post(`/examples/${encodeURIComponent(example.name)}`, {}, { signal }), example);
    } catch (problem) {
      if (!left(problem)) put(told, problemBox(problem));
      button.disabled = false;
    }
  };
  return h("article.card.example", { dataset: { example: example.name } },
    h("h3", taskIcon(example.form ?? example.task), example.title),
    h("p.small", example.sentence),
    h("p.small.muted", timeWords(example.seconds), example.source === "made" ? " · data made on the spot" : ""),
    h(".row",
      h("button", { class: "primary small", on: { click: choose(train) } }, icon("play"), "Train it"),
      h("button", { class: "small quiet", on: { click: choose(settings) } }, "Settings"),
      h("button", { class: "small quiet", on: { click: choose(look) } }, "Data")),
    told);
}

/** "about 70 s here" where it was measured on this machine. */
export function timeWords(seconds) {
  return seconds == null ? "about a minute" : `about ${duration(Math.max(1, seconds))} here`;
}

async function train(chosen) {
  const recipes = chosen.models.map((model) => ({
    task: chosen.task,
    data: chosen.dataset,
    model,
    settings: chosen.settings?.[model] ?? chosen.settings ?? {},
  }));
  const { runs } = await post("/runs", { recipes });
  document.dispatchEvent(new CustomEvent("runs-changed"));
  go(path("run", runs.at(-1)));
}

function settings(chosen) {
  go(`/train?${query(chosen)}`);
}

function look(chosen) {
  go(chosen.dataset ? path("data", chosen.dataset, { task: chosen.task }) : `/train?${query(chosen)}`);
}

