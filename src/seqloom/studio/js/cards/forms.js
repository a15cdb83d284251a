// The forms of the page Try, one for each task: what is asked, and how the answer is shown.
import { h } from "../dom.js";
import { bars } from "../figures/bars.js";
import { fan } from "../figures/fan.js";
import { save } from "../figures/figure.js";
import { muted, two } from "../figures/parts.js";
import { pianoRoll } from "../figures/piano.js";
import { ribbons } from "../figures/ribbons.js";
import { percent } from "../figures/scales.js";
import { alternatives, tags } from "../figures/tags.js";
import { generate } from "./generating.js";

const LEVELS = ["0.025", "0.1", "0.25", "0.75", "0.9", "0.975"];
const sentence = (text) => h("p.answer", { dir: "auto" }, text || "(nothing)");
const csvButton = (name, rows) =>
  h("p", h("button.small", { on: { click: () => save(name, csvOf(rows()), "text/csv") } }, "Download as CSV"));

/** What an answer says, in one line. */
export function shown(output) {
  const value = output?.output ?? output?.text ?? output?.caption ?? output?.view?.caption ?? "";
  return Array.isArray(value)
    ? value.map((part) => (Array.isArray(part) ? part.join("/") : part)).join(" ")
    : String(value);
}

const translate = {
  rows: 2,
  verb: "Translate",
  label: "In",
  placeholder: "Type what to translate…",
  about: "A sequence in, another out; several lines are answered one by one.",
  settings: [
    { name: "beam", value: 4, min: 1, max: 32, help: "Candidates kept while the answer is searched for." },
    { name: "nbest", label: "answers", value: 3, min: 1, max: 16, help: "How many answers are listed." },
  ],
  parameters: ({ beam = 4, nbest = 3 }) => ({ beam, nbest: Math.min(nbest, beam) }),
  heading: ["in", "out", "log-probability"],
  cells: (output) => [output.output, two(output.log_prob)],
  async draw(output, { see }) {
    const json = await see("attention"),
      best = output.nbest || [];
    return [
      sentence(output.output),
      json?.tokens.tgt.length > 0 &&
        ribbons({ rows: json.tokens.tgt, columns: json.tokens.src, weights: json.weights }),
      best.length > 1 && [
        h("h3", "The best answers"),
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
  about: "A label for every word; the line below a word is as thick as the model is sure.",
  heading: ["sentence", "tags"],
  cells: (output) => [shown(output)],
  async draw(output, { see }) {
    const json = await see("tags"),
      least = json?.tags.reduce((low, one) => (one.p < low.p ? one : low));
    return json
      ? [
          tags({ ...json, tokens: json.tokens.src }),
          least.p < 0.9 && h("p.muted", `Least sure: ${alternatives(least)}.`),
        ]
      : sentence(shown(output));
  },
};

const classify = {
  rows: 4,
  verb: "Classify",
  label: "Text (or one a line)",
  placeholder: "Type or paste a text…",
  about: "One label for the whole text; several lines become a table.",
  heading: ["text", "label", "how sure"],
  cells: (output) => [shown(output), output.probability == null ? "" : percent(output.probability)],
  draw(output) {
    const chances = Object.entries(output.probabilities || {}).sort((a, b) => b[1] - a[1]);
    return [
      sentence(shown(output)),
      bars(
        chances.map(([name, value]) => ({ name, value })),
        { most: 1, plain: true, label: "how likely each label is" },
      ),
    ];
  },
};

const forecast = {
  rows: 8,
  mono: true,
  isWhole: true,
  verb: "Forecast",
  label: "A series as CSV",
  placeholder: "time,value\n2024-01-01,12.5\n2024-01-02,13.1\n…",
  about: "Paste numbers at equal steps of time; the bands hold 50, 80 and 95 % of chance.",
  settings: [
    {
      name: "horizon",
      label: "steps ahead",
      value: "",
      min: 1,
      max: 1000,
      help: "How many steps are foretold; empty: as many as the model learned.",
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
    return [h("p.sentence", caption), series.map((one) => fan(one, { height: 240 })), csvButton("forecast.csv", rows)];
  },
};

const music = {
  rows: 1,
  isWhole: true,
  verb: "Compose",
  label: "Beginning (may be empty)",
  placeholder: "60,64,67 60,64,67 … or nothing: the model makes a piece up",
  about: "The model draws a new piece, step by step.",
  settings: [
    { name: "steps", value: 64, min: 4, max: 1024, help: "How many steps the piece has." },
    { name: "temperature", value: 1, min: 0, max: 3, step: 0.1, help: "Below 1 the likely becomes likelier." },
    { name: "seed", label: "piece", value: 1, min: 0, max: 99_999, help: "Another number draws another piece." },
  ],
  draw: ({ view, ...piece }) => [
    h("p.sentence", view.caption),
    h(".scroller", pianoRoll(view)),
    h("p", h("button.small", { on: { click: () => save("piece.json", JSON.stringify(piece)) } }, "Download as JSON")),
  ],
};

const predict = {
  verb: "Answer",
  label: "Input (one a line)",
  placeholder: "Type an input…",
  about: "One answer for each line.",
  heading: ["in", "out"],
  cells: (output) => [shown(output)],
  draw: (output) => sentence(shown(output)),
};

/** Many answers as a table, and as a file for a spreadsheet. */
export function manyAnswers({ heading, cells }, outputs) {
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
    csvButton("answers.csv", () => [heading, ...rows]),
  ];
}

function csvOf(rows) {
  return `${rows.map((row) => row.map((cell) => (/[",\n]/.test(cell) ? `"${String(cell).replaceAll('"', '""')}"` : (cell ?? ""))).join(",")).join("\n")}\n`;
}

export const FORMS = { language: generate, translate, tag, classify, forecast, music, predict };
