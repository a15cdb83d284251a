// The curves of a run: loss, metric, learning rate, gradient, speed; figures that follow the story.

import { h, write } from "../dom.js";
import { at } from "../api.js";
import { set } from "../address.js";
import { figure } from "../figures/figure.js";
import { lines, linesTable } from "../figures/lines.js";
import { capital, number } from "../shell/words.js";
import { points, smoothed } from "./story.js";

export const AXES = ["step", "symbols", "seconds"];
export const SMOOTH = 0.6;

// What each figure shows: its series, its words, its scale; in the order in which they stand.
function plans(story, { axis, smooth }, metric) {
  const [train, evaluations] = [story.of("train"), story.evaluations];
  const loss = points(train, axis, "loss");
  const title = metric.title ?? metric.name;
  const one = (name, colour) => [{ name: "", points: points(train, axis, name), colour }];
  return {
    loss: {
      title: "Loss",
      caption: lossWords(train, evaluations),
      y: { label: "nats per symbol" },
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
          caption: metricWords(evaluations, metric.name, capital(title)),
          y: { label: title },
          series: [{ name: "validation", points: points(evaluations, axis, metric.name), dots: true, colour: 1 }],
        },
      }),
    rate: { title: "Learning rate", caption: rateWords(train), y: { label: "rate" }, series: one("rate", 2) },
    gradient: {
      title: "Gradient norm",
      caption: gradientWords(train),
      y: { label: "norm", scale: "log", band: [0.01, 10] },
      series: one("gradient", 3),
    },
    speed: {
      title: "Speed",
      caption: speedWords(train),
      y: { label: "symbols per second" },
      series: one("symbols_per_second", 4),
    },
  };
}

/** The curves: the loss (`first`), the `rest`, and `draw(story)`. */
export function curves(run, metric, settings) {
  const [first, rest] = [h("div"), h(".curves")];
  const made = {};
  function draw(story) {
    const found = plans(story, settings, metric);
    for (const [name, plan] of Object.entries(found)) {
      if (!plan.series.some((line) => line.points.length)) continue;
      made[name] ??= make(name, plan, run);
      made[name].follow(plan, settings.axis);
    }
    const order = Object.keys(found)
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
  const address = `${location.origin}/api/v1${at`/runs/${run}/events`}?kinds=train,eval`;
  const frame = figure({
    id: `curve-${name}`,
    title: plan.title,
    caption: plan.caption,
    drawing,
    table: () => linesTable(now.plan.series, now.axis),
    json: {
      toJSON: () => ({
        run,
        curve: name,
        x: now.axis,
        series: now.plan.series.map((line) => ({ name: line.name, points: line.points })),
      }),
    },
    curl: `curl -N '${address}'`,
    python: `import json, urllib.request\n\nwith urllib.request.urlopen("${address}") as events:\n    for line in events:\n        if line.startswith(b"data: "):\n            print(json.loads(line[6:]))\n`,
  });
  function follow(next, axis) {
    now = { plan: next, axis };
    drawing.update({ series: next.series, x: { label: axis }, y: next.y });
    frame.dataset.points = next.series.reduce((sum, line) => sum + line.points.length, 0);
    write(frame.querySelector("figcaption"), next.caption);
    write(frame.querySelector(".figure-title"), next.title);
  }
  return { frame, follow };
}

/** The controls: which x, and how smooth. */
export function curveControls(settings, changed) {
  const buttons = AXES.map((axis) => h("button", { dataset: { axis }, onclick: () => choose(axis) }, axis));
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
    set({ x: axis === "step" ? null : axis }, { replace: true });
    changed();
  }
  function slide() {
    settings.smooth = Number(slider.value);
    write(shown, number(settings.smooth));
    set({ smooth: settings.smooth === SMOOTH ? null : settings.smooth }, { replace: true });
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

// --- Sentences --------------------------------------------------------------------------------

const known = (events, name) => events.filter((event) => Number.isFinite(event[name]));

function lossWords(train, evaluations) {
  const told = known(train, "loss");
  const valid = known(evaluations, "loss").at(-1);
  const parts = [
    told.length &&
      `the training loss is ${number(told.at(-1).loss)} at step ${number(told.at(-1).step)}, from ${number(told[0].loss)} at the start`,
    valid && `the validation loss is ${number(valid.loss)} at step ${number(valid.step)}`,
  ];
  return `${capital(parts.filter(Boolean).join("; "))}.`;
}

function metricWords(evaluations, name, title) {
  const best = evaluations.findLast((event) => event.best);
  return best
    ? `${title} on validation: ${number(evaluations.at(-1)[name])} now, ${number(best[name])} at its best (step ${number(best.step)}).`
    : "No evaluation yet.";
}

function rateWords(train) {
  const told = known(train, "rate");
  const highest = told.reduce((a, b) => (b.rate > a.rate ? b : a), told[0]);
  return highest
    ? `The learning rate is ${number(told.at(-1).rate)} now; its highest was ${number(highest.rate)} at step ${number(highest.step)}.`
    : "";
}

function gradientWords(train) {
  const told = known(train, "gradient");
  const healthy = told.filter((event) => event.gradient >= 0.01 && event.gradient <= 10).length;
  return `${healthy === told.length ? "All" : `${healthy} of ${told.length}`} readings of the gradient lie in the healthy band from 0.01 to 10; the last is ${number(told.at(-1)?.gradient)}.`;
}

function speedWords(train) {
  const told = known(train, "symbols_per_second");
  return `On average ${number(Math.round(told.reduce((sum, event) => sum + event.symbols_per_second, 0) / told.length))} symbols per second.`;
}
