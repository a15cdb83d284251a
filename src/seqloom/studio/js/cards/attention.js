// Cards of attention: matrix or ribbons, all heads as thumbnails, hierarchical attention.
import { h } from "../dom.js";
import { shade } from "../colours.js";
import { matrix, paintCells, colourBar, signedColourBar } from "../figures/matrix.js";
import { muted, fixed2 } from "../figures/common.js";
import { ribbons } from "../figures/ribbons.js";
import { short } from "../figures/scales.js";
import { visible } from "../figures/tokens.js";
import { buttonGroup, slider } from "./controls.js";
import { editDifference, interventionButton } from "./interventions.js";

export const attention = {
  height: 420,
  draw(json, api) {
    const { src, tgt } = json.tokens,
      isSame = src.length === tgt.length && src.every((token, i) => token === tgt[i]);
    // In self-attention both sides are the same token strip.
    const side = isSame ? "src" : "tgt",
      gain = editDifference(json, ({ weights }) => weights, api),
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
          buttonGroup(
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
              label: "top-p",
              range: [0.3, 1, 0.05],
              help: "Draw only the largest weights of each row with this total.",
            },
            share,
            (value) => api.setLocal("share", value),
            "attention.share",
          ),
        interventionButton(
          api,
          "mute",
          json.head === "mean" ? (json.heads > 1 ? "Mute all heads" : "Mute attention") : "Mute this head",
          () => `mute layer=${json.layer}${json.head === "mean" ? "" : ` head=${json.head}`}`,
        ),
      ],
      legend: gain
        ? signedColourBar(short(gain.limit, 2), "change of the weight by the intervention")
        : asRibbons
          ? muted("width: attention weight; above: keys, below: queries")
          : colourBar("0", "1", "attention weight; outlined: the largest of its row; bars: entropy of a row in bits"),
      follow: () => drawing.setCursor({ row: api.at(side), column: isSame ? null : api.at("src") }),
      values() {
        const row = api.at(side),
          line = json.weights[row],
          best = line?.indexOf(Math.max(...line));
        return line ? [["attention", `${visible(tgt[row])} → ${visible(src[best])} ${fixed2(line[best])}`]] : [];
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
                  h("span", `${index}: ${head.behaviour}`),
                  muted(`${Math.round(100 * head.share)} % · ${fixed2(head.entropy)} bits`),
                ),
              ),
            ),
          ),
        ),
      ),
      legend: colourBar("0", "1", "attention weight; a click shows the head in the attention card"),
    };
  },
};

export const hierarchy = {
  height: 260,
  draw(json) {
    // Scaled by the weight of the sentence: words of a sentence with a low weight are pale.
    const tint = (own, whole) => shade(Math.min(1, own * Math.sqrt(whole) * 2));
    return {
      drawing: h(
        "div",
        json.sentences.map(({ weight, words, weights }) =>
          h(
            ".turn",
            h("span.turn-weight", h("span.turn-bar", { style: `width:${Math.max(2, 52 * weight)}px` }), fixed2(weight)),
            h(
              "p.turn-words",
              { dir: "auto" },
              words.map((word, i) => [
                h(
                  "span.turn-word",
                  {
                    title: `${visible(word)}: ${fixed2(weights[i])} within its sentence`,
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
        "left: attention weight of the sentence; blue: attention weight of the word, scaled by that of its sentence",
      ),
    };
  },
};
