// The forms of the page Try, one for each task: inputs, options, and how the output is shown.
import { h } from "../dom.js";
import { bars } from "../figures/bars.js";
import { fanChart } from "../figures/fanchart.js";
import { save } from "../figures/figure.js";
import { muted, fixed2 } from "../figures/common.js";
import { pianoRoll } from "../figures/piano.js";
import { ribbons } from "../figures/ribbons.js";
import { percent } from "../figures/scales.js";
import { alternatives, tags } from "../figures/tags.js";
import { outputText } from "../shell/format.js";
import { generate } from "./generate.js";

const LEVELS = ["0.025", "0.1", "0.25", "0.75", "0.9", "0.975"];
const outputLine = (text) => h("p.answer", { dir: "auto" }, text || "(empty)");
const csvButton = (name, rows) =>
  h("p", h("button.small", { on: { click: () => save(name, csvOf(rows()), "text/csv") } }, "Download as CSV"));

const translate = {
  rows: 2,
  verb: "Translate",
  label: "Source",
  placeholder: "Type a source sequence…",
  about: "Sequence to sequence: each line is translated by itself.",
  settings: [
    { name: "beam", value: 4, min: 1, max: 32, help: "Beam size: hypotheses kept at each step of beam search." },
    { name: "nbest", label: "n-best", value: 3, min: 1, max: 16, help: "Number of hypotheses listed." },
    {
      name: "limit",
      label: "max tokens",
      value: "",
      min: 1,
      max: 1024,
      help: "Maximum number of tokens of an output; empty: what follows from the training data.",
    },
  ],
  parameters: ({ beam = 4, nbest = 3, ...more }) => ({ beam, nbest: Math.min(nbest, beam), ...more }),
  heading: ["source", "output", "log-probability", "ended by"],
  cells: (output) => [output.output, fixed2(output.log_prob), output.ended],
  async draw(output, { view }) {
    const json = await view("attention"),
      best = output.nbest || [];
    return [
      outputLine(output.output),
      output.ended === "limit" && muted("This output was cut at the maximum number of tokens."),
      json?.tokens.tgt.length > 0 &&
        ribbons({ rows: json.tokens.tgt, columns: json.tokens.src, weights: json.weights }),
      best.length > 1 && [
        h("h3", "N-best list"),
        h(
          "ol.nbest",
          best.map((one) => h("li", h("bdi", one.output), " ", muted(percent(Math.exp(one.log_prob))))),
        ),
      ],
    ];
  },
};

const tag = {
  verb: "Tag",
  label: "Sentence",
  placeholder: "Type a sentence…",
  about: "A label for each token; the thickness of the line below a token is the probability of its label.",
  heading: ["sentence", "tags"],
  textOf: (output) => outputText(output, true),
  cells: (output) => [outputText(output, true)],
  async draw(output, { view }) {
    const json = await view("tags"),
      least = json?.tags.reduce((low, one) => (one.p < low.p ? one : low));
    return json
      ? [
          tags({ ...json, tokens: json.tokens.src }),
          least.p < 0.9 && h("p.muted", `Lowest probability: ${alternatives(least)}.`),
        ]
      : outputLine(outputText(output, true));
  },
};

const classify = {
  rows: 4,
  verb: "Classify",
  label: "Text (or one per line)",
  placeholder: "Type or paste a text…",
  about: "One label for each line.",
  heading: ["text", "label", "probability"],
  cells: (output) => [outputText(output), output.probability == null ? "" : percent(output.probability)],
  draw(output) {
    const probabilities = Object.entries(output.probabilities || {}).sort((a, b) => b[1] - a[1]);
    return [
      outputLine(outputText(output)),
      bars(
        probabilities.map(([name, value]) => ({ name, value })),
        { most: 1, plain: true, label: "probability of each label" },
      ),
    ];
  },
};

const forecast = {
  rows: 8,
  mono: true,
  isWhole: true,
  verb: "Forecast",
  label: "Time series as CSV",
  placeholder: "time,value\n2024-01-01,12.5\n2024-01-02,13.1\n…",
  about: "Paste a regular time series; the bands are 50, 80 and 95 % prediction intervals.",
  settings: [
    {
      name: "horizon",
      label: "horizon",
      value: "",
      min: 1,
      max: 1000,
      help: "Forecast horizon in steps; empty: that of the training.",
    },
  ],
  draw({ caption, series }) {
    const rows = () => [
      ["series", "time", "mean", ...LEVELS],
      ...series.flatMap((one) =>
        one.times.ahead.map((time, i) => [
          one.name,
          time,
          one.mean[i],
          ...LEVELS.map((level) => one.quantiles[level]?.[i]),
        ]),
      ),
    ];
    return [
      h("p.sentence", caption),
      series.map((one) => fanChart(one, { height: 240 })),
      csvButton("forecast.csv", rows),
    ];
  },
};

const music = {
  rows: 1,
  isWhole: true,
  verb: "Compose",
  label: "Prompt (may be empty)",
  placeholder: "60,64,67 60,64,67 … (MIDI pitches), or empty",
  about: "Generates a piece of music by sampling, step by step.",
  settings: [
    { name: "steps", value: 64, min: 4, max: 1024, help: "Length of the piece in steps." },
    {
      name: "temperature",
      value: 1,
      min: 0,
      max: 3,
      step: 0.1,
      help: "Sampling temperature: below 1 sharpens the distribution, above 1 flattens it.",
    },
    { name: "seed", value: 1, min: 0, max: 99_999, help: "Random seed: another seed gives another piece." },
  ],
  draw: ({ view, ...piece }) => [
    h("p.sentence", view.caption),
    h(".scroller", pianoRoll(view)),
    h("p", h("button.small", { on: { click: () => save("piece.json", JSON.stringify(piece)) } }, "Download as JSON")),
  ],
};

const predict = {
  verb: "Predict",
  label: "Input (one per line)",
  placeholder: "Type an input…",
  about: "One prediction for each line.",
  heading: ["input", "output"],
  cells: (output) => [outputText(output)],
  draw: (output) => outputLine(outputText(output)),
};

/** Several outputs as a table, with a CSV download. */
export function outputTable({ heading, cells }, outputs) {
  const rows = outputs.map((output) => [output.input, ...cells(output)].map((cell) => String(cell ?? "")));
  return [
    h(
      ".table-scroll",
      h(
        "table",
        h(
          "thead",
          h(
            "tr",
            heading.map((name) => h("th", { scope: "col" }, name)),
          ),
        ),
        h(
          "tbody",
          rows.map((row) =>
            h(
              "tr",
              row.map((cell) => h("td", { dir: "auto" }, cell)),
            ),
          ),
        ),
      ),
    ),
    csvButton("outputs.csv", () => [heading, ...rows]),
  ];
}

function csvOf(rows) {
  return `${rows.map((row) => row.map((cell) => (/[",\n]/.test(cell) ? `"${String(cell).replaceAll('"', '""')}"` : (cell ?? ""))).join(",")).join("\n")}\n`;
}

export const FORMS = { language: generate, translate, tag, classify, forecast, music, predict };
