// What moved the answer at the cursor: the same card for n-grams, hidden Markov models, filters,
// recurrent networks and attention; other models can be set below it, under the same cursor.
import { h } from "../dom.js";
import { get } from "../api.js";
import { signed } from "../colours.js";
import { matrix, rampLegend, signedLegend } from "../figures/matrix.js";
import { short } from "../figures/scales.js";
import { quoted, visible } from "../figures/symbols.js";
import { coloured } from "./time.js";

// Of a forecast every step ahead is a row, and the cursor is on what was observed.
const isAhead = (json) => json?.unit === "weight";
const UNITS = {
  weight: "by how much a forecast rises where an observation is one higher",
  nats: "nats: blue speaks for it, orange against it",
  number: "how much it moves the answer",
};

export const influence = {
  height: 240,
  at: (page) => (page.model.form === "forecast" ? undefined : (page.cursors.at("src") ?? undefined)),
  draw(json, api) {
    const others = (api.local("with") || "").split(",").filter(Boolean),
      limit = largest(json);
    const drawing = h(
      ".stack",
      { dataset: { active: "true" } },
      one(json, api, others.length > 0 && json.model),
      others.map((id) => {
        const place = h("div", { dataset: { beside: id } }, h("p.muted", `Asking ${id}…`));
        api.ask(id).then(
          (found) => place.replaceChildren(one(found, api, id), h("p.muted.small", found.caption)),
          (problem) => place.replaceChildren(h("p", h("b", id), `: ${problem.message}`)),
        );
        return place;
      }),
    );
    return {
      drawing,
      controls: beside(api, others),
      legend:
        json.unit === "share"
          ? rampLegend("0", short(limit, 2), "share of the attention", signed)
          : signedLegend(short(limit, 2), UNITS[json.unit]),
      values() {
        const at = api.at("src"),
          line = json.influence[rowAt(json, api)];
        if (at === null || !line) return [];
        // To say what is next, all up to the cursor counts; elsewhere it is the symbol there that does.
        const place =
          api.page.model.form === "next"
            ? line.reduce((top, value, i) => (Math.abs(value) > Math.abs(line[top]) ? i : top), 0)
            : at;
        return [
          [
            place === at ? "influence" : "most influence",
            `${visible(json.tokens.src[place])} ${short(line[place], 2)}`,
          ],
        ];
      },
    };
  },
};

/** One model's text in colours, or a matrix where all of an answer is asked about. */
function one(json, api, name) {
  const { src, tgt } = json.tokens,
    limit = largest(json),
    row = rowAt(json, api),
    line = json.influence[row],
    chance = json.chances?.[row];
  const drawing =
    row === null
      ? matrix({
          rows: tgt,
          columns: src,
          values: json.influence,
          kind: "signed",
          limit,
          show: (value) => short(value, 3),
          rowWord: "answer",
          columnWord: "symbol",
          onCell: (_, column) => api.move("src", column),
        })
      : coloured(json.tokens, api, "what was read, coloured by its influence", (i) => ({
          background: line[i] === null ? "" : signed(line[i] / limit, { behindText: true }),
          title: `${visible(src[i])}: ${line[i] === null ? "unknown" : short(line[i], 3)}`,
        }));
  drawing.follow?.();
  return h(
    "div",
    name && h("p.heat-name", h("b", name), ` by ${json.by}`),
    row !== null &&
      h("p.muted.small", `What moved ${quoted(tgt[row])}${chance == null ? "" : ` (${chance.toFixed(2)})`}:`),
    drawing.drawing || drawing,
  );
}

function rowAt(json, api) {
  if (json.influence.length === 1) return 0;
  if (isAhead(json)) return null;
  const row = (json.places || []).indexOf((api.at("src") ?? -2) + 1);
  return row < 0 ? null : row;
}

function largest(json) {
  return json.influence.flat().reduce((most, value) => Math.max(most, Math.abs(value ?? 0)), 0) || 1;
}

/** A list of other models of the same task to set beside this one. */
function beside(api, others) {
  const { id, task } = api.page.model,
    set = (chosen) => api.setLocal("with", chosen.join(",") || null);
  const list = h(
    "select",
    { dataset: { control: "influence.with" }, on: { change: (event) => set([...others, event.target.value]) } },
    h("option", { value: "" }, "another model…"),
  );
  get("/models").then(
    ({ models }) =>
      list.append(
        ...models
          .filter((model) => model.task === task && ![id, ...others].includes(model.id))
          .map((model) => h("option", { value: model.id }, model.id)),
      ),
    () => {},
  );
  return [
    h("label.control", h("span", "beside it"), list),
    others.map((other) =>
      h(
        "button",
        {
          class: "small",
          title: `Take ${other} away`,
          on: { click: () => set(others.filter((kept) => kept !== other)) },
        },
        `${other} ✕`,
      ),
    ),
  ];
}
