// How a run ended, and what to do next: one box for each state.

import { h, icon } from "../dom.js";
import { post, Problem, problemBox } from "../api.js";
import { go, path } from "../address.js";
import { duration, number } from "../shell/words.js";

/** The box of a run that is not running; null while it is. `again(fn)` runs an action with its errors shown. */
export function ending(run, story, act) {
  const make = { finished, stopped, diverged, crashed, vanished, damaged, waiting }[run.state];
  const box = make?.(run, story, act);
  if (box) box.dataset.ending = run.state;
  return box ?? null;
}

function finished(run, story) {
  const end = story.end;
  const time = run.seconds != null ? ` Training took ${duration(run.seconds)}.` : "";
  const early = end?.reason === "no improvement" ? " Early stopping ended it: validation had not improved for a while." : "";
  return h(".notice.good", h("p", h("strong", bestWords(run, story)), early, time), testWords(run), links(run));
}

function stopped(run, story, act) {
  return h(".notice.warm",
    h("p", h("strong", `Stopped at step ${number(story.step)}.`), ` ${bestWords(run, story)} Everything is kept; training can go on from here.`),
    h(".row", continueButton(run, act, "Continue"), ...linkButtons(run)));
}

function diverged(run, story, act) {
  const end = story.end ?? {};
  const problem = new Problem({ title: "Training diverged", ...(run.error ?? {}), ...(end.problem ? end : {}) });
  const rate = run.recipe?.training?.learning_rate;
  const smaller = rate ? Number((rate / 10).toPrecision(3)) : null;
  return h(".stack", problemBox(problem),
    h(".row",
      smaller && h("button", { class: "primary", dataset: { act: "again" }, on: { click: act(() => restart(run, smaller)) } }, `Start again with learning rate ${smaller}`),
      run.can_resume && h("button", { dataset: { act: "continue" }, on: { click: act(() => resume(run, smaller ? { "training.learning_rate": smaller } : {})) } }, smaller ? "Continue from the last good checkpoint with it" : "Continue from the last good checkpoint"),
      ...linkButtons(run)));
}

function crashed(run) {
  const log = run.job?.log ?? [];
  const code = run.job?.exit_code;
  const reason = run.error ? new Problem({ title: "Training crashed", ...run.error }) : new Problem({ title: "Training crashed", problem: `Training ended with exit code ${code ?? "unknown"}${log.length ? `: ${log.at(-1)}` : ""}` });
  return h(".stack", problemBox(reason),
    log.length > 0 && h("details", h("summary", `The last ${log.length} lines it wrote`), h("pre.log", log.join("\n"))),
    h(".row", h("a.button", { href: path("train", null, { from: run.id }) }, "Change its settings and train again"), ...linkButtons(run)));
}

function vanished(run, story, act) {
  const step = story.checkpoint ?? run.checkpoint_step;
  const place = step == null ? "It left no checkpoint." : `Last checkpoint: step ${number(step)}.`;
  return h(".notice.warm",
    h("p", h("strong", "The training process is gone (killed, or the machine slept). "), place),
    h(".row", run.can_resume !== false && continueButton(run, act, step == null ? "Start it again" : "Continue from there"), ...linkButtons(run)));
}

function damaged(run) {
  return problemBox(new Problem({ title: "This run cannot be read", problem: "The recipe of this run cannot be read; its folder is damaged.", ...(run.error ?? {}) }));
}

function waiting(run) {
  return h(".notice", h("p", h("strong", "Waiting: "), "it begins when the training before it has ended."));
}

function bestWords(run, story) {
  const step = story.best?.step ?? run.best_step;
  if (step == null) return "There was no evaluation.";
  const value = run.best_shown ?? (run.metric && story.best ? number(story.best[run.metric]) : "");
  return `Best at step ${number(step)}: ${run.metric_title ?? run.metric ?? "score"} ${value}.`;
}

function testWords(run) {
  const test = run.test;
  if (!test || typeof test !== "object") return null;
  const shown = Array.isArray(test) ? test.map((one) => [one.title ?? one.name, one.shown ?? one.value]) : Object.entries(test).map(([name, value]) => [name, value?.shown ?? value]);
  const words = shown.filter(([, value]) => typeof value === "string" || typeof value === "number").map(([name, value]) => `${name} ${typeof value === "number" ? number(value) : value}`);
  return words.length ? h("p", `On the test part: ${words.join(", ")}.`) : null;
}

function links(run) {
  return h(".row", ...linkButtons(run, true));
}

function linkButtons(run, isMain = false) {
  if (!run.has_weights) return [];
  return [
    h("a", { class: isMain ? "button primary" : "button", href: path("inside", run.id) }, icon("search"), "Look inside"),
    h("a.button", { href: path("try", run.id) }, icon("play"), "Try it"),
    h("a.button", { href: path("compare", null, { runs: [run.id, ...(run.siblings ?? [])].slice(0, 4).join(",") }) }, "Compare"),
    h("a.button", { href: path("models", run.id) }, "Model card"),
  ];
}

function continueButton(run, act, words) {
  if (run.can_resume === false) return null;
  return h("button", { class: "primary", dataset: { act: "continue" }, on: { click: act(() => resume(run)) } }, icon("play"), words);
}

/** Go on with a run. */
export function resume(run, settings = {}) {
  return post(`/runs/${encodeURIComponent(run.id)}:resume`, { settings });
}

// The same recipe with smaller steps, as a run of its own.
async function restart(run, rate) {
  const recipe = { toml: run.toml, settings: { "training.learning_rate": rate } };
  const { runs } = await post("/runs", { recipes: [recipe] });
  go(path("run", runs[0]));
}
