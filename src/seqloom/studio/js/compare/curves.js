// Learning curves of the compared runs.
import { clear, h } from "../dom.js";
import { events } from "../api.js";
import { currentRoute, setQuery } from "../route.js";
import { buttonGroup } from "../cards/controls.js";
import { figure } from "../figures/figure.js";
import { lines, linesTable } from "../figures/lines.js";
import { short } from "../figures/scales.js";
import { axisTitle, points, TrainingHistory } from "../run/history.js";

/** Validation curves of all runs, over seconds unless another x axis is chosen. */
export function drawCurves(section, runs, signal) {
  const histories = runs.map(() => new TrainingHistory()),
    label = runs[0].metric_title || runs[0].metric;
  const draw = () => {
    const x = currentRoute().query.get("x") || "seconds",
      series = runs.map((run, i) => ({
        name: run.id,
        dots: true,
        points: points(histories[i].evaluations, x, run.metric),
      }));
    const ends = series
      .filter((line) => line.points.length)
      .map((line) => `${line.name} ends at ${short(line.points.at(-1)[1], 4)}`);
    clear(section).append(
      figure({
        id: "curves",
        title: "Curves",
        caption: ends.length ? `${label}: ${ends.join("; ")}.` : "No evaluation yet.",
        json: { x, series },
        table: () => linesTable(series, axisTitle(x)),
        drawing: lines({ series, x: { label: axisTitle(x) }, y: { label }, height: 260 }),
        controls: h(
          ".card-controls",
          buttonGroup(
            "x axis",
            [
              ["seconds", "seconds"],
              ["step", "steps"],
              ["symbols", "tokens"],
            ],
            x,
            (chosen) => {
              setQuery({ x: chosen === "seconds" ? null : chosen }, { replace: true });
              draw();
            },
          ),
        ),
      }),
    );
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
