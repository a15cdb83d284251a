// What moved the answer at the cursor: the same card for n-grams, hidden Markov models, filters,
// recurrent networks and attention; other models can be set below it, under the same cursor.
import { h } from "../dom.js";
import { get } from "../api.js";
import { signed } from "../colours.js";
import { matrix, rampLegend } from "../figures/matrix.js";
import { rail } from "../figures/rail.js";
import { short } from "../figures/scales.js";
import { quoted, visible } from "../figures/symbols.js";

export const influence = {
  height: 240,
  at: (page) => page.cursors.at("src") ?? undefined,
  draw(json, api) {
    const others = String(api.local("with", "") || "").split(",").filter(Boolean);
    const rows = h("div", { class: "stack", dataset: { active: "true" } }, one(json, api, others.length ? json.model : ""));
    for (const id of others) {
      const place = h("div", { dataset: { beside: id } }, h("p", { class: "muted" }, `Asking ${id}…`));
      rows.append(place);
      api.ask(id, {}).then((found) => place.replaceChildren(one(found, api, id), h("p", { class: "muted small" }, found.caption)),
        (problem) => place.replaceChildren(h("p", {}, h("b", {}, id), `: ${problem.message}`)));
    }
    const limit = largest(json);
    return {
      drawing: rows,
      controls: beside(api, others),
      legend: [json.unit === "share" ? rampLegend("signed", 0, short(limit, 2), "share of the attention") : rampLegend("signed", short(-limit, 2), short(limit, 2), json.unit === "nats" ? "nats: blue speaks for it, orange against it" : "how much it moves the answer")],
      table: () => [["", ...json.tokens.src.map(visible)], ...json.influence.map((line, row) => [visible(json.tokens.tgt[row]), ...line.map((value) => (value === null ? "?" : short(value, 3)))])],
      values: () => {
        const line = json.influence[rowAt(json, api)] || [], best = line.reduce((top, value, i) => (Math.abs(value ?? 0) > Math.abs(line[top] ?? 0) ? i : top), 0);
        return line.length ? [["most influence", `${visible(json.tokens.src[best])} ${short(line[best], 2)}`]] : [];
      },
    };
  },
};

/** One model's rail, or a matrix where all of an answer is asked about. */
function one(json, api, name) {
  const { src, tgt } = json.tokens, limit = largest(json);
  const head = name && h("p", { class: "heat-name" }, h("b", {}, name), ` by ${json.by}`);
  if (json.influence.length > 1 && rowAt(json, api) === null) {
    return h("div", {}, head, matrix({ rows: tgt, columns: src, values: json.influence, kind: "signed", limit, show: (value) => short(value, 3), rowWord: "answer", columnWord: "symbol", onCell: (row, column) => api.move("src", column) }));
  }
  const row = rowAt(json, api) ?? 0, line = json.influence[row] || [], chance = json.chances?.[row];
  const text = rail({
    tokens: src, wrap: true, label: "what was read, coloured by its influence", onMove: (i) => api.move("src", i),
    paint: (i) => ({ background: line[i] === null ? "" : signed(line[i] / limit, { behindText: true }), title: `${visible(src[i])}: ${line[i] === null ? "unknown" : short(line[i], 3)}` }),
  });
  text.classList.toggle("words", src.filter((symbol) => [...symbol].length > 1).length > src.length / 3);
  text.setCursor(api.at("src"));
  return h("div", {}, head, h("p", { class: "muted small" }, `What moved ${quoted(tgt[row])}${chance == null ? "" : ` (${chance.toFixed(2)})`}:`), text);
}

function rowAt(json, api) {
  if (json.influence.length === 1) return 0;
  const at = api.at("src"), row = (json.places || []).indexOf(at === null ? -1 : at + 1);
  return row < 0 ? null : row;
}

function largest(json) {
  return json.influence.flat().reduce((most, value) => Math.max(most, Math.abs(value ?? 0)), 0) || 1;
}

/** A list of other models of the same task to set beside this one. */
function beside(api, others) {
  const list = h("select", { dataset: { control: "influence.with" }, on: { change: (event) => api.setLocal("with", [...others, event.target.value].join(",")) } }, h("option", { value: "" }, "another model…"));
  get("/models").then(({ models }) => list.append(...models.filter((model) => model.task === api.page.model.task && model.id !== api.page.model.id && !others.includes(model.id))
    .map((model) => h("option", { value: model.id }, model.id))), () => {});
  return [h("label", { class: "control" }, h("span", {}, "beside it"), list),
    ...others.map((id) => h("button", { type: "button", class: "small", title: `Take ${id} away`, on: { click: () => api.setLocal("with", others.filter((other) => other !== id).join(",") || null) } }, `${id} ✕`))];
}
