// Models: the list of trained models, and the model card of one.

import { h, icon, put, dataTable, taskIcon } from "../dom.js";
import { del, get, post, problemBox, url } from "../api.js";
import { navigate, path } from "../route.js";
import { loading } from "../shell/loading.js";
import { bytes } from "../shell/format.js";
import { confirmDialog, promptDialog, undoNotice } from "../shell/dialogs.js";
import { copyButton } from "../shell/copy.js";
import { markdown } from "../shell/markdown.js";

export const title = (route) => (route.id ? `Model ${route.id}` : "Models");

/** The list, or one card. */
export async function show(main, route, signal) {
  if (route.id) return showCard(main, route.id, signal);
  main.append(h("h1", "Models"));
  const { models } = await loading(main, get("/models", { signal }), { height: 240 });
  if (!models.length)
    return main.append(
      h("p", "No model yet. ", h("a", { href: "/" }, "Train one"), ": an example takes about a minute."),
    );
  main.append(
    dataTable(
      ["Name .wrap", "Task", "Model .hide-narrow", "Best .number", "Size .number hide-narrow", " .hide-narrow"],
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
  const { markdown: card } = await loading(main, get(url`/models/${id}/card`, { signal }), { height: 420 });
  const message = h("div");
  const remove = async () => {
    if (
      !(await confirmDialog({
        title: `Delete ${id}?`,
        text: "This deletes its folder: the weights, the curves and the card.",
        yes: "Delete",
      }))
    )
      return;
    put(
      message,
      undoNotice(`${id} will be deleted in 10 s.`, () =>
        del(url`/models/${id}`).then(
          () => signal.aborted || navigate("/models"), // unless the user has left the page
          (problem) => put(message, problemBox(problem)),
        ),
      ),
    );
  };
  const rename = () =>
    promptDialog({
      title: `Rename ${id}`,
      label: "New name",
      help: "Small letters, digits and hyphens. URLs with the old name will no longer work.",
      value: id,
      yes: "Rename",
      act: async (name) => {
        await post(url`/models/${id}:rename`, { name });
        document.dispatchEvent(new CustomEvent("runs-changed"));
        navigate(path("models", name), { replace: true });
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
        h("a.button.small", { href: `/api/v1${url`/models/${id}/export`}`, download: `${id}.zip` }, "Export"),
        h("button.small", { id: "rename", onclick: rename }, "Rename"),
        h("button.quiet.danger.small", { onclick: remove }, "Delete"),
      ),
    ),
    message,
    h("article.model-page", markdown(card)),
  );
}
