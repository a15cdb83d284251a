// The top bar: navigation, model picker, theme, help.

import { h, icon, put, taskIcon, write } from "../dom.js";
import { get } from "../api.js";
import { currentRoute, link, navigate, onRouteChange, path } from "../route.js";
import { nextTheme, onTheme, theme, toggleDark } from "../theme.js";
import { shortcut } from "../keys.js";

// Title, URL, and the pages for which it is highlighted.
const SECTIONS = [
  ["Train", "/", ["start", "data", "train", "run"]],
  ["Compare", "/compare", ["compare"]],
  ["Look inside", "/inside", ["inside"]],
  ["Try", "/try", ["try"]],
  ["Serve", "/serve", ["serve", "api"]],
];

// The model (or run) of the current URL, if any.
const currentModel = (route = currentRoute()) =>
  ["inside", "try", "models", "run"].includes(route.page) ? route.id : route.query.get("model");

/** Fill the header. */
export function showTop(node) {
  const items = h("ul.verbs");
  node.append(
    h("a.brand", { href: "/" }, h("img", { src: "/static/icon.svg", alt: "", width: 24, height: 24 }), "Seqloom"),
    h("nav", { "aria-label": "Main", style: "display:contents" }, items),
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
      items,
      SECTIONS.map((item) =>
        h("li", link(sectionPath(item), item[0], { "aria-current": isCurrent(item) ? "page" : null })),
      ),
    );
  draw();
  onRouteChange(draw);
  SECTIONS.forEach((item, i) => shortcut(String(i + 1), `Go to ${item[0]}`, () => navigate(sectionPath(item))));
  shortcut("d", "Toggle dark mode", toggleDark);
  shortcut("/", "Focus the input", focusInput);
}

const isCurrent = ([, , pages]) => pages.includes(currentRoute().page);

// Look inside and Try keep the current model and text.
function sectionPath([, base, [page]], route = currentRoute()) {
  const model = ["inside", "try"].includes(page) && currentModel(route);
  return model
    ? path(page, model, { text: ["inside", "try"].includes(route.page) ? route.query.get("text") : null })
    : base;
}

function focusInput() {
  const field = document.querySelector("#main :is([data-input], textarea, input[type=text], input[type=search])");
  field?.focus();
  return Boolean(field);
}

function picker() {
  const label = h("span");
  const list = h(".picker", {
    id: "picker",
    popover: "auto",
    onbeforetoggle: (event) => event.newState === "open" && fillPicker(list),
  });
  const draw = () => {
    write(label, currentModel() ?? "Model");
    list.hidePopover();
  };
  write(label, currentModel() ?? "Model");
  onRouteChange(draw);
  return [h("button.picker-button", { popovertarget: "picker", title: "Choose a model" }, label, icon("down")), list];
}

async function fillPicker(list) {
  const route = currentRoute();
  const page = ["inside", "try"].includes(route.page) ? route.page : "models";
  const message = (text) => h("p.muted", text);
  put(list, message("Loading…"));
  try {
    const { models } = await get("/models");
    put(
      list,
      !models.length && message("No model yet. Train one first."),
      models.map((model) =>
        h(
          "a",
          { href: path(page, model.id), "aria-current": model.id === currentModel(route) ? "true" : null },
          taskIcon(model.form),
          h("span.picker-name", model.id, h("br"), h("span.muted.small", model.task)),
          h("span.small.number", model.best_shown),
        ),
      ),
      h("a", { href: "/models" }, icon("classify"), "All models"),
    );
  } catch (problem) {
    put(list, message(problem.message));
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
