// How a run ended, and what to do next: one box for each state.

import { h, icon } from "../dom.js";
import { at, post, Problem, problemBox } from "../api.js";
import { go, path } from "../address.js";
import { duration, number } from "../shell/words.js";

/** The box of a run that is not running. `act(fn)` makes a handler that shows what goes wrong. */
export function ending(run, story, act) {
  const box = { finished, stopped, diverged, crashed, vanished, damaged, waiting }[run.state]?.(run, story, act);
  if (box) box.dataset.ending = run.state;
  return box;
}

function finished(run, story) {
  const early =
    story.end?.reason === "no improvement" && " Early stopping ended it: validation had not improved for a while.";
  return h(
    ".notice.good",
    h(
      "p",
      h("strong", bestWords(run, story)),
      early,
      run.seconds != null && ` Training took ${duration(run.seconds)}.`,
    ),
    testWords(run.test),
    h(".row", links(run, "primary")),
  );
}

const stopped = (run, story, act) =>
  h(
    ".notice.warm",
    h(
      "p",
      h("strong", `Stopped at step ${number(story.step)}.`),
      ` ${bestWords(run, story)} Everything is kept; training can go on from here.`,
    ),
    h(".row", goOn(run, act, "Continue"), links(run)),
  );

function diverged(run, story, act) {
  const rate = run.recipe?.training?.learning_rate;
  const smaller = rate && Number((rate / 10).toPrecision(3));
  const settings = smaller ? { "training.learning_rate": smaller } : {};
  return h(
    ".stack",
    problemBox(new Problem({ title: "Training diverged", ...run.error, ...(story.end?.problem && story.end) })),
    h(
      ".row",
      smaller &&
        h(
          "button.primary",
          { dataset: { act: "again" }, onclick: act(() => restart(run, settings)) },
          `Start again with learning rate ${smaller}`,
        ),
      run.can_resume &&
        h(
          "button",
          { dataset: { act: "continue" }, onclick: act(() => resume(run, settings)) },
          "Continue from the last good checkpoint",
          smaller && " with it",
        ),
      links(run),
    ),
  );
}

function crashed(run) {
  const { log = [], exit_code: code } = run.job ?? {};
  const said = `Training ended with exit code ${code ?? "unknown"}${log.length ? `: ${log.at(-1)}` : ""}`;
  return h(
    ".stack",
    problemBox(new Problem(run.error ?? { problem: said })),
    log.length > 0 && h("details", h("summary", `The last ${log.length} lines it wrote`), h("pre.log", log.join("\n"))),
    h(
      ".row",
      h("a.button", { href: path("train", null, { from: run.id }) }, "Change its settings and train again"),
      links(run),
    ),
  );
}

function vanished(run, story, act) {
  const step = story.checkpoint ?? run.checkpoint_step;
  return h(
    ".notice.warm",
    h(
      "p",
      h("strong", "The training process is gone (killed, or the machine slept). "),
      step == null ? "It left no checkpoint." : `Last checkpoint: step ${number(step)}.`,
    ),
    h(".row", goOn(run, act, step == null ? "Start it again" : "Continue from there"), links(run)),
  );
}

const damaged = (run) =>
  problemBox(new Problem(run.error ?? { problem: "The recipe of this run cannot be read; its folder is damaged." }));

const waiting = () =>
  h(".notice", h("p", h("strong", "Waiting: "), "it begins when the training before it has ended."));

function bestWords(run, story) {
  const step = story.best?.step ?? run.best_step;
  return step == null
    ? "There was no evaluation."
    : `Best at step ${number(step)}: ${run.metric_title ?? run.metric ?? "score"} ${run.best_shown ?? number(story.best?.[run.metric])}.`;
}

function testWords(test) {
  const words = Object.entries(test ?? {}).map(([name, one]) => [
    one?.title ?? name.replaceAll("_", " "),
    one?.shown ?? one?.value ?? one,
  ]);
  const told = words
    .filter(([, value]) => ["string", "number"].includes(typeof value))
    .map(([name, value]) => `${name} ${typeof value === "number" ? number(value) : value}`);
  return told.length > 0 && h("p", `On the test part: ${told.join(", ")}.`);
}

function links(run, kind = "") {
  const link = (words, href, name, style) => h("a.button", { class: style, href }, name && icon(name), words);
  return (
    run.has_weights && [
      link("Look inside", path("inside", run.id), "search", kind),
      link("Try it", path("try", run.id), "play"),
      link("Compare", path("compare", null, { runs: [run.id, ...(run.siblings ?? [])].slice(0, 4).join(",") })),
      link("Model card", path("models", run.id)),
    ]
  );
}

const goOn = (run, act, words) =>
  run.can_resume &&
  h("button.primary", { dataset: { act: "continue" }, onclick: act(() => resume(run)) }, icon("play"), words);

const resume = (run, settings = {}) => post(at`/runs/${run.id}:resume`, { settings });

// The same recipe with other settings, as a run of its own.
async function restart(run, settings) {
  const { runs } = await post("/runs", { recipes: [{ toml: run.toml, settings }] });
  go(path("run", runs[0]));
}
