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

/** The model (or run) the address speaks of, if any. */
export function currentModel(now = place()) {
  if (["inside", "try", "models", "run"].includes(now.page)) return now.id;
  return now.query.get("model");
}

/** Fill the header. */
export function showTop(node) {
  const verbs = h("ul.verbs");
  node.append(
    h("a.brand", { href: "/" }, h("img", { src: "/static/icon.svg", alt: "", width: 24, height: 24 }), "Seqloom"),
    h("nav", { "aria-label": "Main", style: { display: "contents" } }, verbs),
    h(".tools", picker(), themeButton(), helpButton()),
  );
  const draw = () => put(verbs, VERBS.map((verb) => h("li", verbLink(verb, place()))));
  draw();
  onChange(draw);
  VERBS.forEach(([name], i) => shortcut(String(i + 1), `Go to ${name}`, () => go(verbPath(VERBS[i], place()))));
  shortcut("d", "Dark or light", toggleDark);
  shortcut("/", "Go to the input", focusInput);
}

// Look inside and Try keep the model (and the text) one is busy with.
function verbPath([, base, pages], now) {
  const model = currentModel(now);
  if (!model || !["/inside", "/try"].includes(base)) return base;
  const text = ["inside", "try"].includes(now.page) ? now.query.get("text") : null;
  return path(pages[0], model, { text });
}

function verbLink(verb, now) {
  const here = verb[2].includes(now.page);
  return link(verbPath(verb, now), verb[0], { "aria-current": here ? "page" : null });
}

function focusInput() {
  const field = document.querySelector("#main [data-input], #main textarea, #main input[type=text], #main input[type=search]");
  field?.focus();
  return Boolean(field);
}

function picker() {
  const words = h("span", "Model");
  const list = h(".picker", { id: "picker", popover: "auto", on: { beforetoggle: (event) => event.newState === "open" && fillPicker(list) } });
  const button = h("button", { class: "picker-button", popovertarget: "picker", title: "Choose a model" }, words, icon("down"));
  const draw = () => write(words, currentModel() ?? "Model");
  draw();
  onChange(() => {
    draw();
    list.hidePopover?.();
  });
  return [button, list];
}

async function fillPicker(list) {
  put(list, h("p.muted", { style: { padding: "8px 10px", margin: 0 } }, "Looking…"));
  const now = place();
  let models = [];
  try {
    models = (await get("/models")).models;
  } catch (problem) {
    return put(list, h("p.bad", problem.message));
  }
  const page = ["inside", "try"].includes(now.page) ? now.page : "models";
  const chosen = currentModel(now);
  put(list,
    models.length === 0 && h("p.muted", { style: { padding: "8px 10px", margin: 0 } }, "No model yet. Train one first."),
    models.map((model) =>
      h("a", { href: path(page, model.id), "aria-current": model.id === chosen ? "true" : null },
        taskIcon(model.form ?? model.task), h("span.picker-name", model.id, h("br"), h("span.muted.small", model.task)),
        h("span.small.number", model.best_shown ?? ""))),
    h("a", { href: "/models" }, icon("classify"), "All models"),
  );
}

function themeButton() {
  const button = h("button", { class: "quiet square", on: { click: () => { nextTheme(); draw(); } } });
  function draw() {
    button.setAttribute("aria-label", `Theme: ${theme()}`);
    button.title = `Theme: ${theme()} (auto, light, dark)`;
    put(button, icon(theme()));
  }
  draw();
  onTheme(draw);
  return button;
}

function helpButton() {
  return h("button", { class: "quiet square", "aria-label": "Help", title: "Help (?)", on: { click: () => document.dispatchEvent(new CustomEvent("help")) } }, h("strong", { "aria-hidden": "true" }, "?"));
}
