// Cards over time, aligned with the rail: gates, states, the text coloured by one cell, surprise,
// and how far back a gradient reaches.
import { h } from "../dom.js";
import { shade, signed } from "../colours.js";
import { heat } from "../figures/heat.js";
import { lines } from "../figures/lines.js";
import { rampLegend } from "../figures/matrix.js";
import { rail, scroller } from "../figures/rail.js";
import { short } from "../figures/scales.js";
import { columnsOf, visible } from "../figures/symbols.js";
import { choice } from "./controls.js";

const two = (value) => (value === null || value === undefined ? "" : value.toFixed(2));
const mean = (values) => values.reduce((sum, value) => sum + value, 0) / Math.max(1, values.length);

/** Panels one below another under a copy of the rail, all in one line that scrolls with the others. */
function inTime(tokens, panels, api) {
  const columns = columnsOf(tokens);
  const line = rail({ tokens, onMove: (i) => api.move("src", i), label: "what was read, above the cells" });
  const figures = panels.map(({ name, title, values, order, kind, range, onCell }) => {
    const picture = heat({ values, order, columns, kind, range, name, onMove: (i) => api.move("src", i), onCell });
    return { title: h("p", { class: "heat-name" }, title || name), picture };
  });
  const status = h("div", { class: "heat-line" });
  for (const { picture } of figures) {
    picture.addEventListener("pointerenter", () => status.replaceChildren(picture.status));
    picture.addEventListener("focus", () => status.replaceChildren(picture.status));
  }
  if (figures.length) status.append(figures[0].picture.status);
  const drawing = h("div", { dataset: { active: "true" } },
    scroller(h("div", { class: "in-time", style: `width:${columns.total}px` }, line, ...figures.flatMap(({ title, picture }) => [title, picture])), api.group), status);
  return { drawing, setCursor: (i) => { line.setCursor(i); figures.forEach(({ picture }) => picture.setCursor(i)); } };
}

export const gates = {
  height: 520,
  draw(json, api) {
    const { src } = json.tokens, names = Object.keys(json.gates);
    const shown = api.local("gate", "all"), percent = (share) => `${Math.round(100 * share)} %`;
    const bare = (name) => name.replace(/^gate\./, "");
    const drawn = inTime(src, names.filter((name) => shown === "all" || bare(name) === shown).map((name) => ({
      name: bare(name), title: `${bare(name)}: ${percent(json.gates[name].open)} open (>0.9), ${percent(json.gates[name].shut)} shut (<0.1)`,
      values: json.gates[name].values, order: json.order,
    })), api);
    return {
      drawing: drawn.drawing,
      controls: choice("gate", [["all", "All"], ...names.map((name) => [bare(name), bare(name)])], shown, (value) => api.setLocal("gate", value === "all" ? null : value)),
      legend: [rampLegend("viridis", 0, 1, "value of the gate: 0 shut, 1 open; each row is a cell")],
      table: () => [["mean over cells", ...names.map(bare)], ...src.map((symbol, time) => [visible(symbol), ...names.map((name) => two(mean(json.gates[name].values[time])))]),
        ["open (>0.9)", ...names.map((name) => percent(json.gates[name].open))], ["shut (<0.1)", ...names.map((name) => percent(json.gates[name].shut))]],
      follow: () => drawn.setCursor(api.at("src")),
      values: () => names.filter((name) => json.gates[name].values[api.at("src")]).map((name) => [`${bare(name)} gate, mean`, two(mean(json.gates[name].values[api.at("src")]))]),
    };
  },
};

export const states = {
  height: 320,
  draw(json, api) {
    const { src } = json.tokens, [low, high] = json.range || [-1, 1], limit = Math.max(Math.abs(low), Math.abs(high));
    const drawn = inTime(src, [{ name: "state", title: json.layers?.[json.layer] || "state", values: json.values, order: json.order, kind: "signed", range: [-limit, limit], onCell: (cell) => api.page.choose("cell", "cell", cell) }], api);
    return {
      drawing: drawn.drawing,
      legend: [rampLegend("signed", short(-limit), short(limit), "state of a cell; a click colours the text by it")],
      table: () => [["mean, least, largest", "mean", "least", "largest"], ...src.map((symbol, time) => [visible(symbol), two(mean(json.values[time])), two(Math.min(...json.values[time])), two(Math.max(...json.values[time]))])],
      follow: () => drawn.setCursor(api.at("src")),
      values: () => { const line = json.values[api.at("src")]; return line ? [["state, mean", two(mean(line))]] : []; },
    };
  },
};

export const cell = {
  height: 260,
  hides: ["cell"],
  draw(json, api) {
    const { src } = json.tokens, [low, high] = json.range || [-1, 1], limit = Math.max(1e-9, Math.abs(low), Math.abs(high));
    const guesses = api.local("guesses", "") === "yes" && json.predictions;
    const said = (i) => `${visible(src[i])}: ${json.values[i] === null ? "unknown" : two(json.values[i])}`;
    const text = rail({
      tokens: src, wrap: true, label: `the text, coloured by cell ${json.cell}`, onMove: (i) => api.move("src", i),
      paint: (i) => ({ background: signed((json.values[i] ?? 0) / limit, { behindText: true }), title: said(i) }),
      below: guesses && ((i) => h("span", { class: "guesses", "aria-hidden": "true" }, ...(json.predictions[i] || []).map(([symbol, p]) => h("span", { style: `background:${shade(p)}` }, visible(symbol))))),
    });
    text.classList.toggle("words", src.filter((symbol) => [...symbol].length > 1).length > src.length / 3);
    const number = h("input", { type: "number", class: "short", min: 0, value: json.cell, dataset: { control: "cell.cell" }, on: { change: (event) => api.setOption("cell", event.target.value) } });
    const stories = (json.stories || []).map((story) => h("li", {}, h("button", {
      type: "button", class: "story", "aria-pressed": String(story.cell === json.cell), dataset: { control: `story.${story.cell}` }, on: { click: () => api.setOption("cell", story.cell) },
    }, h("b", {}, `Cell ${story.cell}`), h("span", {}, story.sentence || story.story), h("span", { class: "muted small number" }, `${two(story.information)} bits`))));
    return {
      drawing: text,
      controls: [h("label", { class: "control", title: "↑ and ↓ step from cell to cell." }, h("span", {}, "cell"), number),
        json.predictions && h("label", { class: "control" }, h("input", { type: "checkbox", checked: Boolean(guesses), dataset: { control: "cell.guesses" }, on: { change: (event) => api.setLocal("guesses", event.target.checked ? "yes" : null) } }), h("span", {}, "next guesses below"))],
      legend: [rampLegend("signed", short(-limit), short(limit), `state of cell ${json.cell}: orange is negative, blue positive`),
        stories.length > 0 && h("details", { class: "stories", open: true }, h("summary", {}, "Cells with a story"), h("ol", {}, ...stories))],
      table: () => [["symbol", `cell ${json.cell}`], ...src.map((symbol, i) => [visible(symbol), two(json.values[i])])],
      follow: () => text.setCursor(api.at("src")),
      values: () => (json.values[api.at("src")] == null ? [] : [[`cell ${json.cell}`, two(json.values[api.at("src")])]]),
    };
  },
};

export const surprise = {
  height: 200,
  draw(json, api) {
    const { src } = json.tokens, most = 8;
    const said = (i) => (json.bits[i] === null ? visible(src[i]) : `${visible(src[i])}: ${two(json.bits[i])} bits${json.ranks[i] ? `, guess ${json.ranks[i]}` : ""}`);
    const text = rail({ tokens: src, wrap: true, label: "the text, coloured by how much it surprises", onMove: (i) => api.move("src", i), paint: (i) => ({ background: json.bits[i] === null ? "" : shade(json.bits[i] / most), title: said(i) }) });
    text.classList.toggle("words", src.filter((symbol) => [...symbol].length > 1).length > src.length / 3);
    return {
      drawing: text,
      legend: [h("span", { class: "ramp-legend" }, "0", h("span", { class: "ramp", "aria-hidden": "true", style: `background:linear-gradient(90deg, ${[0, 0.5, 1].map(shade).join(", ")})` }), `${most} bits and more`)],
      table: () => [["symbol", "bits", "guess"], ...src.map((symbol, i) => [visible(symbol), two(json.bits[i]), json.ranks[i] ?? ""])],
      follow: () => text.setCursor(api.at("src")),
      values: () => (json.bits[api.at("src")] == null ? [] : [["surprise", `${two(json.bits[api.at("src")])} bits`]]),
    };
  },
};

export const gradient = {
  height: 300,
  draw(json) {
    const series = json.models.flatMap((model, index) => [
      { name: model.name, colour: index, points: model.state.map((value, lag) => [lag, value]) },
      ...(model.bound && json.models.length === 1 ? [{ name: "bound", colour: 6, points: model.bound.map((value, lag) => [lag, value]).filter(([, value]) => value > 1e-12) }] : []),
    ]);
    const drawing = lines({ series, x: { label: "steps back", scale: "linear" }, y: { label: "how much is felt", scale: "log" }, height: 250 });
    const longest = Math.max(...json.models.map((model) => model.state.length));
    return {
      drawing,
      legend: [h("span", { class: "muted" }, "1 is all of a change; below 0.01 it counts as forgotten")],
      table: () => [["steps back", ...json.models.map((model) => model.name)], ...Array.from({ length: longest }, (_, lag) => [lag, ...json.models.map((model) => (model.state[lag] === undefined ? "" : short(model.state[lag], 3)))])],
    };
  },
};
