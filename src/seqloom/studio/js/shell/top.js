// The top bar: the name, five verbs, the model, the theme, help.

import { h, icon, put, taskIcon, write } from "../dom.js";
import { get } from "../api.js";
import { go, link, onChange, path, place } from "../address.js";
import { nextTheme, onTheme, theme, toggleDark } from "../theme.js";
import { shortcut } from "../keys.js";

// Each verb with the pages that belong to it.
const VERBS = [
  ["Train", "/", ["start", "data", "train", "run"]],
  ["Compare", "/compare", ["compare"]],
  ["Look inside", "/inside", ["inside"]],
  ["Try", "/try", ["try"]],
  ["Serve", "/serve", ["serve", "api"]],
];

// The model (or run) the address speaks of, if any.
const currentModel = (now = place()) =>
  ["inside", "try", "models", "run"].includes(now.page) ? now.id : now.query.get("model");

/** Fill the header. */
export function showTop(node) {
  const verbs = h("ul.verbs");
  node.append(
    h("a.brand", { href: "/" }, h("img", { src: "/static/icon.svg", alt: "", width: 24, height: 24 }), "Seqloom"),
    h("nav", { "aria-label": "Main", style: "display:contents" }, verbs),
    h(
      ".tools",
      ...picker(),
      themeButton(),
      h(
        "button.quiet.square",
        { "aria-label": "Help", title: "Help (?)", onclick: () => document.dispatchEvent(new CustomEvent("help")) },
        h("strong", "?"),
      ),
    ),
  );
  const draw = () =>
    put(
      verbs,
      VERBS.map((verb) =>
        h("li", link(verbPath(verb), verb[0], { "aria-current": verb[2].includes(place().page) ? "page" : null })),
      ),
    );
  draw();
  onChange(draw);
  VERBS.forEach((verb, i) => shortcut(String(i + 1), `Go to ${verb[0]}`, () => go(verbPath(verb))));
  shortcut("d", "Dark or light", toggleDark);
  shortcut("/", "Go to the input", focusInput);
}

// Look inside and Try keep the model (and the text) one is busy with.
function verbPath([, base, [page]], now = place()) {
  const model = ["inside", "try"].includes(page) && currentModel(now);
  return model
    ? path(page, model, { text: ["inside", "try"].includes(now.page) ? now.query.get("text") : null })
    : base;
}

function focusInput() {
  const field = document.querySelector("#main :is([data-input], textarea, input[type=text], input[type=search])");
  field?.focus();
  return Boolean(field);
}

function picker() {
  const words = h("span");
  const list = h(".picker", {
    id: "picker",
    popover: "auto",
    onbeforetoggle: (event) => event.newState === "open" && fillPicker(list),
  });
  const draw = () => {
    write(words, currentModel() ?? "Model");
    list.hidePopover();
  };
  write(words, currentModel() ?? "Model");
  onChange(draw);
  return [h("button.picker-button", { popovertarget: "picker", title: "Choose a model" }, words, icon("down")), list];
}

async function fillPicker(list) {
  const now = place();
  const page = ["inside", "try"].includes(now.page) ? now.page : "models";
  const say = (text) => h("p.muted", text);
  put(list, say("Looking…"));
  try {
    const { models } = await get("/models");
    put(
      list,
      !models.length && say("No model yet. Train one first."),
      models.map((model) =>
        h(
          "a",
          { href: path(page, model.id), "aria-current": model.id === currentModel(now) ? "true" : null },
          taskIcon(model.form),
          h("span.picker-name", model.id, h("br"), h("span.muted.small", model.task)),
          h("span.small.number", model.best_shown),
        ),
      ),
      h("a", { href: "/models" }, icon("classify"), "All models"),
    );
  } catch (problem) {
    put(list, say(problem.message));
  }
}

function themeButton() {
  const button = h("button.quiet.square", { onclick: nextTheme });
  const draw = () => {
    button.ariaLabel = `Theme: ${theme()}`;
    button.title = `Theme: ${theme()} (auto, light, dark)`;
    put(button, icon(theme()));
  };
  draw();
  onTheme(draw);
  return button;
}
