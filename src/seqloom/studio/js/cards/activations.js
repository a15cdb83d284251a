// Cards of activations over time, aligned with the token strip: gates, hidden states, the text coloured by one unit,
// surprisal, and gradient flow.
import { h } from "../dom.js";
import { shade, signed } from "../colours.js";
import { heatmap } from "../figures/heatmap.js";
import { lines } from "../figures/lines.js";
import { colourBar, signedColourBar } from "../figures/matrix.js";
import { muted, fixed2 } from "../figures/common.js";
import { tokenStrip, scroller } from "../figures/strip.js";
import { short } from "../figures/scales.js";
import { columnsOf, visible } from "../figures/tokens.js";
import { checkbox, buttonGroup } from "./controls.js";
import { editDifference, interventionButton } from "./interventions.js";

const mean = (values) => values.reduce((sum, value) => sum + value, 0) / Math.max(1, values.length);
const percent = (fraction) => `${Math.round(100 * fraction)} %`;
const bare = (name) => name.replace(/^gate\./, "");

/** Heat maps below a copy of the token strip, in a line that scrolls with the other strips. */
function timePanels({ src, numbers }, panels, api) {
  const columns = columnsOf(numbers || src),
    onMove = (i) => api.move("src", i);
  const line = tokenStrip({ tokens: src, numbers, onMove, label: "input tokens, above the units" });
  const pictures = panels.map((panel) => heatmap({ ...panel, columns, onMove })),
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

/** The tokens of a text, with a background colour for a value of each. */
export function colouredText({ src, numbers }, api, label, paint, below) {
  const onMove = (i) => api.move("src", i),
    text = tokenStrip({ tokens: src, numbers, wrap: true, label, paint, below, onMove });
  return { drawing: text, follow: () => text.setCursor(api.at("src")) };
}

export const gates = {
  height: 520,
  draw(json, api) {
    const { src } = json.tokens,
      names = Object.keys(json.gates),
      shown = api.local("gate", "all");
    const gain = editDifference(json, ({ gates: all }) => names.map((name) => all[name]?.values), api);
    const means = (time) => names.map((name) => fixed2(mean(json.gates[name].values[time])));
    return {
      ...timePanels(
        json.tokens,
        names
          .filter((name) => shown === "all" || bare(name) === shown)
          .map((name) => ({
            name: bare(name),
            title: `${bare(name)}: ${percent(json.gates[name].open)} open (>0.9), ${percent(json.gates[name].shut)} closed (<0.1)`,
            values: gain ? gain.values[names.indexOf(name)] : json.gates[name].values,
            order: json.order,
            ...(gain && { kind: "signed", range: [-gain.limit, gain.limit] }),
          })),
        api,
      ),
      controls: buttonGroup(
        "gate",
        [["all", "All"], ...names.map((name) => [bare(name), bare(name)])],
        shown,
        (value) => api.setLocal("gate", value === "all" ? null : value),
      ),
      legend: gain
        ? signedColourBar(short(gain.limit), "change by the intervention; each row is a cell")
        : colourBar("0", "1", "gate activation: 0 closed, 1 open; each row is a cell"),
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
    const bound = Math.max(...(json.range || [1]).map(Math.abs)),
      gain = editDifference(json, ({ values }) => values, api, bound),
      limit = gain ? gain.limit : bound;
    return {
      ...timePanels(
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
      legend: signedColourBar(
        short(limit),
        gain ? "change of a cell by the intervention" : "activation of a cell; a click colours the text by it",
      ),
      values: () => (json.values[api.at("src")] ? [["state, mean", fixed2(mean(json.values[api.at("src")]))]] : []),
    };
  },
};

export const cell = {
  height: 260,
  hides: ["cell"],
  draw(json, api) {
    const { src } = json.tokens,
      bound = Math.max(1e-9, ...(json.range || [1]).map(Math.abs)),
      gain = json.cell === json.before?.cell ? editDifference(json, ({ values }) => values, api, bound) : null,
      shown = gain ? gain.values : json.values,
      limit = gain ? gain.limit : bound,
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
      "aria-label": "value to clamp the cell to",
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
          muted(`${fixed2(story.information)} bits`),
        ),
      ),
    );
    return {
      ...colouredText(
        json.tokens,
        api,
        `the text, coloured by cell ${json.cell}`,
        (i) => ({
          background: signed((shown[i] ?? 0) / limit, { behindText: true }),
          title: `${visible(src[i])}: ${fixed2(shown[i])}`,
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
        h("label.control", { title: "↑ and ↓ go to the next cell." }, h("span", "cell"), number),
        json.predictions &&
          checkbox("predictions below", guesses, (on) => api.setLocal("guesses", on ? "yes" : null), "cell.guesses"),
        h(
          "span.row",
          interventionButton(
            api,
            "clamp",
            "Clamp to",
            () => `clamp layer=${json.layer} cell=${json.cell} value=${Number(level.value) || 0}`,
          ),
          level,
        ),
      ],
      legend: [
        signedColourBar(
          short(limit),
          gain
            ? `change of cell ${json.cell} by the intervention`
            : `activation of cell ${json.cell}: orange is negative, blue positive`,
        ),
        stories.length > 0 &&
          h("details.stories", { open: true }, h("summary", "Interpretable cells"), h("ol", stories)),
      ],
      values: () =>
        json.values[api.at("src")] == null ? [] : [[`cell ${json.cell}`, fixed2(json.values[api.at("src")])]],
    };
  },
};

const MAX_BITS = 8;
export const FULL_DIFFERENCE = 4; // bits: half of those of the full colour

/** Colours of the tokens of a text by their surprisal in bits. */
export function surprisalColours({ tokens: { src }, bits, ranks = [] }) {
  return (i) =>
    bits[i] === null
      ? { title: visible(src[i]) }
      : {
          background: shade(bits[i] / MAX_BITS),
          title: `${visible(src[i])}: ${fixed2(bits[i])} bits${ranks[i] ? `, rank ${ranks[i]}` : ""}`,
        };
}

export const surprise = {
  height: 200,
  draw(json, api) {
    const { src } = json.tokens,
      gain = editDifference(json, ({ bits }) => bits, api, FULL_DIFFERENCE);
    const more = (i) => ({
      background: signed((gain.values[i] ?? 0) / gain.limit, { behindText: true }),
      title: `${visible(src[i])}: ${gain.values[i] > 0 ? "+" : ""}${fixed2(gain.values[i])} bits`,
    });
    return {
      ...colouredText(json.tokens, api, "the text, coloured by surprisal", gain ? more : surprisalColours(json)),
      legend: gain
        ? signedColourBar(short(gain.limit, 2), "change of surprisal in bits: blue higher, orange lower")
        : colourBar("0", `${MAX_BITS} bits and more`, "", shade),
      values: () =>
        json.bits[api.at("src")] == null ? [] : [["surprisal", `${fixed2(json.bits[api.at("src")])} bits`]],
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
        x: { label: "lag" },
        y: { label: "gradient norm", scale: "log" },
        height: 250,
      }),
      legend: muted("spectral norm of ∂z(t)/∂z(t−n) by lag n; below 0.01: vanished"),
    };
  },
};
