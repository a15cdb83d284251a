// Choosing: a model, where a page was opened without one; an example, where there is no input yet.
import { h, taskIcon } from "../dom.js";
import { get } from "../api.js";
import { path } from "../address.js";
import { cut } from "../figures/symbols.js";

/** Fills a page with the models there are, each a link to the page with it. */
export async function chooseModel(main, page, heading, question, signal) {
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

/** Inputs of the test part as chips. */
export function exampleChips(model, words, use) {
  return (
    model.examples?.length > 0 &&
    h(
      ".row.examples",
      h("span.muted.small", words),
      model.examples.map((text) =>
        h(
          "button.example-chip",
          { dir: "auto", title: text.slice(0, 400), on: { click: () => use(text) } },
          cut(text.replace(/\s+/g, " "), 48),
        ),
      ),
    )
  );
}
