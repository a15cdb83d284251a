// Cards of outputs: next-token and label probabilities, the tree of beam search, tags, the trellis of an HMM,
// forecasts, components, music.
import { h } from "../dom.js";
import { bars } from "../figures/bars.js";
import { components as drawComponents } from "../figures/components.js";
import { fanChart } from "../figures/fanchart.js";
import { muted, swatch, fixed2 } from "../figures/common.js";
import { pianoRoll } from "../figures/piano.js";
import { tokenStrip, scroller } from "../figures/strip.js";
import { percent } from "../figures/scales.js";
import { columnsOf, visible } from "../figures/tokens.js";
import { alternatives, tags as drawTags } from "../figures/tags.js";
import { beamTree } from "../figures/tree.js";
import { trellis as drawTrellis } from "../figures/trellis.js";
import { checkbox, buttonGroup } from "./controls.js";

const MOST_TOKENS = 12,
  MOST_LABELS = 20; // bars that are drawn

/** The probability of all tokens that are not among the first `count` of the view. */
export const probabilityOfOthers = ({ choices, rest }, count) =>
  choices.slice(count).reduce((sum, { p }) => sum + p, rest);

/** Probabilities of an edited run as bars, each with a mark at its value before the intervention. */
function barsWithBefore(json, nameOf, count, options = {}) {
  const before = new Map(json.before.choices.map((one) => [nameOf(one), one.p]));
  return {
    drawing: bars(
      json.choices
        .slice(0, count)
        .map((one) => ({ name: nameOf(one), value: before.get(nameOf(one)) ?? one.p, after: one.p })),
      { label: "probabilities in the edited run", ...options },
    ),
    legend: [swatch("var(--accent)", "edited"), h("span", h("span.share-mark.in-legend"), "before")],
  };
}

export const next = {
  height: 300,
  at(page, json) {
    const side = json?.rail || "src",
      position = page.cursors.at(side),
      tokens = json?.tokens[side];
    return position === null
      ? undefined
      : Math.max(
          0,
          Math.min(
            (tokens?.length ?? Infinity) - (side === "tgt" ? 2 : 1),
            position + (page.cursors.shift(side, tokens) ?? 0),
          ),
        );
  },
  draw(json) {
    const others = probabilityOfOthers(json, MOST_TOKENS),
      othersShown = others > 0 && muted(`all others ${percent(others)}`);
    if (json.before?.at === json.at) {
      const drawn = barsWithBefore(json, ({ symbol }) => symbol, MOST_TOKENS);
      return { ...drawn, legend: [drawn.legend, othersShown] };
    }
    const changed = json.choices.some(({ kept, p, after }) => !kept || Math.abs(after - p) > 0.002);
    return {
      drawing: bars(
        json.choices.slice(0, MOST_TOKENS).map(({ symbol, p, after, kept }) => ({ name: symbol, value: p, after, kept })),
        { label: "probability of each token" },
      ),
      legend: [
        changed && [
          swatch("var(--accent)", "sampling probability"),
          h("span", h("span.swatch.hatched"), "excluded"),
          h("span", h("span.share-mark.in-legend"), "model probability"),
        ],
        othersShown,
      ],
    };
  },
};

export const choices = {
  height: 180,
  draw(json) {
    const cut =
      json.choices.length > MOST_LABELS &&
      muted(`the ${MOST_LABELS} most probable of ${json.choices.length.toLocaleString("en")} labels are drawn`);
    if (json.before) {
      const drawn = barsWithBefore(json, ({ label }) => label, MOST_LABELS, { most: 1, plain: true });
      return { ...drawn, legend: [drawn.legend, cut] };
    }
    return {
      drawing: bars(
        json.choices.slice(0, MOST_LABELS).map(({ label, p }) => ({ name: label, value: p })),
        { most: 1, plain: true, label: "probability of each label" },
      ),
      legend: cut,
    };
  },
};

export const beam = {
  height: 380,
  hides: ["prefix"],
  draw(json, api) {
    const forced = api.local("prefix"),
      space = api.page.model.unit === "characters" ? "" : " ";
    return {
      drawing: beamTree({
        nodes: json.nodes,
        answers: json.answers,
        onForce: (tokens) => api.setOption("prefix", tokens.filter((token) => !/^<\/?s>$/.test(token)).join(space)),
      }),
      controls:
        forced &&
        h(
          "span.forced",
          `Prefix “${forced}” `,
          h("button", { class: "small", on: { click: () => api.setOption("prefix", null) } }, "Reset"),
        ),
      legend: [
        muted("thick: the output; dashed: pruned (reason on focus); a click forces that prefix"),
        h(
          "ol.written",
          (json.written || []).map((text, i) =>
            h(
              "li",
              h("bdi", text.trim() || visible(text)),
              " ",
              muted(fixed2(json.nodes[json.answers[i]]?.score ?? json.nodes[json.answers[i]]?.log_prob)),
            ),
          ),
        ),
      ],
    };
  },
};

export const tags = {
  height: 160,
  draw(json, api) {
    const { src } = json.tokens,
      drawing = drawTags({ ...json, tokens: src, onMove: (i) => api.move("src", i) });
    const was = json.before?.tags;
    if (was?.length === json.tags.length)
      for (const word of drawing.querySelectorAll(".tagged-word")) {
        const { label } = was[word.dataset.position];
        if (label !== json.tags[word.dataset.position].label)
          word.append(h("span.tag-before", { title: "before the intervention" }, label));
      }
    return {
      drawing,
      legend: muted("thickness of the line below a token: probability of its label"),
      follow: () => drawing.setCursor(api.at("src")),
      values: () => (json.tags[api.at("src")] ? [["tag", alternatives(json.tags[api.at("src")])]] : []),
    };
  },
};

export const trellis = {
  height: 320,
  draw(json, api) {
    const { src } = json.tokens,
      as = api.local("as", "smoothed"),
      withPath = api.local("path") !== "no",
      columns = columnsOf(src),
      onMove = (i) => api.move("src", i);
    const line = tokenStrip({ tokens: src, onMove, label: "input tokens, above the states" });
    const { names, stage } = drawTrellis({
      states: json.states,
      mass: json[as],
      path: withPath ? json.path : [],
      columns,
      onMove,
    });
    return {
      drawing: h(
        ".beside",
        { dataset: { active: "true" } },
        names,
        scroller(h("div", { style: `width:${columns.total}px` }, line, stage), api.group),
      ),
      controls: [
        buttonGroup(
          "trellis",
          [
            ["filtered", "Filtered"],
            ["smoothed", "Smoothed"],
          ],
          as,
          (value) => api.setLocal("as", value === "smoothed" ? null : value),
        ),
        checkbox("Viterbi path", withPath, (on) => api.setLocal("path", on ? null : "no"), "trellis.path"),
      ],
      legend: muted(
        `area of a dot: posterior probability of the state given ${as === "filtered" ? "the tokens so far" : "the whole sequence"}; thick: the Viterbi path`,
      ),
      follow: () => [line, stage].forEach((part) => part.setCursor(api.at("src"))),
      values() {
        const at = api.at("src"),
          state = json.path[at];
        return state === undefined ? [] : [["state", `${json.states[state]} ${fixed2(json[as][at][state])}`]];
      },
    };
  },
};

export const forecast = {
  height: 320,
  draw({ series, before }) {
    const several = series.length > 1;
    return {
      drawing: h(
        "div",
        { class: several ? "fans" : "", dataset: { active: "true" } },
        series.map((one, i) => fanChart(one, { height: several ? 170 : 260, before: before?.series[i]?.mean })),
      ),
      legend: ["50", "80", "95"].map((level) =>
        h("span", h("span", { class: `swatch band-${level}` }), `${level} % interval`),
      ),
    };
  },
};

export const components = {
  height: 420,
  draw: (json) => ({ drawing: drawComponents(json), legend: muted("band: 95 % interval (± 1.96 σ)") }),
};

export const piano = {
  height: 300,
  draw: (json) => ({
    drawing: pianoRoll(json),
    legend: [swatch("var(--accent)", "generated"), json.given > 0 && swatch("var(--muted)", "prompt")],
  }),
};
