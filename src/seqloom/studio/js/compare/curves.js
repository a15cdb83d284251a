// How the runs of a comparison learned.
import { clear, h } from "../dom.js";
import { events } from "../api.js";
import { place as here, set } from "../address.js";
import { choice } from "../cards/controls.js";
import { figure } from "../figures/figure.js";
import { lines, linesTable } from "../figures/lines.js";
import { short } from "../figures/scales.js";
import { points, Story } from "../run/story.js";

/** The curves of all runs on the validation part, over seconds unless another x is chosen. */
export function drawCurves(section, runs, signal) {
  const stories = runs.map(() => new Story()),
    label = runs[0].metric_title || runs[0].metric;
  const draw = () => {
    const x = here().query.get("x") || "seconds",
      series = runs.map((run, i) => ({
        name: run.id,
        dots: true,
        points: points(stories[i].evaluations, x, run.metric),
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
        table: () => linesTable(series, x),
        drawing: lines({ series, x: { label: x }, y: { label }, height: 260 }),
        controls: h(
          ".card-controls",
          choice(
            "x axis",
            [
              ["seconds", "seconds"],
              ["step", "steps"],
              ["symbols", "symbols"],
            ],
            x,
            (wanted) => {
              set({ x: wanted === "seconds" ? null : wanted }, { replace: true });
              draw();
            },
          ),
        ),
      }),
    );
  };
  let timer = 0;
  const streams = runs.map((run, i) => {
    const hear = (event) => {
      stories[i].add(event);
      timer ||= setTimeout(() => {
        timer = 0;
        draw();
      }, 250);
    };
    const stream = events(`/runs/${encodeURIComponent(run.id)}/events`, {
      start: hear,
      train: hear,
      eval: hear,
      resume: hear,
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
