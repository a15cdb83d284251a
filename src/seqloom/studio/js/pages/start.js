// The start page: upload a file, paste a text, or choose an example; below, the list of runs.

import { h, icon, put, dataTable, taskIcon } from "../dom.js";
import { get, isAborted, post, problemBox, url } from "../api.js";
import { navigate, path } from "../route.js";
import { loading } from "../shell/loading.js";
import { ago, duration, percent } from "../shell/format.js";
import { sparkline, stateBadge } from "../shell/badges.js";
import { dropZone } from "../shell/dropzone.js";
import { exampleQuery, exampleRecipes } from "../shell/recipes.js";

export const title = "Train";

/** Fill the page. */
export async function show(main, route, signal) {
  const [runsBox, examplesBox] = [h("section", { hidden: true }), h("section")];
  const drop = dropZone({ paste: route.query.has("paste"), signal, done: (data) => navigate(path("data", data.id)) });
  main.append(
    h("h1", "Train a sequence model on your own file."),
    drop,
    runsBox,
    examplesBox,
    h("p.muted.last", "Nothing is uploaded anywhere. Everything runs on this computer."),
  );
  const examples = get("/examples", { signal });
  examples.catch(() => {});
  const { runs } = await loading(examplesBox, get("/runs", { signal }), { height: 260 });
  drop.classList.toggle("small-drop", runs.length > 0);
  if (runs.length) showRuns(runsBox, runs);
  pollRuns(runsBox, signal);
  put(
    examplesBox,
    h("h2", runs.length ? "Examples" : "No file? Try one of these"),
    h("p.muted", "Each trains in about a minute on a laptop."),
  );
  try {
    const { examples: all } = await loading(examplesBox, examples, { height: 240 });
    examplesBox.append(
      h(
        ".grid",
        all.map((example) => exampleCard(example, signal)),
      ),
    );
  } catch (problem) {
    if (!isAborted(problem)) examplesBox.append(problemBox(problem));
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
    dataTable(
      [
        "Run .name",
        "Task .hide-narrow",
        "Model .hide-narrow",
        "State",
        "Best .number",
        "Curve .hide-narrow",
        "Updated .hide-narrow muted",
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
  sparkline(run.curve, `${run.metric_title ?? "metric"} over ${run.curve?.length} evaluations`),
  ago(run.age),
];

// Polls the list of runs, more often while one is running.
function pollRuns(box, signal) {
  let timer = 0;
  signal.addEventListener("abort", () => clearTimeout(timer));
  const schedule = (ms) => (timer = setTimeout(refresh, ms));
  const refresh = async () => {
    const { runs = [] } = await get("/runs", { signal }).catch(() => ({}));
    if (signal.aborted) return;
    if (runs.length && !box.contains(document.activeElement)) showRuns(box, runs);
    schedule(runs.some((run) => ["running", "waiting"].includes(run.state)) ? 3000 : 6000);
  };
  schedule(3000);
}

function exampleCard(example, signal) {
  const message = h("div");
  const button = (label, then, kind, ...icons) =>
    h(
      "button.small",
      {
        class: kind,
        onclick: async (event) => {
          const pressed = event.currentTarget;
          pressed.disabled = true;
          try {
            await then(await post(url`/examples/${example.name}`, {}, { signal }));
          } catch (problem) {
            if (!isAborted(problem)) put(message, problemBox(problem));
          }
          pressed.disabled = false;
        },
      },
      icons,
      label,
    );
  const time = example.seconds == null ? "about a minute" : `about ${duration(Math.max(1, example.seconds))} here`;
  return h(
    "article.card.example",
    { dataset: { example: example.name } },
    h("h3", taskIcon(example.form ?? example.task), example.title),
    h("p.small", example.sentence),
    h("p.small.muted", time, example.source === "made" && " · synthetic data"),
    h(
      ".row",
      button("Train it", train, "primary", icon("play")),
      button("Settings", settings, "quiet"),
      button("Data", showData, "quiet"),
    ),
    message,
  );
}

const idOf = ({ dataset }) => dataset?.id ?? dataset;

// The page shows the first run, which begins at once; it leads on to the others.
async function train(chosen) {
  const { runs } = await post("/runs", { recipes: exampleRecipes(chosen) });
  document.dispatchEvent(new CustomEvent("runs-changed"));
  navigate(path("run", runs[0]));
}

const settings = (chosen) => navigate(`/train?${exampleQuery(chosen)}`);

const showData = (chosen) =>
  idOf(chosen) ? navigate(path("data", idOf(chosen), { task: chosen.task })) : settings(chosen);
