// Learning curves of the compared runs.
import { clear, h } from "../dom.js";
import { events } from "../api.js";
import { currentRoute, setQuery } from "../route.js";
import { buttonGroup } from "../cards/controls.js";
import { figure } from "../figures/figure.js";
import { lines, linesTable } from "../figures/lines.js";
import { short } from "../figures/scales.js";
import { axisTitle, points, TrainingHistory } from "../run/history.js";

/**
 * What shares an axis: [{metric, title, runs: [index…]}…]. One metric for runs of one task, if it is the main one of
 * some and every run was evaluated by it; else the runs of each task and main metric by themselves.
 */
export function metricGroups(runs, evaluations) {
  const indices = runs.map((_, i) => i),
    keyOf = ({ task, metric }) => `${task} ${metric}`,
    group = ({ metric, metric_title: title }, chosen) => ({ metric, title: title || metric, runs: chosen });
  const isCommon = ({ task, metric }) =>
    metric &&
    runs.every(
      (run, i) => run.task === task && (run.metric === metric || evaluations[i].some((event) => metric in event)),
    );
  const common = runs.find(isCommon);
  if (common) return [group(common, indices)];
  return [...new Set(runs.filter((run) => run.metric).map(keyOf))].map((key) =>
    group(
      runs.find((run) => keyOf(run) === key),
      indices.filter((i) => keyOf(runs[i]) === key),
    ),
  );
}

/** Validation curves of all runs, over seconds unless another x axis is chosen; a figure for each metric. */
export function drawCurves(section, runs, signal) {
  const histories = runs.map(() => new TrainingHistory());
  const draw = () => {
    const x = currentRoute().query.get("x") || "seconds",
      evaluations = histories.map((one) => one.evaluations);
    const figures = metricGroups(runs, evaluations).map(({ metric, title, runs: drawn }, place) => {
      const series = drawn.map((i) => ({
        name: runs[i].id,
        dots: true,
        colour: i,
        points: points(evaluations[i], x, metric),
      }));
      return curveFigure(place ? `curves-${place}` : "curves", title, series, x, place ? false : axisButtons(x, draw));
    });
    clear(section).append(...figures);
  };
  let timer = 0;
  const streams = runs.map((run, i) => {
    const add = (event) => {
      histories[i].add(event);
      timer ||= setTimeout(() => {
        timer = 0;
        draw();
      }, 250);
    };
    const stream = events(`/runs/${encodeURIComponent(run.id)}/events`, {
      start: add,
      train: add,
      eval: add,
      resume: add,
      state: ({ state }) => state !== "running" && setTimeout(() => stream.close(), 500),
    });
    return stream;
  });
  signal.addEventListener("abort", () => {
    clearTimeout(timer);
    streams.forEach((one) => one.close());
  });
  draw();
}

function curveFigure(id, label, series, x, controls) {
  const ends = series
    .filter((line) => line.points.length)
    .map((line) => `${line.name} ends at ${short(line.points.at(-1)[1], 4)}`);
  return figure({
    id,
    title: "Curves",
    caption: ends.length ? `${label}: ${ends.join("; ")}.` : "No evaluation yet.",
    json: { x, label, series },
    table: () => linesTable(series, axisTitle(x)),
    drawing: lines({ series, x: { label: axisTitle(x) }, y: { label }, height: 260 }),
    controls,
  });
}

function axisButtons(x, draw) {
  const choices = [
    ["seconds", "seconds"],
    ["step", "steps"],
    ["symbols", "tokens"],
  ];
  const choose = (chosen) => {
    setQuery({ x: chosen === "seconds" ? null : chosen }, { replace: true });
    draw();
  };
  return h(".card-controls", buttonGroup("x axis", choices, x, choose));
}
