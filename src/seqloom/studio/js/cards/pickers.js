// Pickers: a model, if the URL has none; an example input, if there is no input yet.
import { h, taskIcon } from "../dom.js";
import { get } from "../api.js";
import { path } from "../route.js";
import { truncate } from "../figures/tokens.js";

/** Fill a page with a list of all models, each a link to the page for it. */
export async function modelPicker(main, page, heading, question, signal) {
  const { models } = await get("/models", { signal });
  main.append(
    h("h1", heading),
    models.length
      ? h("p", question)
      : h(
          ".card",
          h(
            "p",
            "There is no trained model yet. ",
            h("a", { href: "/" }, "Train one first"),
            ": an example takes about a minute.",
          ),
        ),
    h(
      "ul.grid.choose-model",
      models.map((model) =>
        h(
          "li.card",
          h("a", { href: path(page, model.id) }, taskIcon(model.task), " ", model.id),
          h(
            "p.muted.small",
            [model.task, model.model, model.best_shown && `${model.metric_title} ${model.best_shown}`]
              .filter(Boolean)
              .join(" · "),
          ),
        ),
      ),
    ),
  );
}

/** Example inputs of the test set as chips. */
export function exampleChips(model, label, use) {
  return (
    model.examples?.length > 0 &&
    h(
      ".row.examples",
      h("span.muted.small", label),
      model.examples.map((text) =>
        h(
          "button.example-chip",
          { dir: "auto", title: text.slice(0, 400), on: { click: () => use(text) } },
          truncate(text.replace(/\s+/g, " "), 48),
        ),
      ),
    )
  );
}
