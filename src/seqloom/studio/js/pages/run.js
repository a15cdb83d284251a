// A run, live: state, curves, samples, diagnostics, and the next actions when it ends.

import { announce, h, icon, put, section, write } from "../dom.js";
import { del, events, get, isAborted, post, problemBox, url } from "../api.js";
import { navigate, onRouteChange, path } from "../route.js";
import { loading } from "../shell/loading.js";
import { capital, count, duration, number, percent, short } from "../shell/format.js";
import { levelBadge, stateBadge } from "../shell/badges.js";
import { command } from "../shell/copy.js";
import { confirmDialog } from "../shell/dialogs.js";
import { AXES, curveControls, curves, SMOOTH } from "../run/curves.js";
import { diagnostics } from "../run/health.js";
import { outcomeBox } from "../run/outcome.js";
import { samples } from "../run/samples.js";
import { TrainingHistory } from "../run/history.js";

export const title = (route) => route.id;
export const listens = true;
const KINDS = ["start", "resume", "train", "eval", "sample", "checkpoint", "warn", "end"];
const REDRAW_MS = 250; // at most four updates of the page per second
const BATCH_MS = 3000;
const NO_METRIC = ["t", "kind", "step", "epoch", "best", "seconds", "symbols"];

/** Fill the page and keep it up to date until it is left. */
export async function show(main, route, signal) {
  const run = await loading(main, get(url`/runs/${route.id}`, { signal }), { height: 480 });
  const view = new View(main, run, route, signal);
  view.subscribe();
  view.loadCommand();
}

class View {
  history = new TrainingHistory();

  constructor(main, run, route, signal) {
    Object.assign(this, {
      run,
      signal,
      settings: axisOf(route),
      metric: { name: run.metric, title: run.metric_title },
    });
    this.build(main, run);
    onRouteChange(
      (route, how) => {
        if (how !== "back") return;
        Object.assign(this.settings, axisOf(route));
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
    for (const name of ["errorBox", "outcome"]) this[name] = h("div");
    this.batch = h(".row.batch", { "aria-label": "Runs trained one after another" });
    this.lost = h("span.lost", { hidden: true, role: "status" }, "Reconnecting… (training is not affected)");
    this.bar = h("i");
    this.meter = h(
      ".bar.progress",
      { role: "progressbar", "aria-label": "Progress", "aria-valuemin": 0, "aria-valuemax": 100 },
      this.bar,
    );
    this.progress = h("p.number", { dataset: { part: "progress" } });
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
      h(".row.apart", this.progress, this.buttons),
      this.errorBox,
      this.outcome,
      this.batch,
      h(
        ".two",
        h("section.stack", h(".row.apart", h("h2", "Curves"), this.controls), this.curves.first),
        h(".stack", h("section.card", h("h2", "Diagnostics"), this.health), this.samples.element),
      ),
      h("section", this.curves.rest),
      section(
        "The same on the command line",
        this.command,
        run.toml && h("details", h("summary", "The full recipe"), h("pre.log", run.toml)),
        h("p.small", h("a", { href: path("train", null, { from: run.id }) }, "Train another run with these settings")),
      ),
    );
  }

  // Needs the defaults of the model, whose import takes seconds: loaded after everything else.
  async loadCommand() {
    const result = await get(url`/runs/${this.run.id}/command`, { signal: this.signal }).catch(() => ({}));
    put(
      this.command,
      result.command && command(result.command),
      result.missing?.length > 0 &&
        h("p.small.warm", `Missing files, so this command would fail: ${result.missing.join(", ")}`),
    );
  }

  subscribe() {
    const stream = events(url`/runs/${this.run.id}/events`, {
      ...Object.fromEntries(KINDS.map((kind) => [kind, (event) => this.add(event)])),
      state: ({ state }) => this.setState(state),
      open: () => (this.lost.hidden = true),
      lost: () => (this.lost.hidden = false),
      failed: (problem) => put(this.errorBox, problemBox(problem)),
      restarted: () => (this.history = new TrainingHistory()),
    });
    this.signal.addEventListener("abort", () => {
      stream.close();
      clearTimeout(this.timer);
      clearTimeout(this.batchTimer);
    });
  }

  add(event) {
    this.history.add(event);
    this.scheduleDraw();
    if (event.kind !== "eval") return;
    const { name, title } = this.metric;
    if (Date.now() / 1000 - event.t < 15)
      announce(
        `Evaluation at step ${number(event.step)}: ${title ?? name ?? "loss"} ${number(event[name] ?? event.loss)}${event.best ? ", the best so far" : ""}.`,
      );
    // The server knows the title of the metric from the first evaluation on.
    if (!title && !this.isRefreshed) this.refresh((this.isRefreshed = true));
  }

  scheduleDraw() {
    this.timer ||= setTimeout(() => {
      this.timer = 0;
      this.draw();
    }, REDRAW_MS);
  }

  setState(state) {
    if (this.run.state !== state) announce(`${capital(state)}.`);
    this.run.state = state;
    this.scheduleDraw();
    document.dispatchEvent(new CustomEvent("runs-changed"));
    this.refresh();
  }

  async refresh() {
    const { signal } = this;
    try {
      const [run, { runs }] = await Promise.all([get(url`/runs/${this.run.id}`, { signal }), get("/runs", { signal })]);
      // Same task and same metric: comparable.
      run.siblings = runs
        .filter(
          (other) => other.id !== run.id && other.task === run.task && other.metric === run.metric && other.has_weights,
        )
        .map((other) => other.id);
      Object.assign(this.run, run);
      this.drawBatch(runs);
      Object.assign(this.metric, run.metric_title && { name: run.metric, title: run.metric_title });
      this.scheduleDraw();
    } catch (error) {
      if (!isAborted(error) && error.status) put(this.errorBox, problemBox(error));
    }
  }

  // The runs that are trained one after another with this one: asked for again until all are over.
  drawBatch(runs) {
    const batch = (this.run.job?.runs ?? []).map((id) => runs.find((one) => one.id === id)).filter(Boolean),
      isOpen = batch.some(({ id, state }) => id !== this.run.id && ["running", "waiting"].includes(state));
    clearTimeout(this.batchTimer);
    if (isOpen && !this.signal.aborted) this.batchTimer = setTimeout(() => this.refresh(), BATCH_MS);
    put(
      this.batch,
      batch.length > 1 && [
        h("span.muted", "Trained one after another:"),
        batch.map(({ id, name, state }) =>
          h("span.row", id === this.run.id ? h("b", name) : h("a", { href: path("run", id) }, name), stateBadge(state)),
        ),
      ],
    );
  }

  /** The handler of a button; errors are shown above. */
  act = (action) => async (event) => {
    const button = event.currentTarget;
    button.disabled = true;
    put(this.errorBox);
    try {
      await action();
    } catch (problem) {
      if (!isAborted(problem)) put(this.errorBox, problemBox(problem));
    }
    button.disabled = false;
  };

  draw() {
    const { run, history } = this;
    const isRunning = run.state === "running";
    const key = JSON.stringify([
      run.state,
      run.can_resume,
      run.has_weights,
      run.siblings,
      isRunning || [history.end, history.checkpoint, history.best?.step, run.best_shown],
    ]);
    // A control that is being pressed is not re-rendered: it would lose the click.
    const isPressed = [this.buttons, this.outcome].some((part) => part.matches(":active"));
    if (this.drawn !== key && isPressed) this.scheduleDraw();
    else if (this.drawn !== key) {
      this.drawn = key;
      put(this.state, stateBadge(run.state));
      put(this.buttons, this.actions());
      put(this.outcome, outcomeBox(run, history, this.act));
    }
    const pace = history.pace;
    const done = Math.round(100 * (run.state === "finished" ? 1 : (pace.progress ?? run.progress ?? 0)));
    this.bar.style.width = `${done}%`;
    this.meter.ariaValueNow = done;
    write(this.progress, progressText(run, history, pace));
    const { examples } = history.start ?? {},
      size = run.learned ?? history.start?.size; // what the server counts in the finished model
    write(
      this.size,
      `${size ? ` · ${number(size)} parameters` : ""}${examples?.train ? ` · ${count(examples.train, "example")}` : ""}`,
    );
    this.metric.name ??= Object.keys(history.evaluations[0] ?? {}).find((name) => !NO_METRIC.includes(name));
    this.curves.draw(history);
    this.samples.draw(history);
    this.drawDiagnostics();
  }

  drawDiagnostics() {
    const messages = diagnostics(this.history, this.run.recipe?.training, this.metric);
    const key = JSON.stringify(messages);
    if (this.diagnosticsKey === key) return;
    this.diagnosticsKey = key;
    put(
      this.health,
      messages.map(({ level, text }) =>
        h("li", level === "good" ? h("span.good", icon("finished")) : levelBadge(level), " ", text),
      ),
    );
  }

  actions() {
    const {
      act,
      run: { id, name, state },
    } = this;
    const confirmDelete = (title, yes) =>
      confirmDialog({ title, yes, text: `The folder of ${name}, with its weights and curves, will be deleted.` });
    const button = (kind, label, action, ...icons) =>
      h(
        `button${kind}`,
        { dataset: { act: label.split(" ").at(-1).toLowerCase() }, onclick: act(action) },
        icons,
        label,
      );
    const stop = async (discard) => {
      if (discard && !(await confirmDelete("Stop and discard?", "Stop and discard"))) return;
      await post(url`/runs/${id}:stop`, { discard });
      document.dispatchEvent(new CustomEvent("runs-changed"));
      if (discard) navigate("/");
    };
    const remove = async () => {
      if (!(await confirmDelete(`Delete ${name}?`, "Delete"))) return;
      await del(url`/runs/${id}`);
      navigate("/");
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

function progressText({ state, seconds, recipe }, history, { progress, epoch, speed, left: remaining }) {
  const { max_steps: steps, epochs } = recipe?.training ?? {};
  const isRunning = state === "running";
  // Closed-form training, and training limited by time or steps, ends before the last epoch.
  const totalEpochs = history.end?.reason === "finished" && epoch < epochs ? null : epochs;
  return [
    isRunning && progress != null && percent(progress),
    history.step > 0 && `step ${number(history.step)}${steps ? ` of ${number(steps)}` : ""}`,
    epoch != null &&
      `epoch ${number(Math.round(10 * epoch) / 10)}${totalEpochs && !steps ? ` of ${number(totalEpochs)}` : ""}`,
    isRunning && !history.end && speed > 0 && `${short(speed)} tokens/s`,
    isRunning && !history.end && (remaining != null ? `${duration(remaining)} left` : history.step ? "time left unknown" : "Starting…"),
    !isRunning && state !== "waiting" && seconds != null && `took ${duration(seconds)}`,
  ]
    .filter(Boolean)
    .join(" · ");
}
