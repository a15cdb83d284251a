// Cards of answers: what comes next, labels, the tree of a search, tags, the trellis of a hidden
// Markov model, forecasts, components, music.
import { h } from "../dom.js";
import { bars } from "../figures/bars.js";
import { components as drawComponents, componentsTable } from "../figures/components.js";
import { fan, fanTable } from "../figures/fan.js";
import { pianoRoll, pitchName } from "../figures/piano.js";
import { rail, scroller } from "../figures/rail.js";
import { percent } from "../figures/scales.js";
import { columnsOf, visible } from "../figures/symbols.js";
import { alternatives, tags as drawTags } from "../figures/tags.js";
import { tree } from "../figures/tree.js";
import { trellis as drawTrellis } from "../figures/trellis.js";
import { choice } from "./controls.js";

const two = (value) => (value === null || value === undefined ? "" : value.toFixed(2));

export const next = {
  height: 300,
  at(page, json) {
    const side = json?.rail || "src", place = page.cursors.at(side);
    if (place === null) return undefined;
    return Math.max(0, place + (page.cursors.shift(side, json?.tokens?.[side]) ?? 0));
  },
  draw(json) {
    const rows = json.choices.slice(0, 12).map((found) => ({ name: found.symbol, value: found.p, after: found.after, kept: found.kept }));
    const changed = json.choices.some((found) => !found.kept || Math.abs(found.after - found.p) > 0.002);
    return {
      drawing: bars(rows, { label: "how likely each symbol is" }),
      legend: [h("span", {}, h("span", { class: "swatch", style: "background:var(--accent)" }), "what is drawn"), changed && h("span", {}, h("span", { class: "swatch hatched" }), "cut off"),
        changed && h("span", {}, h("span", { class: "share-mark in-legend" }), "before the settings"), json.rest > 0 && h("span", { class: "muted" }, `all others together ${percent(json.rest)}`)],
      table: () => [["symbol", "of the model", "drawn with", "kept"], ...json.choices.map((found) => [visible(found.symbol), found.p.toFixed(4), found.after.toFixed(4), found.kept ? "yes" : "cut"])],
    };
  },
};

export const choices = {
  height: 180,
  draw: (json) => ({
    drawing: bars(json.choices.slice(0, 20).map(({ label, p }) => ({ name: label, value: p })), { most: 1, plain: true, label: "how likely each label is" }),
    table: () => [["label", "probability"], ...json.choices.map(({ label, p }) => [label, p.toFixed(4)])],
  }),
};

export const beam = {
  height: 380,
  draw(json, api) {
    const space = json.joined ?? (api.page.model.unit === "character" ? "" : " ");
    const forced = api.local("prefix", "");
    const drawing = tree({ nodes: json.nodes, answers: json.answers, onForce: (symbols) => api.setOption("prefix", symbols.filter((symbol) => !/^<\/?s>$/.test(symbol)).join(space)) });
    return {
      drawing,
      controls: forced && h("span", { class: "forced" }, `Begins with “${forced}” `, h("button", { type: "button", class: "small", on: { click: () => api.setOption("prefix", null) } }, "Reset")),
      legend: [h("span", { class: "muted" }, "thick: the answer; dashed: dropped, the reason on focus; a click begins the answer with that path"),
        h("ol", { class: "written" }, ...(json.written || []).map((text, i) => h("li", {}, h("bdi", {}, text), " ", h("span", { class: "muted number" }, two(json.nodes[json.answers[i]]?.score ?? json.nodes[json.answers[i]]?.log_prob)))))],
      table: () => [["step", "symbol", "log-probability", "score", "fate", "why"], ...json.nodes.map((node) => [node.step, visible(node.symbol), two(node.log_prob), two(node.score), node.fate, node.why || ""])],
    };
  },
};

export const tags = {
  height: 160,
  draw(json, api) {
    const { src } = json.tokens;
    const drawing = drawTags({ tokens: src, tags: json.tags, spans: json.spans, labels: json.labels, onMove: (i) => api.move("src", i) });
    return {
      drawing,
      legend: [h("span", { class: "muted" }, "the line below a word is as thick as the model is sure")],
      table: () => [["word", "tag", "probability", "others"], ...src.map((word, i) => [visible(word), json.tags[i]?.label, json.tags[i]?.p == null ? "" : json.tags[i].p.toFixed(3), alternatives(json.tags[i] || {})])],
      follow: () => drawing.setCursor(api.at("src")),
      values: () => { const tag = json.tags[api.at("src")]; return tag ? [["tag", alternatives(tag)]] : []; },
    };
  },
};

export const trellis = {
  height: 320,
  draw(json, api) {
    const { src } = json.tokens, as = api.local("as", "smoothed"), columns = columnsOf(src);
    const line = rail({ tokens: src, onMove: (i) => api.move("src", i), label: "what was read, above the states" });
    const { names, stage } = drawTrellis({ states: json.states, mass: json[as] || json.smoothed, path: json.path, columns, onMove: (i) => api.move("src", i), showPath: api.local("path", "yes") === "yes" });
    names.style.marginTop = "30px";
    return {
      drawing: h("div", { class: "beside", dataset: { active: "true" } }, names, scroller(h("div", { class: "in-time", style: `width:${columns.total}px` }, line, stage), api.group)),
      controls: [choice("trellis", [["filtered", "Filtered"], ["smoothed", "Smoothed"]], as, (value) => api.setLocal("as", value === "smoothed" ? null : value)),
        h("label", { class: "control" }, h("input", { type: "checkbox", checked: api.local("path", "yes") === "yes", dataset: { control: "trellis.path" }, on: { change: (event) => api.setLocal("path", event.target.checked ? null : "no") } }), h("span", {}, "Viterbi path"))],
      legend: [h("span", { class: "muted" }, `area of a dot: how likely the state is, ${as === "filtered" ? "from what came before" : "from all of the text"}; thick: the likeliest path`)],
      table: () => [["symbol", "path", ...json.states], ...src.map((symbol, time) => [visible(symbol), json.states[json.path[time]], ...json[as][time].map(two)])],
      follow: () => { line.setCursor(api.at("src")); stage.setCursor(api.at("src")); },
      values: () => { const at = api.at("src"); return json.path[at] === undefined ? [] : [["state", `${json.states[json.path[at]]} ${two(json[as][at][json.path[at]])}`]]; },
    };
  },
};

export const forecast = {
  height: 320,
  draw(json) {
    const several = json.series.length > 1;
    return {
      drawing: h("div", { class: several ? "fans" : "fans alone", dataset: { active: "true" } }, ...json.series.map((series) => h("div", {}, several && h("p", { class: "heat-name" }, series.name), fan(series, { height: several ? 170 : 260 })))),
      legend: [["0.5", "50 %"], ["0.8", "80 %"], ["0.95", "95 %"]].map(([share, shown]) => h("span", {}, h("span", { class: `swatch band-${shown.slice(0, 2)}` }), `holds ${shown}`)),
      table: () => json.series.flatMap((series) => { const [head, ...rows] = fanTable(series); return [several ? [series.name, ...head.slice(1)] : head, ...rows]; }),
    };
  },
};

export const components = {
  height: 420,
  draw: (json) => ({ drawing: drawComponents(json), legend: [h("span", { class: "muted" }, "the band holds 95 % (1.96 σ either way)")], table: () => componentsTable(json) }),
};

export const piano = {
  height: 300,
  draw: (json) => ({
    drawing: pianoRoll(json),
    legend: [h("span", {}, h("span", { class: "swatch", style: "background:var(--accent)" }), "drawn by the model"), json.given > 0 && h("span", {}, h("span", { class: "swatch", style: "background:var(--muted)" }), "given")],
    table: () => [["step", "pitches"], ...json.frames.map((frame, i) => [i + 1, frame.map(pitchName).join(" ")])],
  }),
};
