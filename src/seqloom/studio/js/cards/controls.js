// Controls of a card, from the options of its view: selects, sliders, numbers, texts.
import { h } from "../dom.js";

const RANGES = {
  temperature: [0, 2, 0.1],
  top_p: [0.05, 1, 0.05],
  min_p: [0, 0.5, 0.01],
  length_penalty: [0, 2, 0.1],
};
const METHODS = ["", "posterior", "occlusion", "gradient", "attention"];

/** The controls of a view, without `at` (the cursor) and options that the card shows in another way. */
export function controls(view, json, page, kind, api) {
  const hidden = new Set(["at", "view", "edit", view.view === "beam" ? "" : "beam", ...(kind?.hides || [])]);
  return (view.options || [])
    .filter((option) => !hidden.has(option.name))
    .map((option) => {
      const value = page.option(view.view, option.name);
      const set = (chosen) =>
        api.setOption(option.name, chosen === null || String(chosen) === String(option.default) ? null : chosen);
      return control(option, value, json, set, `${view.view}.${option.name}`);
    });
}

function control(option, value, json, set, name) {
  const { layers, heads } = json;
  if (option.name === "layer")
    return layers?.length > 1
      ? select(
          option,
          layers.map((layer, i) => [i, layer.name || layer]),
          value ?? json.layer ?? layers.length - 1,
          set,
          name,
        )
      : null;
  if (option.name === "head")
    return heads > 1
      ? select(
          option,
          [[-1, "mean of all heads"], ...Array.from({ length: heads }, (_, i) => [i, `head ${i}`])],
          value ?? -1,
          set,
          name,
        )
      : null;
  if (option.name === "by")
    return select(
      option,
      METHODS.map((method) => [method, method || "default"]),
      value ?? "",
      set,
      name,
    );
  if (option.kind === "choice")
    return select(
      option,
      option.choices.map((choice) => [choice, choice]),
      value ?? option.default,
      set,
      name,
    );
  if (option.kind === "truth")
    return field(
      option,
      h("input", {
        type: "checkbox",
        checked: String(value ?? option.default) === "true",
        dataset: { control: name },
        on: { change: (event) => set(event.target.checked) },
      }),
    );
  if (RANGES[option.name]) return slider(option, value ?? option.default, set, name);
  const type = option.kind === "whole" || option.kind === "number" ? "number" : "text";
  return field(
    option,
    h("input", {
      type,
      class: type === "number" ? "short" : "mono",
      value: value ?? json[option.name] ?? option.default ?? "",
      min: option.kind === "whole" ? "0" : null,
      step: option.kind === "number" ? "any" : null,
      dataset: { control: name },
      on: { change: (event) => set(event.target.value) },
    }),
  );
}

export function select(option, choices, value, set, name) {
  return field(
    option,
    h(
      "select",
      { dataset: { control: name }, value: String(value), on: { change: (event) => set(event.target.value) } },
      ...choices.map(([key, shown]) => h("option", { value: String(key) }, String(shown))),
    ),
  );
}

export function slider(option, value, set, name) {
  const [min, max, step] = option.range || RANGES[option.name];
  const shown = h("output.number", String(value));
  return field(
    option,
    h("input", {
      type: "range",
      min,
      max,
      step,
      value: String(value),
      dataset: { control: name },
      on: {
        input: (event) => {
          shown.textContent = event.target.value;
        },
        change: (event) => set(event.target.value),
      },
    }),
    shown,
  );
}

export function field(option, ...inputs) {
  return h(
    "label.control",
    { title: option.help || null },
    h("span", (option.label || option.name).replaceAll("_", " ")),
    ...inputs,
  );
}

/** A group of buttons of which one is pressed. */
export function buttonGroup(label, choices, value, set) {
  return h(
    "span.choice",
    { role: "group", "aria-label": label },
    ...choices.map(([key, shown]) =>
      h(
        "button",
        {
          type: "button",
          "aria-pressed": String(key === value),
          dataset: { control: `${label}.${key}` },
          on: { click: () => set(key) },
        },
        shown,
      ),
    ),
  );
}

/** A checkbox. */
export function checkbox(label, on, set, name) {
  return h(
    "label.control",
    h("input", {
      type: "checkbox",
      checked: Boolean(on),
      dataset: { control: name },
      on: { change: (event) => set(event.target.checked) },
    }),
    h("span", label),
  );
}
