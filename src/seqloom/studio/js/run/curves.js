// The curves of a run: loss, metric, learning rate, gradient; each a figure that follows the story.

import { h, write } from "../dom.js";
import { set } from "../address.js";
import { figure } from "../figures/figure.js";
import { lines, linesTable } from "../figures/lines.js";
import { number } from "../shell/words.js";
import { points, smoothed, thinned } from "./story.js";

export const AXES = { step: "step", symbols: "symbols", seconds: "seconds" };
export const SMOOTH = 0.6;

/** What each figure shows: its series, its words, its scale. */
function plans(story, axis, smooth, metric) {
  const train = story.of("train");
  const evaluations = story.evaluations;
  const loss = thinned(points(train, axis, "loss"));
  const valid = points(evaluations, axis, "loss");
  return {
    loss: {
      title: "Loss",
      caption: lossWords(train, evaluations),
      y: { label: "nats per symbol" },
      height: 260,
      series: [
        { name: "training", points: loss, smooth: smooth > 0 ? smoothed(loss, smooth) : undefined },
        { name: "validation", points: valid, dots: true },
      ],
    },
    metric: metric.name && metric.name !== "loss" && {
      title: capital(metric.title ?? metric.name),
      caption: metricWords(evaluations, metric),
      y: { label: metric.title ?? metric.name },
      series: [{ name: "validation", points: points(evaluations, axis, metric.name), dots: true, colour: 1 }],
    },
    rate: {
      title: "Learning rate",
      caption: rateWords(train),
      y: { label: "rate" },
      series: [{ name: "", points: thinned(points(train, axis, "rate")), colour: 2 }],
    },
    gradient: {
      title: "Gradient norm",
      caption: gradientWords(train),
      y: { label: "norm", scale: "log", band: [0.01, 10] },
      series: [{ name: "", points: thinned(points(train, axis, "gradient")), colour: 3 }],
    },
    speed: {
      title: "Speed",
      caption: speedWords(train),
      y: { label: "symbols per second" },
      series: [{ name: "", points: thinned(points(train, axis, "symbols_per_second")), colour: 4 }],
    },
  };
}

/** The curves: the loss (`first`), the `rest`, and `draw(story)`. */
export function curves(run, metric, settings) {
  const first = h("div");
  const grid = h(".curves");
  const made = new Map();
  const origin = location.origin;
  const draw = (story) => {
    const found = plans(story, settings.axis, settings.smooth, metric);
    for (const [name, plan] of Object.entries(found)) {
      if (!plan || !plan.series.some((line) => line.points.length)) continue;
      if (!made.has(name)) made.set(name, make(name, plan, name === "loss" ? first : grid, run, origin));
      follow(made.get(name), plan, settings.axis);
    }
  };
  return { first, rest: grid, draw };
}

function make(name, plan, grid, run, origin) {
  const drawing = lines({ series: [], x: { label: "step" }, y: plan.y, height: plan.height ?? 200 });
  drawing.update({ series: plan.series });
  const current = { plan, axis: "step" };
  const address = `${origin}/api/v1/runs/${encodeURIComponent(run)}/events`;
  const frame = figure({
    id: `curve-${name}`,
    view: `curve-${name}`,
    title: plan.title,
    caption: plan.caption,
    drawing,
    table: () => linesTable(current.plan.series, current.axis),
    json: { toJSON: () => ({ run, curve: name, x: current.axis, series: current.plan.series.map(({ name: line, points: pairs }) => ({ name: line, points: pairs })) }) },
    curl: `curl -N '${address}?kinds=train,eval'`,
    python: `import json, urllib.request\n\nwith urllib.request.urlopen(${JSON.stringify(`${address}?kinds=train,eval`)}) as events:\n    for line in events:\n        if line.startswith(b"data: "):\n            print(json.loads(line[6:]))\n`,
  });
  // In the order of the plans, whichever had its first point first.
  const order = ["loss", "metric", "rate", "gradient", "speed"];
  const after = [...grid.children].find((other) => order.indexOf(other.dataset.curve) > order.indexOf(name));
  frame.dataset.curve = name;
  grid.insertBefore(frame, after ?? null);
  return { frame, drawing, current, caption: frame.querySelector("figcaption") };
}

function follow({ frame, drawing, current, caption }, plan, axis) {
  current.plan = plan;
  current.axis = axis;
  drawing.update({ series: plan.series, x: { label: axis }, y: plan.y });
  frame.dataset.points = String(plan.series.reduce((sum, line) => sum + line.points.length, 0));
  write(caption, plan.caption);
  write(frame.querySelector(".figure-title"), plan.title);
}

/** The controls: which x, and how smooth. */
export function curveControls(settings, changed) {
  const choice = h(".choice", { role: "group", "aria-label": "Horizontal axis" },
    Object.keys(AXES).map((axis) => h("button", { "aria-pressed": String(settings.axis === axis), dataset: { axis }, on: { click: () => choose(axis) } }, AXES[axis])));
  const shown = h("output.number.small", number(settings.smooth));
  const slider = h("input", { type: "range", id: "smooth", min: 0, max: 0.95, step: 0.05, value: settings.smooth, on: { input: slide } });
  function choose(axis) {
    settings.axis = axis;
    for (const button of choice.children) button.setAttribute("aria-pressed", String(button.dataset.axis === axis));
    set({ x: axis === "step" ? null : axis }, { replace: true });
    changed();
  }
  function slide() {
    settings.smooth = Number(slider.value);
    shown.textContent = number(settings.smooth);
    set({ smooth: settings.smooth === SMOOTH ? null : settings.smooth }, { replace: true });
    changed();
  }
  return h(".row", choice, h("label", { for: "smooth", class: "plain small" }, "Smoothing"), slider, shown);
}

// --- Sentences --------------------------------------------------------------------------------

function lossWords(train, evaluations) {
  const last = train.findLast((event) => Number.isFinite(event.loss));
  const valid = evaluations.findLast((event) => Number.isFinite(event.loss));
  const parts = [];
  if (last) parts.push(`The training loss is ${number(last.loss)} at step ${number(last.step)}, from ${number(train.find((event) => Number.isFinite(event.loss)).loss)} at the start`);
  if (valid) parts.push(`${parts.length ? "the" : "The"} validation loss is ${number(valid.loss)} at step ${number(valid.step)}`);
  return parts.length ? `${parts.join("; ")}.` : "No loss has been told yet.";
}

function metricWords(evaluations, metric) {
  const best = evaluations.findLast((event) => event.best);
  if (!best) return "No evaluation yet.";
  return `${capital(metric.title ?? metric.name)} on validation: ${number(evaluations.at(-1)[metric.name])} now, ${number(best[metric.name])} at its best (step ${number(best.step)}).`;
}

function rateWords(train) {
  const known = train.filter((event) => Number.isFinite(event.rate));
  if (!known.length) return "";
  const highest = known.reduce((a, b) => (b.rate > a.rate ? b : a));
  return `The learning rate is ${number(known.at(-1).rate)} now; its highest was ${number(highest.rate)} at step ${number(highest.step)}.`;
}

function gradientWords(train) {
  const known = train.filter((event) => Number.isFinite(event.gradient));
  if (!known.length) return "";
  const healthy = known.filter((event) => event.gradient >= 0.01 && event.gradient <= 10).length;
  return `${healthy === known.length ? "All" : `${healthy} of ${known.length}`} readings of the gradient lie in the healthy band from 0.01 to 10; the last is ${number(known.at(-1).gradient)}.`;
}

function speedWords(train) {
  const known = train.filter((event) => event.symbols_per_second > 0);
  const mean = known.reduce((sum, event) => sum + event.symbols_per_second, 0) / (known.length || 1);
  return `On average ${number(Math.round(mean))} symbols per second.`;
}

function capital(text) {
  return text ? text[0].toUpperCase() + text.slice(1) : "";
}
