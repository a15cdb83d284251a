// Training curves of a run, updated live: loss, metric, learning rate, gradient norm, speed.

import { h, write } from "../dom.js";
import { url } from "../api.js";
import { setQuery } from "../route.js";
import { figure } from "../figures/figure.js";
import { lines, linesTable } from "../figures/lines.js";
import { capital, number } from "../shell/format.js";
import { axisTitle, points, smoothed } from "./history.js";

export const AXES = ["step", "symbols", "seconds"];
export const SMOOTH = 0.6;

// The figures in their order: title, caption, series and axes of each.
function plans(history, { axis, smooth }, metric) {
  const [train, evaluations] = [history.of("train"), history.evaluations];
  const loss = points(train, axis, "loss");
  const title = metric.title ?? metric.name;
  const one = (name, colour) => [{ name: "", points: points(train, axis, name), colour }];
  return {
    loss: {
      title: "Loss",
      caption: lossCaption(train, evaluations),
      y: { label: "nats per token" },
      height: 260,
      series: [
        { name: "training", points: loss, smooth: smooth > 0 ? smoothed(loss, smooth) : undefined },
        { name: "validation", points: points(evaluations, axis, "loss"), dots: true },
      ],
    },
    ...(title &&
      title !== "loss" && {
        metric: {
          title: capital(title),
          caption: metricCaption(evaluations, metric.name, capital(title)),
          y: { label: title },
          series: [{ name: "validation", points: points(evaluations, axis, metric.name), dots: true, colour: 1 }],
        },
      }),
    rate: { title: "Learning rate", caption: rateCaption(train), y: { label: "rate" }, series: one("rate", 2) },
    gradient: {
      title: "Gradient norm",
      caption: gradientCaption(train),
      y: { label: "norm", scale: "log", band: [0.01, 10] },
      series: one("gradient", 3),
    },
    speed: {
      title: "Speed",
      caption: speedCaption(train),
      y: { label: "tokens per second" },
      series: one("symbols_per_second", 4),
    },
  };
}

/** The curves: the loss (`first`), the `rest`, and `draw(history)`. */
export function curves(run, metric, settings) {
  const [first, rest] = [h("div"), h(".curves")];
  const made = {};
  function draw(history) {
    const all = plans(history, settings, metric);
    for (const [name, plan] of Object.entries(all)) {
      if (!plan.series.some((line) => line.points.length)) continue;
      made[name] ??= make(name, plan, run);
      made[name].update(plan, settings.axis);
    }
    const order = Object.keys(all)
      .map((name) => made[name]?.frame)
      .filter(Boolean);
    if (order.length !== first.childElementCount + rest.childElementCount)
      for (const frame of order) (frame === made.loss?.frame ? first : rest).append(frame);
  }
  return { first, rest, draw };
}

function make(name, plan, run) {
  let now = { plan, axis: "step" };
  const drawing = lines({ series: plan.series, x: { label: "step" }, y: plan.y, height: plan.height ?? 200 });
  drawing.update({});
  const eventsUrl = `${location.origin}/api/v1${url`/runs/${run}/events`}?kinds=train,eval`;
  const frame = figure({
    id: `curve-${name}`,
    title: plan.title,
    caption: plan.caption,
    drawing,
    table: () => linesTable(now.plan.series, axisTitle(now.axis)),
    json: {
      toJSON: () => ({
        run,
        curve: name,
        x: now.axis,
        series: now.plan.series.map((line) => ({ name: line.name, points: line.points })),
      }),
    },
    curl: `curl -N '${eventsUrl}'`,
    python: `import json, urllib.request\n\nwith urllib.request.urlopen("${eventsUrl}") as events:\n    for line in events:\n        if line.startswith(b"data: "):\n            print(json.loads(line[6:]))\n`,
  });
  function update(next, axis) {
    now = { plan: next, axis };
    drawing.update({ series: next.series, x: { label: axisTitle(axis) }, y: next.y });
    frame.dataset.points = next.series.reduce((sum, line) => sum + line.points.length, 0);
    write(frame.querySelector("figcaption"), next.caption);
    write(frame.querySelector(".figure-title"), next.title);
  }
  return { frame, update };
}

/** Controls for the x axis and the smoothing. */
export function curveControls(settings, changed) {
  const buttons = AXES.map((axis) => h("button", { dataset: { axis }, onclick: () => choose(axis) }, axisTitle(axis)));
  const shown = h("output.number.small", number(settings.smooth));
  const slider = h("input", {
    type: "range",
    id: "smooth",
    min: 0,
    max: 0.95,
    step: 0.05,
    value: settings.smooth,
    oninput: slide,
  });
  const mark = () =>
    buttons.forEach((button) => button.setAttribute("aria-pressed", settings.axis === button.dataset.axis));
  function choose(axis) {
    settings.axis = axis;
    mark();
    setQuery({ x: axis === "step" ? null : axis }, { replace: true });
    changed();
  }
  function slide() {
    settings.smooth = Number(slider.value);
    write(shown, number(settings.smooth));
    setQuery({ smooth: settings.smooth === SMOOTH ? null : settings.smooth }, { replace: true });
    changed();
  }
  mark();
  return h(
    ".row",
    h(".choice", { role: "group", "aria-label": "Horizontal axis" }, buttons),
    h("label.plain.small", { for: "smooth" }, "Smoothing"),
    slider,
    shown,
  );
}

// --- Captions ---------------------------------------------------------------------------------

const known = (events, name) => events.filter((event) => Number.isFinite(event[name]));

function lossCaption(train, evaluations) {
  const logged = known(train, "loss");
  const valid = known(evaluations, "loss").at(-1);
  const parts = [
    logged.length &&
      `the training loss is ${number(logged.at(-1).loss)} at step ${number(logged.at(-1).step)}, from ${number(logged[0].loss)} at step ${number(logged[0].step)}`,
    valid && `the validation loss is ${number(valid.loss)} at step ${number(valid.step)}`,
  ];
  return `${capital(parts.filter(Boolean).join("; "))}.`;
}

function metricCaption(evaluations, name, title) {
  const best = evaluations.findLast((event) => event.best);
  return best
    ? `${title} on validation examples: ${number(evaluations.at(-1)[name])} at step ${number(evaluations.at(-1).step)}; best ${number(best[name])} at step ${number(best.step)}.`
    : "No evaluation yet.";
}

function rateCaption(train) {
  const logged = known(train, "rate");
  const highest = logged.reduce((a, b) => (b.rate > a.rate ? b : a), logged[0]);
  return highest
    ? `The learning rate is ${number(logged.at(-1).rate)} now; its maximum was ${number(highest.rate)} at step ${number(highest.step)}.`
    : "";
}

function gradientCaption(train) {
  const logged = known(train, "gradient"),
    others = train.filter((event) => event.gradient === null).length;
  const healthy = logged.filter((event) => event.gradient >= 0.01 && event.gradient <= 10).length;
  return `${healthy === logged.length ? "All" : `${healthy} of ${logged.length}`} ${others ? "finite " : ""}gradient norms are in the healthy range from 0.01 to 10; the last is ${number(logged.at(-1)?.gradient)}${others ? `; ${others} are not finite` : ""}.`;
}

function speedCaption(train) {
  const speeds = known(train, "symbols_per_second").map((event) => event.symbols_per_second);
  return `On average ${number(Math.round(speeds.reduce((sum, speed) => sum + speed, 0) / speeds.length))} tokens per second.`;
}
