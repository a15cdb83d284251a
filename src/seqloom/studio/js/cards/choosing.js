// Pages that need a model and were opened without one: choose it here.
import { h, taskIcon } from "../dom.js";
import { get } from "../api.js";
import { path } from "../address.js";

/** Fills a page with the models there are, each a link to the page with it. */
export async function chooseModel(main, page, heading, question, signal) {
  const { models } = await get("/models", { signal });
  main.append(h("h1", heading));
  if (!models.length) {
    main.append(h(".card", h("p", "There is no trained model yet. ", h("a", { href: "/" }, "Train one first"), ": an example takes about a minute.")));
    return;
  }
  main.append(h("p", question), h("ul.grid.choose-model", ...models.map((model) => h("li.card",
    h("a", { href: path(page, model.id) }, taskIcon(model.task), " ", model.id), h("p.muted.small", [model.task, model.model, model.best_shown && `${model.metric} ${model.best_shown}`].filter(Boolean).join(" · "))))));
}
