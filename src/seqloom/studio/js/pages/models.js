// Models: the list of all that can answer, and the card of one.

import { h, icon, put, taskIcon } from "../dom.js";
import { del, get, problemBox } from "../api.js";
import { go, path } from "../address.js";
import { waiting } from "../shell/waiting.js";
import { bytes } from "../shell/words.js";
import { confirmed, undoable } from "../shell/asking.js";
import { copyButton } from "../shell/copying.js";
import { markdown } from "../shell/markdown.js";

export const title = (place) => (place.id ? `Model ${place.id}` : "Models");

/** The list, or one card. */
export async function show(main, place, signal) {
  if (place.id) return showCard(main, place, signal);
  main.append(h("h1", "Models"));
  const { models } = await waiting(main, get("/models", { signal }), { height: 240 });
  if (!models.length) return main.append(h("p", "No model yet. ", h("a", { href: "/" }, "Train one"), ": an example takes about a minute."));
  main.append(h(".table-box", h("table",
    h("thead", h("tr", ["Model", "Task", "Kind", "Best", "Size", ""].map((name, i) => h("th", { scope: "col", class: ["", "", "hide-narrow", "number", "number hide-narrow", "hide-narrow"][i] }, name)))),
    h("tbody", models.map(row)))));
}

function row(model) {
  return h("tr", { dataset: { model: model.id } },
    h("td.wrap", h("a", { href: path("models", model.id) }, h("strong", model.id))),
    h("td", taskIcon(model.form), " ", model.task),
    h("td.hide-narrow", model.model),
    h("td.number", { title: model.metric_title ?? model.metric ?? "" }, model.best_shown ?? "–"),
    h("td.number.hide-narrow", bytes(model.bytes)),
    h("td.hide-narrow", h("span.row", h("a", { href: path("inside", model.id) }, "Look inside"), h("a", { href: path("try", model.id) }, "Try"))));
}

async function showCard(main, place, signal) {
  const name = encodeURIComponent(place.id);
  const [card, { models }] = await waiting(main, Promise.all([get(`/models/${name}/card`, { signal }), get("/models", { signal })]), { height: 420 });
  const model = models.find((one) => one.id === place.id);
  const told = h("div");
  const remove = async () => {
    const size = model ? `, ${bytes(model.bytes)}` : "";
    if (!(await confirmed({ title: `Delete ${place.id}?`, text: `Its folder goes: the weights${size}, the curves and the card.`, yes: "Delete" }))) return;
    put(told, undoable(`${place.id} will be deleted in 10 s.`, () => gone(), () => put(told)));
  };
  const gone = async () => {
    try {
      await del(`/models/${name}`);
      go("/models");
    } catch (problem) {
      put(told, problemBox(problem));
    }
  };
  main.append(
    h(".row.apart", h("p", { style: { margin: 0 } }, h("a", { href: "/models" }, "All models")),
      h(".row",
        h("a.button.primary", { href: path("inside", place.id) }, icon("search"), "Look inside"),
        h("a.button", { href: path("try", place.id) }, icon("play"), "Try it"),
        h("a.button", { href: path("run", place.id) }, "Curves"),
        h("a.button", { href: path("serve", null, { model: place.id }) }, "Serve"),
        copyButton(() => card.markdown, "Copy card"),
        h("button", { class: "quiet danger small", on: { click: remove } }, "Delete"))),
    told, h("article.model-page", markdown(card.markdown)));
}
