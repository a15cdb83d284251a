// Not found: no such page, no such run or model.

import { h } from "../dom.js";

const SUGGESTIONS = {
  "/": "Train: upload a file or choose an example",
  "/models": "All models",
  "/compare": "Compare runs",
  "/serve": "Serve a model",
};
const NOUNS = { run: "run", inside: "model", try: "model", models: "model", data: "data set" };

function notFound(main, missing, title, ...text) {
  document.title = "Not found · Seqloom";
  main.append(
    h(
      ".alone.stack",
      { dataset: { missing } },
      h("h1", title),
      text,
      h(
        "ul",
        Object.entries(SUGGESTIONS).map(([href, text]) => h("li", h("a", { href }, text))),
      ),
    ),
  );
}

/** The URL is not a page of the studio. */
export const pageNotFound = (main, route) =>
  notFound(main, "page", "Page not found", h("p", "There is no page ", h("code.wrap", route.path), ". You can go to:"));

/** The run, model or data set of the page does not exist. */
export function itemNotFound(main, route, problem) {
  const noun = NOUNS[route.page] ?? "item";
  notFound(
    main,
    noun,
    `There is no ${noun} named “${route.id ?? ""}”`,
    h("p", problem.message),
    problem.help?.map((line) => h("p", line)),
    h("p", "It may have been deleted or renamed, or the studio was started with another folder of runs."),
  );
}
