// Run, live: how it stands, its curves, its samples, its health; and what to do when it ends.

import { announce, h, icon, put, section, write } from "../dom.js";
import { at, del, events, get, left, post, problemBox } from "../api.js";
import { go, onChange, path } from "../address.js";
import { waiting } from "../shell/waiting.js";
import { capital, count, duration, number, percent, short } from "../shell/words.js";
import { levelBadge, stateBadge } from "../shell/states.js";
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
const NO_METRIC = ["t", "kind", "step", "epoch", "best", "seconds", "symbols"];

/** Fill the page and keep it true until it is left. */
export async function show(main, place, signal) {
  const run = await waiting(main, get(at`/runs/${place.id}`, { signal }), { height: 480 });
  const view = new View(main, run, place, signal);
  view.listen();
  view.tellCommand();
}

class View {
  story = new Story();

  constructor(main, run, place, signal) {
    Object.assign(this, {
      run,
      signal,
      settings: axisOf(place),
      metric: { name: run.metric, title: run.metric_title },
    });
    this.build(main, run);
    onChange(
      (now, how) => {
        if (how !== "back") return;
        Object.assign(this.settings, axisOf(now));
        put(
          this.controls,
          curveControls(this.settings, () => this.draw()),
        );
        this.draw();
      },
      { signal },
    );
    this.draw();
  }

  build(main, run) {
    for (const name of ["state", "size"]) this[name] = h("span");
    for (const name of ["told", "ending"]) this[name] = h("div");
    this.lost = h("span.lost", { hidden: true, role: "status" }, "Reconnecting… (training is not affected)");
    this.bar = h("i");
    this.meter = h(
      ".bar.progress",
      { role: "progressbar", "aria-label": "Progress", "aria-valuemin": 0, "aria-valuemax": 100 },
      this.bar,
    );
    this.words = h("p.number", { dataset: { part: "progress" } });
    this.buttons = h(".row");
    this.health = h("ul.health", { dataset: { part: "health" } });
    this.curves = curves(run.id, this.metric, this.settings);
    this.controls = h(
      "div",
      curveControls(this.settings, () => this.draw()),
    );
    this.samples = samples();
    this.command = h("div");
    main.append(
      h(".run-head", h("h1", run.name), this.state, this.lost),
      h("p.muted", `${run.task} · ${run.model}`, this.size),
      this.meter,
      h(".row.apart", this.words, this.buttons),
      this.told,
      this.ending,
      h(
        ".two",
        h("section.stack", h(".row.apart", h("h2", "Curves"), this.controls), this.curves.first),
        h(".stack", h("section.card", h("h2", "Health"), this.health), this.samples.element),
      ),
      h("section", this.curves.rest),
      section(
        "The same on the command line",
        this.command,
        run.toml && h("details", h("summary", "The whole recipe"), h("pre.log", run.toml)),
        h("p.small", h("a", { href: path("train", null, { from: run.id }) }, "Train another with these settings")),
      ),
    );
  }

  // The defaults of the model decide what it has to say, so it comes after all else.
  async tellCommand() {
    const found = await get(at`/runs/${this.run.id}/command`, { signal: this.signal }).catch(() => ({}));
    put(
      this.command,
      found.command && command(found.command),
      found.missing?.length > 0 &&
        h("p.small.warm", `No longer there, so it would not train now: ${found.missing.join(", ")}`),
    );
  }

  listen() {
    const stream = events(at`/runs/${this.run.id}/events`, {
      ...Object.fromEntries(KINDS.map((kind) => [kind, (event) => this.hear(event)])),
      state: ({ state }) => this.change(state),
      open: () => (this.lost.hidden = true),
      lost: () => (this.lost.hidden = false),
      failed: (problem) => put(this.told, problemBox(problem)),
      again: () => (this.story = new Story()),
    });
    this.signal.addEventListener("abort", () => {
      stream.close();
      clearTimeout(this.timer);
    });
  }

  hear(event) {
    this.story.add(event);
    this.soon();
    if (event.kind !== "eval") return;
    const { name, title: words } = this.metric;
    if (Date.now() / 1000 - event.t < 15)
      announce(
        `Evaluation at step ${number(event.step)}: ${words ?? name ?? "loss"} ${number(event[name] ?? event.loss)}${event.best ? ", the best so far" : ""}.`,
      );
    // How the metric is called is known from the first evaluation on.
    if (!words && !this.asked) this.refresh((this.asked = true));
  }

  soon() {
    this.timer ||= setTimeout(() => {
      this.timer = 0;
      this.draw();
    }, EVERY);
  }

  change(state) {
    if (this.run.state !== state) announce(`${capital(state)}.`);
    this.run.state = state;
    this.soon();
    document.dispatchEvent(new CustomEvent("runs-changed"));
    this.refresh();
  }

  async refresh() {
    const { signal } = this;
    try {
      const [run, { runs }] = await Promise.all([get(at`/runs/${this.run.id}`, { signal }), get("/runs", { signal })]);
      // Same task, and judged the same way: worth comparing with.
      run.siblings = runs
        .filter(
          (other) => other.id !== run.id && other.task === run.task && other.metric === run.metric && other.has_weights,
        )
        .map((other) => other.id);
      Object.assign(this.run, run);
      Object.assign(this.metric, run.metric_title && { name: run.metric, title: run.metric_title });
      this.soon();
    } catch (error) {
      if (!left(error) && error.status) put(this.told, problemBox(error));
    }
  }

  /** The handler of a button; what goes wrong is shown above. */
  act = (action) => async (event) => {
    const button = event.currentTarget;
    button.disabled = true;
    put(this.told);
    try {
      await action();
    } catch (problem) {
      if (!left(problem)) put(this.told, problemBox(problem));
    }
    button.disabled = false;
  };

  draw() {
    const { run, story } = this;
    const isOn = run.state === "running";
    const key = JSON.stringify([
      run.state,
      run.can_resume,
      run.has_weights,
      run.siblings,
      isOn || [story.end, story.checkpoint, story.best?.step, run.best_shown],
    ]);
    // What is being pressed stays until it is let go: drawn anew, it would lose the click.
    const isPressed = [this.buttons, this.ending].some((part) => part.matches(":active"));
    if (this.drawn !== key && isPressed) this.soon();
    else if (this.drawn !== key) {
      this.drawn = key;
      put(this.state, stateBadge(run.state));
      put(this.buttons, this.actions());
      put(this.ending, ending(run, story, this.act));
    }
    const pace = story.pace;
    const done = Math.round(100 * (run.state === "finished" ? 1 : (pace.progress ?? run.progress ?? 0)));
    this.bar.style.width = `${done}%`;
    this.meter.ariaValueNow = done;
    write(this.words, progressWords(run, story, pace));
    const { size = run.learned, examples } = story.start ?? {};
    write(
      this.size,
      `${size ? ` · ${number(size)} weights` : ""}${examples?.train ? ` · ${count(examples.train, "example")}` : ""}`,
    );
    this.metric.name ??= Object.keys(story.evaluations[0] ?? {}).find((name) => !NO_METRIC.includes(name));
    this.curves.draw(story);
    this.samples.draw(story);
    this.drawHealth();
  }

  drawHealth() {
    const found = health(this.story, this.run.recipe?.training, this.metric);
    const key = JSON.stringify(found);
    if (this.told.health === key) return;
    this.told.health = key;
    put(
      this.health,
      found.map(({ level, text }) =>
        h("li", level === "good" ? h("span.good", icon("finished")) : levelBadge(level), " ", text),
      ),
    );
  }

  actions() {
    const {
      act,
      run: { id, name, state },
    } = this;
    const gone = (title, yes) =>
      confirmed({ title, yes, text: `The folder of ${name}, with its weights and curves, will be deleted.` });
    const button = (kind, words, action, ...icons) =>
      h(
        `button${kind}`,
        { dataset: { act: words.split(" ").at(-1).toLowerCase() }, onclick: act(action) },
        icons,
        words,
      );
    const stop = async (discard) => {
      if (discard && !(await gone("Stop and discard?", "Stop and discard"))) return;
      await post(at`/runs/${id}:stop`, { discard });
      document.dispatchEvent(new CustomEvent("runs-changed"));
      if (discard) go("/");
    };
    const remove = async () => {
      if (!(await gone(`Delete ${name}?`, "Delete"))) return;
      await del(at`/runs/${id}`);
      go("/");
    };
    if (!["running", "waiting"].includes(state)) return button(".quiet.danger.small", "Delete", remove);
    return [
      button("", "Stop and keep", () => stop(false), icon("stopped")),
      button(".quiet.danger", "Stop and discard", () => stop(true)),
    ];
  }
}

function axisOf({ query }) {
  const smooth = Number(query.get("smooth") ?? SMOOTH);
  return {
    axis: AXES.find((axis) => axis === query.get("x")) ?? "step",
    smooth: smooth >= 0 && smooth <= 0.95 ? smooth : SMOOTH,
  };
}

function progressWords({ state, seconds, recipe }, story, { progress, epoch, speed, left: rest }) {
  const { steps, epochs } = recipe?.training ?? {};
  const isOn = state === "running";
  // Who counts, or is stopped by time or steps, is done before all passes are made.
  const passes = story.end?.reason === "finished" && epoch < epochs ? null : epochs;
  return [
    isOn && progress != null && percent(progress),
    story.step > 0 && `step ${number(story.step)}${steps ? ` of ${number(steps)}` : ""}`,
    epoch != null && `pass ${number(Math.round(10 * epoch) / 10)}${passes && !steps ? ` of ${number(passes)}` : ""}`,
    isOn && speed > 0 && `${short(speed)} symbols/s`,
    isOn && (rest != null ? `${duration(rest)} left` : story.step ? "time left not known yet" : "Starting…"),
    !isOn && state !== "waiting" && seconds != null && `took ${duration(seconds)}`,
  ]
    .filter(Boolean)
    .join(" · ");
}
