// Cards of answers: what comes next, labels, the tree of a search, tags, the trellis of a hidden
// Markov model, forecasts, components, music.
import { h } from "../dom.js";
import { bars } from "../figures/bars.js";
import { components as drawComponents } from "../figures/components.js";
import { fan } from "../figures/fan.js";
import { muted, swatch, two } from "../figures/parts.js";
import { pianoRoll } from "../figures/piano.js";
import { rail, scroller } from "../figures/rail.js";
import { percent } from "../figures/scales.js";
import { columnsOf, visible } from "../figures/symbols.js";
import { alternatives, tags as drawTags } from "../figures/tags.js";
import { tree } from "../figures/tree.js";
import { trellis as drawTrellis } from "../figures/trellis.js";
import { check, choice } from "./controls.js";

/** Bars of an edited run, each with a mark where it was before. */
function besideBefore(json, nameOf, count, options = {}) {
  const before = new Map(json.before.choices.map((one) => [nameOf(one), one.p]));
  return {
    drawing: bars(
      json.choices
        .slice(0, count)
        .map((one) => ({ name: nameOf(one), value: before.get(nameOf(one)) ?? one.p, after: one.p })),
      { label: "how likely each is in the edited run", ...options },
    ),
    legend: [swatch("var(--accent)", "edited"), h("span", h("span.share-mark.in-legend"), "before")],
  };
}

export const next = {
  height: 300,
  at(page, json) {
    const side = json?.rail || "src",
      place = page.cursors.at(side),
      read = json?.tokens[side];
    return place === null
      ? undefined
      : Math.max(
          0,
          Math.min(
            (read?.length ?? Infinity) - (side === "tgt" ? 2 : 1),
            place + (page.cursors.shift(side, read) ?? 0),
          ),
        );
  },
  draw(json) {
    if (json.before?.at === json.at) return besideBefore(json, ({ symbol }) => symbol, 12);
    const changed = json.choices.some(({ kept, p, after }) => !kept || Math.abs(after - p) > 0.002);
    return {
      drawing: bars(
        json.choices.slice(0, 12).map(({ symbol, p, after, kept }) => ({ name: symbol, value: p, after, kept })),
        { label: "how likely each symbol is" },
      ),
      legend: [
        changed && [
          swatch("var(--accent)", "drawn with"),
          h("span", h("span.swatch.hatched"), "cut off"),
          h("span", h("span.share-mark.in-legend"), "of the model"),
        ],
        json.rest > 0 && muted(`all others ${percent(json.rest)}`),
      ],
    };
  },
};

export const choices = {
  height: 180,
  draw: (json) =>
    json.before
      ? besideBefore(json, ({ label }) => label, 20, { most: 1, plain: true })
      : {
          drawing: bars(
            json.choices.slice(0, 20).map(({ label, p }) => ({ name: label, value: p })),
            { most: 1, plain: true, label: "how likely each label is" },
          ),
        },
};

export const beam = {
  height: 380,
  hides: ["prefix"],
  draw(json, api) {
    const forced = api.local("prefix"),
      space = api.page.model.unit === "characters" ? "" : " ";
    return {
      drawing: tree({
        nodes: json.nodes,
        answers: json.answers,
        onForce: (symbols) => api.setOption("prefix", symbols.filter((symbol) => !/^<\/?s>$/.test(symbol)).join(space)),
      }),
      controls:
        forced &&
        h(
          "span.forced",
          `Begins with “${forced}” `,
          h("button", { class: "small", on: { click: () => api.setOption("prefix", null) } }, "Reset"),
        ),
      legend: [
        muted("thick: the answer; dashed: dropped, the reason on focus; a click begins the answer with that path"),
        h(
          "ol.written",
          (json.written || []).map((text, i) =>
            h(
              "li",
              h("bdi", text.trim() || visible(text)),
              " ",
              muted(two(json.nodes[json.answers[i]]?.score ?? json.nodes[json.answers[i]]?.log_prob)),
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
        const { label } = was[word.dataset.place];
        if (label !== json.tags[word.dataset.place].label)
          word.append(h("span.tag-before", { title: "before the edit" }, label));
      }
    return {
      drawing,
      legend: muted("the line below a word is as thick as the model is sure"),
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
    const line = rail({ tokens: src, onMove, label: "what was read, above the states" });
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
        choice(
          "trellis",
          [
            ["filtered", "Filtered"],
            ["smoothed", "Smoothed"],
          ],
          as,
          (value) => api.setLocal("as", value === "smoothed" ? null : value),
        ),
        check("Viterbi path", withPath, (on) => api.setLocal("path", on ? null : "no"), "trellis.path"),
      ],
      legend: muted(
        `area of a dot: how likely the state is, ${as === "filtered" ? "from what came before" : "from all of the text"}; thick: the likeliest path`,
      ),
      follow: () => [line, stage].forEach((part) => part.setCursor(api.at("src"))),
      values() {
        const at = api.at("src"),
          state = json.path[at];
        return state === undefined ? [] : [["state", `${json.states[state]} ${two(json[as][at][state])}`]];
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
        series.map((one, i) => fan(one, { height: several ? 170 : 260, before: before?.series[i]?.mean })),
      ),
      legend: ["50", "80", "95"].map((share) =>
        h("span", h("span", { class: `swatch band-${share}` }), `holds ${share} %`),
      ),
    };
  },
};

export const components = {
  height: 420,
  draw: (json) => ({ drawing: drawComponents(json), legend: muted("the band holds 95 % (1.96 σ either way)") }),
};

export const piano = {
  height: 300,
  draw: (json) => ({
    drawing: pianoRoll(json),
    legend: [swatch("var(--accent)", "drawn by the model"), json.given > 0 && swatch("var(--muted)", "given")],
  }),
};
