// Cards of attention: the matrix or the ribbons, all heads in small, sentences and their words.
import { h } from "../dom.js";
import { shade } from "../colours.js";
import { matrix, paintCells, rampLegend, signedLegend } from "../figures/matrix.js";
import { muted, two } from "../figures/parts.js";
import { ribbons } from "../figures/ribbons.js";
import { short } from "../figures/scales.js";
import { visible } from "../figures/symbols.js";
import { choice, slider } from "./controls.js";
import { gained, intervene } from "./edits.js";

export const attention = {
  height: 420,
  draw(json, api) {
    const { src, tgt } = json.tokens,
      isSame = src.length === tgt.length && src.every((symbol, i) => symbol === tgt[i]);
    // Where a text looks at itself, both sides are the one rail.
    const side = isSame ? "src" : "tgt",
      gain = gained(json, ({ weights }) => weights, api),
      asRibbons = api.local("as") === "ribbons" && !gain,
      share = Number(api.local("share", 0.9));
    const onRow = (row) => api.move(side, row),
      onColumn = (column) => isSame || api.move("src", column);
    const drawing = asRibbons
      ? ribbons({ rows: tgt, columns: src, weights: json.weights, share, onRow, onColumn })
      : matrix({
          rows: tgt,
          columns: src,
          values: gain ? gain.values : json.weights,
          ...(gain ? { kind: "signed", limit: gain.limit } : { outline: true, entropy: json.entropy }),
          onCell: (row, column) => {
            onRow(row);
            onColumn(column);
          },
        });
    return {
      drawing,
      controls: [
        gain === null &&
          choice(
            "attention as",
            [
              ["matrix", "Matrix"],
              ["ribbons", "Ribbons"],
            ],
            asRibbons ? "ribbons" : "matrix",
            (value) => api.setLocal("as", value === "matrix" ? null : value),
          ),
        asRibbons &&
          slider(
            {
              name: "share",
              label: "top share",
              range: [0.3, 1, 0.05],
              help: "Of each row, only the largest weights that together have this share are drawn.",
            },
            share,
            (value) => api.setLocal("share", value),
            "attention.share",
          ),
        intervene(
          api,
          "mute",
          json.head === "mean" ? (json.heads > 1 ? "Mute all heads" : "Mute it") : "Mute this head",
          () => `mute layer=${json.layer}${json.head === "mean" ? "" : ` head=${json.head}`}`,
        ),
      ],
      legend: gain
        ? signedLegend(short(gain.limit, 2), "what the edit added to a weight")
        : asRibbons
          ? muted("as wide as the weight; above: what is looked at, below: what looks")
          : rampLegend("0", "1", "weight; outlined: the largest of its row; bars: how spread out a row is, in bits"),
      follow: () => drawing.setCursor({ row: api.at(side), column: isSame ? null : api.at("src") }),
      values() {
        const row = api.at(side),
          line = json.weights[row],
          best = line?.indexOf(Math.max(...line));
        return line ? [["attention", `${visible(tgt[row])} → ${visible(src[best])} ${two(line[best])}`]] : [];
      },
    };
  },
};

export const heads = {
  height: 360,
  draw(json, api) {
    const chosen = ["layer", "head"].map((name) => api.page.option("attention", name)).join();
    const picture = ({ weights }) => {
      const size = Math.max(2, Math.floor(96 / Math.max(weights.length, weights[0].length)));
      return h(
        "span.head-picture",
        { style: `width:${weights[0].length * size}px;height:${weights.length * size}px` },
        paintCells(weights, "viridis", 1, { left: 0, top: 0, size }),
      );
    };
    return {
      drawing: h(
        "div",
        { dataset: { active: "true" } },
        json.layers.map((layer, number) =>
          h(
            ".heads-layer",
            h("h4", layer.name),
            h(
              ".heads-row",
              layer.heads.map((head, index) =>
                h(
                  "button",
                  {
                    type: "button",
                    class: "head",
                    "aria-pressed": String(chosen === `${number},${index}`),
                    on: { click: () => api.page.show("attention", { layer: number, head: index }) },
                  },
                  picture(head),
                  h("span", `${index + 1}: ${head.behaviour}`),
                  muted(`${Math.round(100 * head.share)} % · ${two(head.entropy)} bits`),
                ),
              ),
            ),
          ),
        ),
      ),
      legend: rampLegend("0", "1", "weight; a click shows the head in the card of attention"),
    };
  },
};

export const hierarchy = {
  height: 260,
  draw(json) {
    // Words of a sentence that is ignored fade, however much they count in it.
    const tint = (own, whole) => shade(Math.min(1, own * Math.sqrt(whole) * 2));
    return {
      drawing: h(
        "div",
        json.sentences.map(({ weight, words, weights }) =>
          h(
            ".turn",
            h("span.turn-weight", h("span.turn-bar", { style: `width:${Math.max(2, 52 * weight)}px` }), two(weight)),
            h(
              "p.turn-words",
              { dir: "auto" },
              words.map((word, i) => [
                h(
                  "span.turn-word",
                  {
                    title: `${visible(word)}: ${two(weights[i])} of the sentence`,
                    dataset: { weight: weights[i] },
                    style: `background:${tint(weights[i], weight)}`,
                  },
                  visible(word),
                ),
                " ",
              ]),
            ),
          ),
        ),
      ),
      legend: muted(
        "left: how much a sentence counts; blue: how much a word counts in it, paler in sentences that count little",
      ),
    };
  },
};
