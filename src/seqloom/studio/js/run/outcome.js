// The outcome of a run and the next actions: one box for each state.

import { h, icon } from "../dom.js";
import { post, Problem, problemBox, url } from "../api.js";
import { navigate, path } from "../route.js";
import { duration, number } from "../shell/format.js";

/** The box of a run that is not running. `act(fn)` returns an event handler that shows errors of `fn`. */
export function outcomeBox(run, history, act) {
  const box = { finished, stopped, diverged, crashed, vanished, damaged, waiting }[run.state]?.(run, history, act);
  if (box) box.dataset.ending = run.state;
  return box;
}

function finished(run, history) {
  const early = history.end?.reason === "no improvement" && " Early stopping: validation had not improved.";
  return h(
    ".notice.good",
    h(
      "p",
      h("strong", bestText(run, history)),
      early,
      run.seconds != null && ` Training took ${duration(run.seconds)}.`,
    ),
    testText(run.test),
    h(".row", links(run, "primary")),
  );
}

const stopped = (run, history, act) =>
  h(
    ".notice.warm",
    h(
      "p",
      h("strong", `Stopped at step ${number(history.step)}.`),
      ` ${bestText(run, history)} A checkpoint is saved; training can be resumed.`,
    ),
    h(".row", resumeButton(run, act, "Resume"), links(run)),
  );

function diverged(run, history, act) {
  const rate = run.recipe?.training?.learning_rate;
  const smaller = rate && Number((rate / 10).toPrecision(3));
  const settings = smaller ? { "training.learning_rate": smaller } : {};
  return h(
    ".stack",
    problemBox(new Problem({ title: "Training diverged", ...run.error, ...(history.end?.problem && history.end) })),
    h(
      ".row",
      smaller &&
        h(
          "button.primary",
          { dataset: { act: "again" }, onclick: act(() => restart(run, settings)) },
          `Restart with learning rate ${smaller}`,
        ),
      run.can_resume &&
        h(
          "button",
          { dataset: { act: "continue" }, onclick: act(() => resume(run, settings)) },
          "Resume from the last checkpoint",
          smaller && " with it",
        ),
      links(run),
    ),
  );
}

function crashed(run) {
  const { log = [], exit_code: code } = run.job ?? {};
  const message = `Training ended with exit code ${code ?? "unknown"}${log.length ? `: ${log.at(-1)}` : ""}`;
  return h(
    ".stack",
    problemBox(new Problem(run.error ?? { problem: message })),
    log.length > 0 &&
      h("details", h("summary", `The last ${log.length} lines of the log`), h("pre.log", log.join("\n"))),
    h(
      ".row",
      h("a.button", { href: path("train", null, { from: run.id }) }, "Change the settings and train again"),
      links(run),
    ),
  );
}

function vanished(run, history, act) {
  const step = history.checkpoint ?? run.checkpoint_step;
  return h(
    ".notice.warm",
    h(
      "p",
      h("strong", "The training process is gone (killed, or the machine was shut down). "),
      step == null ? "There is no checkpoint." : `Last checkpoint: step ${number(step)}.`,
    ),
    h(".row", resumeButton(run, act, step == null ? "Start again" : "Resume from there"), links(run)),
  );
}

const damaged = (run) =>
  problemBox(new Problem(run.error ?? { problem: "The recipe of this run cannot be read; its folder is damaged." }));

const waiting = () => h(".notice", h("p", h("strong", "Queued: "), "it starts when the training before it has ended."));

function bestText(run, history) {
  const step = history.best?.step ?? run.best_step;
  if (step == null)
    return history.evaluations.length ? "No evaluation is the best." : "There was no evaluation.";
  if (!run.metric) return `The weights of step ${number(step)} are kept: there were no validation examples.`;
  return `Best at step ${number(step)}: ${run.metric_title ?? run.metric} ${run.best_shown ?? number(history.best?.[run.metric])}.`;
}

function testText(test) {
  const metrics = Object.entries(test ?? {}).map(([name, one]) => [
    one?.title ?? name.replaceAll("_", " "),
    one?.shown ?? one?.value ?? one,
  ]);
  const parts = metrics
    .filter(([, value]) => ["string", "number"].includes(typeof value))
    .map(([name, value]) => `${name} ${typeof value === "number" ? number(value) : value}`);
  return parts.length > 0 && h("p", `On the test set: ${parts.join(", ")}.`);
}

function links(run, kind = "") {
  const link = (text, href, name, style) => h("a.button", { class: style, href }, name && icon(name), text);
  return (
    run.has_weights && [
      link("Look inside", path("inside", run.id), "search", kind),
      link("Try it", path("try", run.id), "play"),
      link("Compare", path("compare", null, { runs: [run.id, ...(run.siblings ?? [])].slice(0, 4).join(",") })),
      link("Model card", path("models", run.id)),
    ]
  );
}

const resumeButton = (run, act, text) =>
  run.can_resume &&
  h("button.primary", { dataset: { act: "continue" }, onclick: act(() => resume(run)) }, icon("play"), text);

const resume = (run, settings = {}) => post(url`/runs/${run.id}:resume`, { settings });

// Train the same recipe with other settings, as a new run.
async function restart(run, settings) {
  const { runs } = await post("/runs", { recipes: [{ toml: run.toml, settings }] });
  navigate(path("run", runs[0]));
}
