// Cards of attention: the matrix or the ribbons, all heads in small, sentences and their words.
import { h } from "../dom.js";
import { shade } from "../colours.js";
import { matrix, paintCells, rampLegend } from "../figures/matrix.js";
import { ribbons } from "../figures/ribbons.js";
import { visible } from "../figures/symbols.js";
import { choice, slider } from "./controls.js";

const two = (value) => (value === null || value === undefined ? "" : value.toFixed(2));

export const attention = {
  height: 420,
  draw(json, api) {
    const { src, tgt } = json.tokens, side = json.rail || "tgt", other = side === "src" ? "tgt" : "src";
    const as = api.local("as", src.length > 40 || tgt.length > 40 ? "matrix" : "matrix"), share = Number(api.local("share", 0.9));
    const same = src.length === tgt.length && src.every((symbol, i) => symbol === tgt[i]);
    const move = (row, column) => { api.move(side, side === "src" && !same ? column : row); if (!same) api.move(other, other === "src" ? column : row); };
    const drawing = as === "ribbons"
      ? ribbons({ rows: tgt, columns: src, weights: json.weights, share, onRow: (row) => api.move(same ? side : "tgt", row), onColumn: (column) => !same && api.move("src", column) })
      : matrix({ rows: tgt, columns: src, values: json.weights, outline: true, entropy: json.entropy || entropies(json.weights), onCell: move });
    return {
      drawing,
      controls: [choice("attention as", [["matrix", "Matrix"], ["ribbons", "Ribbons"]], as, (value) => api.setLocal("as", value === "matrix" ? null : value)),
        as === "ribbons" && slider({ name: "share", label: "top share", range: [0.3, 1, 0.05], help: "Of each row, only the largest weights that together have this share are drawn." }, share, (value) => api.setLocal("share", value), "attention.share")],
      legend: [rampLegend("viridis", 0, 1, as === "ribbons" ? "width: the weight" : "weight; outlined: the largest of its row; bars: how spread out a row is, in bits")].slice(as === "ribbons" ? 1 : 0)
        .concat(as === "ribbons" ? [h("span", { class: "muted" }, "as wide as the weight; above: what is looked at, below: what looks")] : []),
      table: () => [["", ...src.map(visible)], ...json.weights.map((line, row) => [visible(tgt[row]), ...line.map(two)])],
      follow: () => drawing.setCursor(same ? { row: api.at(side) } : as === "ribbons" ? { row: api.at("tgt"), column: api.at("src") } : { row: api.at("tgt") ?? null }),
      values: () => {
        const row = api.at(same ? side : "tgt"), line = json.weights[row];
        if (!line) return [];
        const best = line.indexOf(Math.max(...line));
        return [["attention", `${visible(tgt[row])} → ${visible(src[best])} ${two(line[best])}`]];
      },
    };
  },
};

export const heads = {
  height: 360,
  draw(json, api) {
    const chosen = [api.page.option("attention", "layer"), api.page.option("attention", "head")];
    const sections = json.layers.map((layer, number) => h("div", { class: "heads-layer" }, h("h4", {}, layer.name),
      h("div", { class: "heads-row" }, ...layer.heads.map((head, index) => {
        const size = Math.max(2, Math.floor(96 / Math.max(head.weights.length, head.weights[0]?.length || 1)));
        const rows = head.weights.length, columns = head.weights[0]?.length || 0;
        return h("button", {
          type: "button", class: "head", "aria-pressed": String(String(chosen[0]) === String(number) && String(chosen[1]) === String(index)),
          title: `${layer.name}, head ${index + 1}: ${head.behaviour} ${Math.round(100 * head.share)} %, ${two(head.entropy)} bits`,
          on: { click: () => api.page.show("attention", { layer: number, head: index }) },
        }, h("span", { class: "head-picture", style: `width:${columns * size}px;height:${rows * size}px` }, paintCells(head.weights, rows, columns, "viridis", 1, { left: 0, top: 0, size })),
        h("span", { class: "head-name" }, `${index + 1}: ${head.behaviour}`), h("span", { class: "muted small number" }, `${Math.round(100 * head.share)} % · ${two(head.entropy)} bits`));
      }))));
    return {
      drawing: h("div", { class: "heads", dataset: { active: "true" } }, ...sections),
      legend: [rampLegend("viridis", 0, 1, "weight; a click shows the head above")],
      table: () => [["layer", "head", "behaviour", "share", "entropy in bits"], ...json.layers.flatMap((layer) => layer.heads.map((head, i) => [layer.name, i + 1, head.behaviour, two(head.share), two(head.entropy)]))],
    };
  },
};

export const hierarchy = {
  height: 260,
  draw(json) {
    const rows = json.sentences.map((sentence) => h("div", { class: "turn" },
      h("span", { class: "turn-weight", title: `the sentence: ${two(sentence.weight)}` }, h("span", { class: "turn-bar", style: `width:${Math.max(2, 100 * sentence.weight)}%` }), h("span", { class: "number" }, two(sentence.weight))),
      h("p", { class: "turn-words", dir: "auto" }, ...sentence.words.flatMap((word, i) => [h("span", {
        class: "turn-word", title: `${visible(word)}: ${two(sentence.weights[i])} of the sentence`, dataset: { weight: sentence.weights[i] },
        // Words of a sentence that is ignored fade, however much they count in it.
        style: `background:${shade(Math.min(1, sentence.weights[i] * Math.sqrt(sentence.weight) * 2))}`,
      }, visible(word)), " "]))));
    return {
      drawing: h("div", { class: "turns" }, ...rows),
      legend: [h("span", { class: "muted" }, "left: how much a sentence counts; blue: how much a word counts in it, paler in sentences that count little")],
      table: () => [["word", "in its sentence", "sentence"], ...json.sentences.flatMap((sentence) => sentence.words.map((word, i) => [visible(word), two(sentence.weights[i]), two(sentence.weight)]))],
    };
  },
};

function entropies(weights) {
  return weights.map((line) => line.reduce((sum, weight) => sum - (weight > 0 ? weight * Math.log2(weight) : 0), 0));
}
