// Compare: what differs, who is better and how surely, curves over seconds, one input through all
// models, where each wins, and what each costs.
import { clear, h } from "../dom.js";
import { get, left, post, problemBox } from "../api.js";
import { go, path } from "../address.js";
import { waiting } from "../shell/waiting.js";
import { drawCurves } from "../compare/curves.js";
import { sameInput } from "../compare/inputs.js";
import { differences, metricTable, whereItWins } from "../compare/metrics.js";

export const title = "Compare";

export async function show(main, now, signal) {
  const { runs } = await get("/runs", { signal }),
    able = runs.filter((run) => run.has_weights);
  const chosen = (now.query.get("runs") || "")
    .split(",")
    .map((id) => able.find((run) => run.id === id))
    .filter(Boolean);
  main.append(h("h1", "Compare"), picker(able, chosen));
  if (chosen.length < 2) return void main.append(emptyState(able.length, chosen.length));
  const sections = ["Metrics", "Curves", "The same input"].map((name) => h("section", { "aria-label": name }));
  main.append(...sections);
  drawCurves(sections[1], chosen, signal);
  sameInput(sections[2], chosen, signal);
  return judge(sections[0], chosen, signal);
}

function picker(able, chosen) {
  const to = (runs) => go(path("compare", null, { runs: runs.map((run) => run.id).join(",") }));
  const others = able.filter((run) => !chosen.includes(run) && run.task === (chosen[0] ?? run).task);
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
            "aria-label": `Take ${run.id} away`,
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
          on: { change: (event) => to([...chosen, able.find((run) => run.id === event.target.value)]) },
        },
        h("option", { value: "" }, "Add a run…"),
        others.map((run) => h("option", { value: run.id }, `${run.id} (${run.model})`)),
      ),
  );
}

function emptyState(count, chosen) {
  const told =
    count < 2
      ? ["There is no finished run yet.", "You have one."][count]
      : chosen
        ? "Pick one more."
        : `You have ${count}.`;
  return h(
    ".card.compare-empty",
    h(
      "p",
      `Pick two runs to compare. ${told} `,
      count < 2 &&
        h("a", { href: count ? "/train" : "/" }, count ? "Train a baseline: it takes seconds" : "Train one first"),
    ),
  );
}

async function judge(section, runs, signal) {
  clear(section);
  try {
    const found = await waiting(
      section,
      post("/compare", { runs: runs.map((run) => run.id), limit: 200 }, { signal }),
      { height: 260, sentence: "All runs answer the same examples; this takes a while the first time." },
    );
    section.append(
      h("p.verdict", found.verdict),
      metricTable(found),
      h(
        "ul.figure-notes",
        (found.notes || []).map((note) => h("li", note)),
      ),
      differences(found),
      whereItWins(found) || "",
    );
  } catch (problem) {
    if (!left(problem)) section.append(problemBox(problem, () => judge(section, runs, signal)));
  }
}
