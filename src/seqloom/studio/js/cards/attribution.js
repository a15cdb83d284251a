// Attribution: which inputs influence the prediction at the cursor. The same card for n-grams, HMMs, Kalman filters,
// recurrent networks and attention; other models can be shown below, with the same cursor.
import { h } from "../dom.js";
import { get } from "../api.js";
import { signed } from "../colours.js";
import { matrix, colourBar, signedColourBar } from "../figures/matrix.js";
import { short } from "../figures/scales.js";
import { quoted, visible } from "../figures/tokens.js";
import { colouredText } from "./activations.js";

// The rows of a forecast are its steps; the cursor is on the observations.
const isForecast = (json) => json?.unit === "weight";
const UNITS = {
  weight: "change of the forecast per unit of an observation",
  nats: "nats: blue increases the log-probability, orange decreases it",
  number: "influence on the prediction",
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
      attributions(json, api, others.length > 0 && json.model),
      others.map((id) => {
        const box = h("div", { dataset: { beside: id } }, h("p.muted", `Loading ${id}…`));
        api.request(id).then(
          (other) => box.replaceChildren(attributions(other, api, id), h("p.muted.small", other.caption)),
          (problem) => box.replaceChildren(h("p", h("b", id), `: ${problem.message}`)),
        );
        return box;
      }),
    );
    return {
      drawing,
      controls: compareControls(api, others),
      legend:
        json.unit === "share"
          ? colourBar("0", short(limit, 2), "fraction of the attention", signed)
          : signedColourBar(short(limit, 2), UNITS[json.unit]),
      values() {
        const at = api.at("src"),
          line = json.influence[rowAt(json, api)];
        if (at === null || !line) return [];
        // For a language model: the most influential token of the context; otherwise the token at the cursor.
        const position =
          api.page.model.form === "next"
            ? line.reduce((top, value, i) => (Math.abs(value) > Math.abs(line[top]) ? i : top), 0)
            : at;
        return [
          [
            position === at ? "influence" : "largest influence",
            `${visible(json.tokens.src[position])} ${short(line[position], 2)}`,
          ],
        ];
      },
    };
  },
};

/** The input of one model coloured by its influence; a matrix if the whole output is attributed. */
function attributions(json, api, name) {
  const { src, tgt } = json.tokens,
    limit = largest(json),
    row = rowAt(json, api),
    line = json.influence[row],
    probability = json.chances?.[row];
  const drawing =
    row === null
      ? matrix({
          rows: tgt,
          columns: src,
          values: json.influence,
          kind: "signed",
          limit,
          show: (value) => short(value, 3),
          rowWord: "output",
          columnWord: "token",
          onCell: (_, column) => api.move("src", column),
        })
      : colouredText(json.tokens, api, "input tokens, coloured by influence", (i) => ({
          background: line[i] === null ? "" : signed(line[i] / limit, { behindText: true }),
          title: `${visible(src[i])}: ${line[i] === null ? "unknown" : short(line[i], 3)}`,
        }));
  drawing.follow?.();
  // The last observations matter most: where not all fit, those are seen first.
  if (isForecast(json))
    requestAnimationFrame(() => drawing.querySelector?.(".scroller")?.scrollTo({ left: Number.MAX_SAFE_INTEGER }));
  return h(
    "div",
    name && h("p.heat-name", h("b", name), ` by ${json.by}`),
    row !== null &&
      h(
        "p.muted.small",
        `Influence on ${quoted(tgt[row])}${probability == null ? "" : ` (${probability.toFixed(2)})`}:`,
      ),
    drawing.drawing || drawing,
  );
}

function rowAt(json, api) {
  if (json.influence.length === 1) return 0;
  if (isForecast(json)) return null;
  const row = (json.places || []).indexOf((api.at("src") ?? -2) + 1);
  return row < 0 ? null : row;
}

function largest(json) {
  return json.influence.flat().reduce((most, value) => Math.max(most, Math.abs(value ?? 0)), 0) || 1;
}

/** Controls to add other models of the same task. */
function compareControls(api, others) {
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
    h("label.control", h("span", "compare with"), list),
    others.map((other) =>
      h(
        "button",
        {
          class: "small",
          title: `Remove ${other}`,
          on: { click: () => set(others.filter((one) => one !== other)) },
        },
        `${other} ✕`,
      ),
    ),
  ];
}
