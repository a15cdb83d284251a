// The forms of the page Try, one for each task: what is asked, and how the answer is shown.
import { clear, h } from "../dom.js";
import { bars } from "../figures/bars.js";
import { fan } from "../figures/fan.js";
import { save } from "../figures/figure.js";
import { pianoRoll } from "../figures/piano.js";
import { ribbons } from "../figures/ribbons.js";
import { percent } from "../figures/scales.js";
import { alternatives, tags } from "../figures/tags.js";
import { generate } from "./generating.js";

const BEAM = { name: "beam", value: 4, min: 1, max: 32, help: "Candidates kept while the answer is searched for." };
const has = (model, view) => (model.views || []).some((one) => one.view === view);
const linesOf = (text) => text.split("\n").filter((line) => line.trim());

const translate = {
  rows: 2, placeholder: "Type what to translate…", verb: (model) => (model.verb ? capital(model.verb) : "Translate"), label: () => "In", about: () => "A sequence in, another out; several lines are answered one by one.",
  settings: () => [BEAM, { name: "nbest", label: "answers", value: 3, min: 1, max: 16, help: "How many answers are listed." }],
  async ask({ model, text, given, frame, result, post }) {
    const inputs = linesOf(text), beam = given.beam ?? 4;
    const answer = await post({ inputs, parameters: { beam, nbest: Math.min(given.nbest ?? 3, beam) } });
    const [first] = answer.outputs;
    frame.said = first?.output;
    if (inputs.length > 1) return showTable(result, frame, answer, (output) => [output.output, output.log_prob?.toFixed(2)], ["in", "out", "log-probability"]);
    const alignment = h("div");
    const list = first?.nbest?.length > 1 && h("ol.nbest", ...first.nbest.map((one) => h("li", h("bdi", one.output ?? one.text), " ", h("span.muted.number", percent(Math.exp(one.log_prob))))));
    clear(result).append(h(".card", h("p.answer", { dir: "auto" }, first?.output || "(nothing)"), alignment, list && h("h3", "The best answers"), list || "", frame.foot(answer)));
    if (!has(model, "attention")) return;
    const json = await post({ text: inputs[0], beam }, "attention").catch(() => null);
    if (json?.tokens.tgt.length) alignment.append(ribbons({ rows: json.tokens.tgt, columns: json.tokens.src, weights: json.weights, share: 0.9 }));
  },
};

const tag = {
  rows: 3, placeholder: "Type a sentence…", verb: () => "Tag", label: () => "Sentence", about: () => "A label for every word; the line below a word is as thick as the model is sure.", settings: () => [],
  async ask({ model, text, frame, result, post }) {
    const inputs = linesOf(text), answer = await post({ inputs });
    frame.said = shown(answer.outputs[0]);
    if (inputs.length > 1) return showTable(result, frame, answer, (output) => [shown(output)], ["sentence", "tags"]);
    const json = has(model, "tags") ? await post({ text: inputs[0] }, "tags") : null;
    const [first] = answer.outputs;
    const least = json && json.tags.reduce((low, one) => (one.p != null && (low === null || one.p < low.p) ? one : low), null);
    clear(result).append(h(".card", json ? tags({ tokens: json.tokens.src, tags: json.tags, spans: json.spans, labels: json.labels }) : h("p.answer", { dir: "auto" }, shown(first)),
      least && least.p < 0.9 ? h("p.muted", `Least sure: ${alternatives(least)}.`) : "", frame.foot(answer)));
  },
};

const classify = {
  rows: 4, placeholder: "Type or paste a text…", verb: () => "Classify", label: () => "Text (or one a line)", about: () => "One label for the whole text; several lines become a table.", settings: () => [],
  async ask({ text, frame, result, post }) {
    const inputs = linesOf(text), answer = await post({ inputs });
    const [first] = answer.outputs;
    frame.said = first?.output;
    if (inputs.length > 1) return showTable(result, frame, answer, (output) => [shown(output), output.probability == null ? "" : percent(output.probability)], ["text", "label", "how sure"]);
    const chances = Object.entries(first?.probabilities || {}).sort((a, b) => b[1] - a[1]);
    clear(result).append(h(".card", h("p.answer", shown(first)), bars(chances.map(([name, value]) => ({ name, value })), { most: 1, plain: true, label: "how likely each label is" }), frame.foot(answer)));
  },
};

const forecast = {
  rows: 8, mono: true, enter: false, placeholder: "time,value\n2024-01-01,12.5\n2024-01-02,13.1\n…", verb: () => "Forecast", label: () => "A series as CSV",
  about: (model) => `Paste numbers at equal steps of time${model.forecast?.columns?.length ? ` (${model.forecast.columns.join(", ")})` : ""}; the bands hold 50, 80 and 95 % of chance.`,
  settings: (model) => [{ name: "horizon", label: "steps ahead", value: model.forecast?.horizon ?? "", min: 1, max: 1000, help: "How many steps are foretold." }],
  async ask({ text, given, frame, result, post }) {
    const answer = await post({ inputs: [text], parameters: given });
    const [first] = answer.outputs, series = first.series || [];
    frame.said = first.caption;
    const rows = series.flatMap((one) => one.times.ahead.map((time, i) => [one.name, time, one.mean[i], ...["0.025", "0.1", "0.25", "0.75", "0.9", "0.975"].map((level) => one.quantiles[level]?.[i])]));
    const csv = () => save("forecast.csv", csvOf([["series", "time", "mean", "2.5%", "10%", "25%", "75%", "90%", "97.5%"], ...rows]), "text/csv");
    clear(result).append(h(".card", h("p.sentence", first.caption), ...series.map((one) => fan(one, { height: 240 })),
      h("p", h("button", { class: "small", on: { click: csv } }, "Download as CSV")), frame.foot(answer)));
  },
};

const music = {
  rows: 1, placeholder: "(nothing to type: the model makes a piece up)", verb: () => "Compose", label: () => "Beginning (may be empty)", about: () => "The model draws a new piece, step by step.",
  settings: () => [{ name: "steps", value: 64, min: 4, max: 1024, help: "How many steps the piece has." }, { name: "temperature", value: 1, min: 0, max: 3, step: 0.1, help: "Below 1 the likely becomes likelier." }],
  async ask({ text, given, frame, result, post }) {
    const answer = await post({ inputs: [text], parameters: given });
    const [first] = answer.outputs;
    frame.said = first.caption ?? "";
    clear(result).append(h(".card", h("p.sentence", first.caption || ""), first.frames ? pianoRoll(first) : h("pre", JSON.stringify(first)), frame.foot(answer)));
  },
};

const predict = {
  rows: 3, placeholder: "Type an input…", verb: () => "Answer", label: () => "Input (one a line)", about: () => "One answer for each line.", settings: () => [],
  async ask({ text, frame, result, post }) {
    const answer = await post({ inputs: linesOf(text) });
    frame.said = shown(answer.outputs[0]);
    return showTable(result, frame, answer, (output) => [shown(output)], ["in", "out"]);
  },
};

/** Many answers as a table, and as a file for a spreadsheet. */
function showTable(result, frame, answer, cells, heading) {
  const rows = answer.outputs.map((output) => [output.input ?? "", ...cells(output)]);
  clear(result).append(h(".card", h(".table-scroll", h("table", h("thead", h("tr", ...heading.map((name) => h("th", { scope: "col" }, name)))),
    h("tbody", ...rows.map((row) => h("tr", ...row.map((cell) => h("td", { dir: "auto" }, String(cell ?? "")))))))),
  h("p", h("button", { class: "small", on: { click: () => save("answers.csv", csvOf([heading, ...rows]), "text/csv") } }, "Download as CSV")), frame.foot(answer)));
}

function csvOf(rows) {
  return `${rows.map((row) => row.map((cell) => (/[",\n]/.test(String(cell ?? "")) ? `"${String(cell).replaceAll('"', '""')}"` : String(cell ?? ""))).join(",")).join("\n")}\n`;
}

function shown(output) {
  const value = output?.output ?? output?.text ?? "";
  return Array.isArray(value) ? value.map((part) => (Array.isArray(part) ? part.join("/") : part)).join(" ") : String(value);
}

function capital(word) {
  return word[0].toUpperCase() + word.slice(1);
}

export const FORMS = { language: generate, generate, translate, tag, classify, forecast, music, predict };
