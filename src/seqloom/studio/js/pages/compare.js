// Compare runs: metrics with confidence intervals, costs, settings that differ, learning curves, one input for all.
import { clear, h } from "../dom.js";
import { get, isAborted, post, problemBox } from "../api.js";
import { navigate, path } from "../route.js";
import { loading } from "../shell/loading.js";
import { drawCurves } from "../compare/curves.js";
import { compareInputs } from "../compare/inputs.js";
import { settingsDiff, metricTable, metricsByGroup } from "../compare/metrics.js";

export const title = "Compare";

export async function show(main, route, signal) {
  const { runs } = await get("/runs", { signal }),
    available = runs.filter((run) => run.has_weights);
  const chosen = (route.query.get("runs") || "")
    .split(",")
    .map((id) => available.find((run) => run.id === id))
    .filter(Boolean);
  main.append(h("h1", "Compare"), picker(available, chosen));
  if (chosen.length < 2) return void main.append(emptyState(available.length, chosen.length));
  const sections = ["Metrics", "Curves", "The same input"].map((name) => h("section", { "aria-label": name }));
  main.append(...sections);
  drawCurves(sections[1], chosen, signal);
  compareInputs(sections[2], chosen, signal);
  return loadComparison(sections[0], chosen, signal);
}

function picker(available, chosen) {
  const to = (runs) => navigate(path("compare", null, { runs: runs.map((run) => run.id).join(",") }));
  const others = available.filter((run) => !chosen.includes(run) && run.task === (chosen[0] ?? run).task);
  return h(
    ".row",
    chosen.map((run) =>
      h(
        "span.chosen-run",
        h("a", { href: path("run", run.id) }, run.id),
        h(
          "button",
          {
            class: "quiet small",
            "aria-label": `Remove ${run.id}`,
            on: { click: () => to(chosen.filter((one) => one !== run)) },
          },
          "✕",
        ),
      ),
    ),
    others.length > 0 &&
      h(
        "select",
        {
          "aria-label": "Add a run",
          on: { change: (event) => to([...chosen, available.find((run) => run.id === event.target.value)]) },
        },
        h("option", { value: "" }, "Add a run…"),
        others.map((run) => h("option", { value: run.id }, `${run.id} (${run.model})`)),
      ),
  );
}

function emptyState(count, chosen) {
  const status =
    count < 2
      ? ["There is no finished run yet.", "You have one."][count]
      : chosen
        ? "Pick one more."
        : `You have ${count}.`;
  return h(
    ".card.compare-empty",
    h(
      "p",
      `Pick two runs to compare. ${status} `,
      count < 2 &&
        h("a", { href: count ? "/train" : "/" }, count ? "Train a baseline: it takes seconds" : "Train one first"),
    ),
  );
}

async function loadComparison(section, runs, signal) {
  clear(section);
  try {
    const comparison = await loading(
      section,
      post("/compare", { runs: runs.map((run) => run.id), limit: 200 }, { signal }),
      { height: 260, sentence: "Evaluating all runs on the same examples; this takes a while the first time." },
    );
    section.append(
      h("p.verdict", comparison.verdict),
      metricTable(comparison),
      h(
        "ul.figure-notes",
        (comparison.notes || []).map((note) => h("li", note)),
      ),
      settingsDiff(comparison),
      metricsByGroup(comparison) || "",
    );
  } catch (problem) {
    if (!isAborted(problem)) section.append(problemBox(problem, () => loadComparison(section, runs, signal)));
  }
}
