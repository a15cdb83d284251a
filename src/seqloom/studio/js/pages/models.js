// Models: the list of all that can answer, and the card of one.

import { h, icon, put, sheet, taskIcon } from "../dom.js";
import { at, del, get, post, problemBox } from "../api.js";
import { go, path } from "../address.js";
import { waiting } from "../shell/waiting.js";
import { bytes } from "../shell/words.js";
import { asked, confirmed, undoable } from "../shell/asking.js";
import { copyButton } from "../shell/copying.js";
import { markdown } from "../shell/markdown.js";

export const title = (place) => (place.id ? `Model ${place.id}` : "Models");

/** The list, or one card. */
export async function show(main, place, signal) {
  if (place.id) return showCard(main, place.id, signal);
  main.append(h("h1", "Models"));
  const { models } = await waiting(main, get("/models", { signal }), { height: 240 });
  if (!models.length)
    return main.append(
      h("p", "No model yet. ", h("a", { href: "/" }, "Train one"), ": an example takes about a minute."),
    );
  main.append(
    sheet(
      ["Model .wrap", "Task", "Kind .hide-narrow", "Best .number", "Size .number hide-narrow", " .hide-narrow"],
      models.map((model) => [
        { dataset: { model: model.id } },
        h("a", { href: path("models", model.id) }, h("strong", model.id)),
        [taskIcon(model.form), " ", model.task],
        model.model,
        h("span", { title: model.metric_title ?? "" }, model.best_shown ?? "–"),
        bytes(model.bytes),
        h(
          "span.row",
          h("a", { href: path("inside", model.id) }, "Look inside"),
          h("a", { href: path("try", model.id) }, "Try"),
        ),
      ]),
    ),
  );
}

async function showCard(main, id, signal) {
  const { markdown: card } = await waiting(main, get(at`/models/${id}/card`, { signal }), { height: 420 });
  const told = h("div");
  const remove = async () => {
    if (
      !(await confirmed({
        title: `Delete ${id}?`,
        text: "Its folder goes: the weights, the curves and the card.",
        yes: "Delete",
      }))
    )
      return;
    put(
      told,
      undoable(`${id} will be deleted in 10 s.`, () =>
        del(at`/models/${id}`).then(
          () => signal.aborted || go("/models"), // who is elsewhere by now stays there
          (problem) => put(told, problemBox(problem)),
        ),
      ),
    );
  };
  const rename = () =>
    asked({
      title: `Rename ${id}`,
      label: "Its new name",
      help: "Small letters, digits and hyphens. Addresses with the old name will not find it any more.",
      value: id,
      yes: "Rename",
      act: async (name) => {
        await post(at`/models/${id}:rename`, { name });
        document.dispatchEvent(new CustomEvent("runs-changed"));
        go(path("models", name), { replace: true });
      },
    });
  main.append(
    h(
      ".row.apart",
      h("a", { href: "/models" }, "All models"),
      h(
        ".row",
        h("a.button.primary", { href: path("inside", id) }, icon("search"), "Look inside"),
        h("a.button", { href: path("try", id) }, icon("play"), "Try it"),
        h("a.button", { href: path("run", id) }, "Curves"),
        h("a.button", { href: path("serve", null, { model: id }) }, "Serve"),
        copyButton(() => card, "Copy card"),
        h("a.button.small", { href: `/api/v1${at`/models/${id}/export`}`, download: `${id}.zip` }, "Export"),
        h("button.small", { id: "rename", onclick: rename }, "Rename"),
        h("button.quiet.danger.small", { onclick: remove }, "Delete"),
      ),
    ),
    told,
    h("article.model-page", markdown(card)),
  );
}
