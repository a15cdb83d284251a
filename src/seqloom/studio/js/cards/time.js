// Cards over time, aligned with the rail: gates, states, the text coloured by one cell, surprise,
// and how far back a gradient reaches.
import { h } from "../dom.js";
import { shade, signed } from "../colours.js";
import { heat } from "../figures/heat.js";
import { lines } from "../figures/lines.js";
import { rampLegend, signedLegend } from "../figures/matrix.js";
import { muted, two } from "../figures/parts.js";
import { rail, scroller } from "../figures/rail.js";
import { short } from "../figures/scales.js";
import { columnsOf, visible } from "../figures/symbols.js";
import { check, choice } from "./controls.js";
import { gained, intervene } from "./edits.js";

const mean = (values) => values.reduce((sum, value) => sum + value, 0) / Math.max(1, values.length);
const percent = (share) => `${Math.round(100 * share)} %`;
const bare = (name) => name.replace(/^gate\./, "");

/** Panels one below another under a copy of the rail, all in one line that scrolls with the others. */
function inTime({ src, numbers }, panels, api) {
  const columns = columnsOf(numbers || src),
    onMove = (i) => api.move("src", i);
  const line = rail({ tokens: src, numbers, onMove, label: "what was read, above the cells" });
  const pictures = panels.map((panel) => heat({ ...panel, columns, onMove })),
    status = h("div", pictures[0]?.status);
  for (const picture of pictures)
    for (const kind of ["pointerenter", "focus"])
      picture.addEventListener(kind, () => status.replaceChildren(picture.status));
  const inside = h(
    "div",
    { style: `width:${columns.total}px` },
    line,
    pictures.map((picture, i) => [h("p.heat-name", panels[i].title), picture]),
  );
  return {
    drawing: h("div", { dataset: { active: "true" } }, scroller(inside, api.group), status),
    follow: () => [line, ...pictures].forEach((one) => one.setCursor(api.at("src"))),
  };
}

/** A text whose background tells a number of each symbol. */
export function coloured({ src, numbers }, api, label, paint, below) {
  const text = rail({ tokens: src, numbers, wrap: true, label, paint, below, onMove: (i) => api.move("src", i) });
  return { drawing: text, follow: () => text.setCursor(api.at("src")) };
}

export const gates = {
  height: 520,
  draw(json, api) {
    const { src } = json.tokens,
      names = Object.keys(json.gates),
      shown = api.local("gate", "all");
    const gain = gained(json, ({ gates: all }) => names.map((name) => all[name]?.values), api);
    const means = (time) => names.map((name) => two(mean(json.gates[name].values[time])));
    return {
      ...inTime(
        json.tokens,
        names
          .filter((name) => shown === "all" || bare(name) === shown)
          .map((name) => ({
            name: bare(name),
            title: `${bare(name)}: ${percent(json.gates[name].open)} open (>0.9), ${percent(json.gates[name].shut)} shut (<0.1)`,
            values: gain ? gain.values[names.indexOf(name)] : json.gates[name].values,
            order: json.order,
            ...(gain && { kind: "signed", range: [-gain.limit, gain.limit] }),
          })),
        api,
      ),
      controls: choice("gate", [["all", "All"], ...names.map((name) => [bare(name), bare(name)])], shown, (value) =>
        api.setLocal("gate", value === "all" ? null : value),
      ),
      legend: gain
        ? signedLegend(short(gain.limit), "what the edit added; each row is a cell")
        : rampLegend("0", "1", "value of the gate: 0 shut, 1 open; each row is a cell"),
      values: () =>
        src[api.at("src")] === undefined
          ? []
          : means(api.at("src")).map((value, i) => [`${bare(names[i])} gate, mean`, value]),
    };
  },
};

export const states = {
  height: 320,
  draw(json, api) {
    const gain = gained(json, ({ values }) => values, api),
      limit = gain ? gain.limit : Math.max(...(json.range || [1]).map(Math.abs)),
      told = (line) => [two(mean(line)), two(Math.min(...line)), two(Math.max(...line))];
    return {
      ...inTime(
        json.tokens,
        [
          {
            name: "state",
            title: json.layers?.[json.layer] || "state",
            values: gain ? gain.values : json.values,
            order: json.order,
            kind: "signed",
            range: [-limit, limit],
            onCell: (cell) => api.page.show("cell", { cell }),
          },
        ],
        api,
      ),
      legend: signedLegend(
        short(limit),
        gain ? "what the edit added to a cell" : "state of a cell; a click colours the text by it",
      ),
      values: () => (json.values[api.at("src")] ? [["state, mean", told(json.values[api.at("src")])[0]]] : []),
    };
  },
};

export const cell = {
  height: 260,
  hides: ["cell"],
  draw(json, api) {
    const { src } = json.tokens,
      gain = json.cell === json.before?.cell ? gained(json, ({ values }) => values, api) : null,
      shown = gain ? gain.values : json.values,
      limit = gain ? gain.limit : Math.max(1e-9, ...(json.range || [1]).map(Math.abs)),
      guesses = json.predictions && api.local("guesses") === "yes";
    const number = h("input", {
      type: "number",
      class: "short",
      min: 0,
      value: json.cell,
      dataset: { control: "cell.cell" },
      on: { change: (event) => api.setOption("cell", event.target.value) },
    });
    const level = h("input.short", {
      type: "number",
      step: "0.1",
      value: "0",
      "aria-label": "the value that the cell is held at",
      dataset: { control: "edit.value" },
    });
    const stories = (json.stories || []).map((story) =>
      h(
        "li",
        h(
          "button",
          {
            class: "story",
            "aria-pressed": String(story.cell === json.cell),
            dataset: { control: `story.${story.cell}` },
            on: { click: () => api.setOption("cell", story.cell) },
          },
          h("b", `Cell ${story.cell}`),
          h("span", story.sentence.replace(/^Cell \d+ /, "")),
          muted(`${two(story.information)} bits`),
        ),
      ),
    );
    return {
      ...coloured(
        json.tokens,
        api,
        `the text, coloured by cell ${json.cell}`,
        (i) => ({
          background: signed((shown[i] ?? 0) / limit, { behindText: true }),
          title: `${visible(src[i])}: ${two(shown[i])}`,
        }),
        guesses
          ? (i) =>
              h(
                "span.guesses",
                { "aria-hidden": "true" },
                (json.predictions[i] || []).map(([symbol, p]) =>
                  h("span", { style: `background:${shade(p)}` }, visible(symbol)),
                ),
              )
          : undefined,
      ),
      controls: [
        h("label.control", { title: "↑ and ↓ step from cell to cell." }, h("span", "cell"), number),
        json.predictions &&
          check("guesses below", guesses, (on) => api.setLocal("guesses", on ? "yes" : null), "cell.guesses"),
        h(
          "span.row",
          intervene(
            api,
            "clamp",
            "Hold it at",
            () => `clamp layer=${json.layer} cell=${json.cell} value=${Number(level.value) || 0}`,
          ),
          level,
        ),
      ],
      legend: [
        signedLegend(
          short(limit),
          gain
            ? `what the edit added to cell ${json.cell}`
            : `state of cell ${json.cell}: orange is negative, blue positive`,
        ),
        stories.length > 0 &&
          h("details.stories", { open: true }, h("summary", "Cells with a story"), h("ol", stories)),
      ],
      values: () =>
        json.values[api.at("src")] == null ? [] : [[`cell ${json.cell}`, two(json.values[api.at("src")])]],
    };
  },
};

const MOST_BITS = 8;

/** How a text is coloured by the bits of each symbol. */
export function bitsOf({ tokens: { src }, bits, ranks = [] }) {
  return (i) =>
    bits[i] === null
      ? { title: visible(src[i]) }
      : {
          background: shade(bits[i] / MOST_BITS),
          title: `${visible(src[i])}: ${two(bits[i])} bits${ranks[i] ? `, guess ${ranks[i]}` : ""}`,
        };
}

export const surprise = {
  height: 200,
  draw(json, api) {
    const { src } = json.tokens,
      gain = gained(json, ({ bits }) => bits, api);
    const more = (i) => ({
      background: signed((gain.values[i] ?? 0) / gain.limit, { behindText: true }),
      title: `${visible(src[i])}: ${gain.values[i] > 0 ? "+" : ""}${two(gain.values[i])} bits`,
    });
    return {
      ...coloured(json.tokens, api, "the text, coloured by how much it surprises", gain ? more : bitsOf(json)),
      legend: gain
        ? signedLegend(short(gain.limit, 2), "bits that the edit added: blue surprises more, orange less")
        : rampLegend("0", `${MOST_BITS} bits and more`, "", shade),
      values: () => (json.bits[api.at("src")] == null ? [] : [["surprise", `${two(json.bits[api.at("src")])} bits`]]),
    };
  },
};

export const gradient = {
  height: 300,
  draw(json) {
    const numbered = (values) => values.map((value, lag) => [lag, value]),
      [first] = json.models;
    const series = json.models.map((model, index) => ({
      name: model.name,
      colour: index,
      points: numbered(model.state),
    }));
    if (first.bound && json.models.length === 1)
      series.push({ name: "bound", colour: 6, points: numbered(first.bound).filter(([, value]) => value > 1e-12) });
    return {
      drawing: lines({
        series,
        x: { label: "steps back" },
        y: { label: "how much is felt", scale: "log" },
        height: 250,
      }),
      legend: muted("1 is all of a change; below 0.01 it counts as forgotten"),
    };
  },
};
