// Run, live: how it stands, its curves, its samples, its health; and what to do when it ends.

import { announce, h, icon, put, write } from "../dom.js";
import { del, events, get, left, post, problemBox } from "../api.js";
import { go, onChange, path } from "../address.js";
import { waiting } from "../shell/waiting.js";
import { count, duration, number, percent, short } from "../shell/words.js";
import { levelBadge, stateBadge, stateWord } from "../shell/states.js";
import { command } from "../shell/copying.js";
import { confirmed } from "../shell/asking.js";
import { AXES, curveControls, curves, SMOOTH } from "../run/curves.js";
import { ending } from "../run/ending.js";
import { health } from "../run/health.js";
import { samples } from "../run/samples.js";
import { Story } from "../run/story.js";

export const title = (place) => place.id;
export const listens = true;
const KINDS = ["start", "resume", "train", "eval", "sample", "checkpoint", "warn", "end"];
const EVERY = 250; // at most four changes of the page in a second

/** Fill the page and keep it true until it is left. */
export async function show(main, place, signal) {
  const run = await waiting(main, get(`/runs/${encodeURIComponent(place.id)}`, { signal }), { height: 480 });
  const view = new View(main, run, place, signal);
  view.listen();
}

class View {
  constructor(main, run, place, signal) {
    Object.assign(this, { run, signal, story: new Story() });
    this.settings = axisOf(place);
    this.metric = { name: run.metric, title: run.metric_title };
    this.parts = this.build(main, run);
    this.timer = 0;
    onChange((now, how) => how === "back" && this.follow(now), { signal });
    this.draw();
  }

  build(main, run) {
    const parts = {
      state: h("span"), lost: h("span.lost", { hidden: true, role: "status" }, "Reconnecting… (training is not affected)"),
      bar: h("i", { style: { width: "0%" } }), words: h("p.number", { dataset: { part: "progress" } }), buttons: h(".row"),
      told: h("div"), ending: h("div"), health: h("ul.health", { dataset: { part: "health" } }), samples: samples(), siblings: h("p.small"),
    };
    parts.curves = curves(run.id, this.metric, this.settings);
    parts.controls = h("div", curveControls(this.settings, () => this.draw()));
    parts.meter = h(".bar.progress", { role: "progressbar", "aria-label": "Progress", "aria-valuemin": 0, "aria-valuemax": 100 }, parts.bar);
    main.append(
      h(".run-head", h("h1", run.name ?? run.id), parts.state, parts.lost),
      h("p.muted", { style: { margin: "4px 0 0" } }, `${run.task} · ${run.model}`, parts.size = h("span")),
      parts.meter, h(".row.apart", parts.words, parts.buttons), parts.told, parts.ending, parts.siblings,
      h(".two",
        h("section.stack", { "aria-labelledby": "curves-title" },
          h(".row.apart", h("h2", { id: "curves-title", style: { margin: 0 } }, "Curves"), parts.controls), parts.curves.first),
        h(".stack",
          h("section.card", { "aria-labelledby": "health-title" }, h("h2", { id: "health-title" }, "Health"), parts.health), parts.samples.element)),
      h("section", { "aria-label": "More curves" }, parts.curves.rest), this.about(run));
    return parts;
  }

  about(run) {
    return h("section", h("h2", "The same on the command line"),
      run.command && command(run.command),
      run.toml && h("details", h("summary", "The whole recipe"), h("pre.log", run.toml)),
      h("p.small", { style: { marginTop: "10px" } }, h("a", { href: path("train", null, { from: run.id }) }, "Train another with these settings")));
  }

  follow(now) {
    Object.assign(this.settings, axisOf(now));
    put(this.parts.controls, curveControls(this.settings, () => this.draw()));
    this.draw();
  }

  listen() {
    const handlers = Object.fromEntries(KINDS.map((kind) => [kind, (event) => this.hear(event)]));
    this.stream = events(`/runs/${encodeURIComponent(this.run.id)}/events`, {
      ...handlers,
      state: ({ state }) => this.change(state),
      open: () => (this.parts.lost.hidden = true),
      lost: () => (this.parts.lost.hidden = false),
      failed: (problem) => put(this.parts.told, problemBox(problem)),
      again: () => (this.story = new Story()),
    });
    this.signal.addEventListener("abort", () => {
      this.stream.close();
      clearTimeout(this.timer);
    });
  }

  hear(event) {
    this.story.add(event);
    if (event.kind === "eval" && Date.now() / 1000 - event.t < 15) this.announceEvaluation(event);
    // How the metric is called is known from the first evaluation on.
    if (event.kind === "eval" && !this.metric.title && !this.asked) {
      this.asked = true;
      this.refresh();
    }
    this.soon();
  }

  announceEvaluation(event) {
    const { name, title: words } = this.metric;
    announce(`Evaluation at step ${number(event.step)}: ${words ?? name ?? "loss"} ${number(event[name] ?? event.loss)}${event.best ? ", the best so far" : ""}.`);
  }

  soon() {
    this.timer ||= setTimeout(() => {
      this.timer = 0;
      this.draw();
    }, EVERY);
  }

  change(state) {
    const before = this.run.state;
    this.run.state = state;
    if (before !== state) announce(`${stateWord(state)}.`);
    this.soon();
    document.dispatchEvent(new CustomEvent("runs-changed"));
    this.refresh();
  }

  async refresh() {
    try {
      const run = await get(`/runs/${encodeURIComponent(this.run.id)}`, { signal: this.signal });
      const { runs } = await get("/runs", { signal: this.signal });
      // Same task, and judged the same way: worth comparing with.
      run.siblings = runs.filter((other) => other.id !== run.id && other.task === run.task && other.metric === run.metric && other.has_weights).map((other) => other.id);
      Object.assign(this.run, run);
      this.metric.name ??= run.metric;
      this.metric.title ??= run.metric_title;
      this.soon();
    } catch (error) {
      if (!left(error) && error.status) put(this.parts.told, problemBox(error));
    }
  }

  /** Run an action of a button; what goes wrong is shown above. */
  act = (action) => async (event) => {
    const button = event.currentTarget;
    button.disabled = true;
    put(this.parts.told);
    try {
      await action();
    } catch (problem) {
      if (!left(problem)) put(this.parts.told, problemBox(problem));
    }
    button.disabled = false;
  };

  draw() {
    const { parts, run, story } = this;
    const key = `${run.state}/${story.end?.step}/${run.can_resume}/${run.has_weights}/${run.siblings?.length}/${run.state !== "running" && [story.checkpoint, story.best?.step, run.best_shown]}`;
    if (parts.shown !== key) {
      parts.shown = key;
      put(parts.state, stateBadge(run.state));
      put(parts.buttons, ...this.buttons());
      put(parts.ending, ending(run, story, this.act));
    }
    this.drawProgress();
    this.metric.name ??= firstMetric(story);
    parts.curves.draw(story);
    parts.samples.draw(story);
    this.drawHealth();
  }

  drawProgress() {
    const { parts, run, story } = this;
    const pace = story.pace;
    const done = run.state === "finished" ? 1 : (pace.progress ?? run.progress ?? 0);
    parts.bar.style.width = `${100 * done}%`;
    parts.meter.setAttribute("aria-valuenow", Math.round(100 * done));
    write(parts.words, progressWords(run, story, pace));
    const size = story.start?.size ?? run.learned;
    const examples = story.start?.examples?.train;
    write(parts.size, [size ? ` · ${number(size)} weights` : "", examples ? ` · ${count(examples, "example")}` : ""].join(""));
  }

  drawHealth() {
    const found = health(this.story, this.run.recipe?.training, this.metric);
    const key = JSON.stringify(found);
    if (this.parts.healthKey === key) return;
    this.parts.healthKey = key;
    put(this.parts.health, found.map(({ level, text }) => h("li", { dataset: { level } }, level === "good" ? h("span.good", icon("finished"), " ") : [levelBadge(level), " "], text)));
  }

  buttons() {
    const { run, act } = this;
    const id = encodeURIComponent(run.id);
    const words = (discard) => ({ title: discard ? "Stop and discard?" : "", text: `The folder of ${run.name ?? run.id}, with its weights and curves, will be deleted.`, yes: "Stop and discard" });
    const stop = (discard) => async () => {
      if (discard && !(await confirmed(words(true)))) return;
      await post(`/runs/${id}:stop`, { discard });
      document.dispatchEvent(new CustomEvent("runs-changed"));
      if (discard) go("/");
    };
    const remove = async () => {
      if (!(await confirmed({ ...words(true), title: `Delete ${run.name ?? run.id}?`, yes: "Delete" }))) return;
      await del(`/runs/${id}`);
      go("/");
    };
    if (run.state === "running" || run.state === "waiting") return [
      h("button", { dataset: { act: "stop" }, on: { click: act(stop(false)) } }, icon("stopped"), "Stop and keep"),
      h("button", { class: "quiet danger", dataset: { act: "discard" }, on: { click: act(stop(true)) } }, "Stop and discard"),
    ];
    return [h("button", { class: "quiet danger small", dataset: { act: "delete" }, on: { click: act(remove) } }, "Delete")];
  }
}

function axisOf(place) {
  const axis = place.query.get("x");
  const smooth = Number(place.query.get("smooth") ?? SMOOTH);
  return { axis: AXES[axis] ? axis : "step", smooth: smooth >= 0 && smooth <= 0.95 ? smooth : SMOOTH };
}

function firstMetric(story) {
  const first = story.evaluations[0];
  return first && Object.keys(first).find((name) => !["t", "kind", "step", "epoch", "best", "seconds", "symbols"].includes(name));
}

function progressWords(run, story, pace) {
  const training = run.recipe?.training ?? {};
  const words = [];
  if (story.step) {
    const total = training.steps || (pace.progress > 0 && run.state === "running" ? null : 0);
    words.push(`step ${number(story.step)}${total ? ` of ${number(total)}` : ""}`);
  }
  if (pace.epoch != null) words.push(`pass ${number(Math.round(10 * pace.epoch) / 10)}${training.epochs && !training.steps ? ` of ${number(training.epochs)}` : ""}`);
  if (run.state !== "running") {
    if (run.seconds != null && run.state !== "waiting") words.push(`took ${duration(run.seconds)}`);
    return words.join(" · ");
  }
  if (pace.progress != null) words.unshift(percent(pace.progress));
  if (pace.speed) words.push(`${short(pace.speed)} symbols/s`);
  words.push(pace.left != null ? `${duration(pace.left)} left` : words.length ? "time left not known yet" : "Starting…");
  return words.join(" · ");
}
