// Pages for those who went astray: no such page, no such run or model.

import { h } from "../dom.js";

const PLACES = {
  "/": "Train: drop a file or choose an example",
  "/models": "All models",
  "/compare": "Compare runs",
  "/serve": "Serve a model",
};
const NOUNS = { run: "run", inside: "model", try: "model", models: "model", data: "data set" };

function astray(main, missing, title, ...words) {
  document.title = "Not found · Seqloom";
  main.append(
    h(
      ".alone.stack",
      { dataset: { missing } },
      h("h1", title),
      words,
      h(
        "ul",
        Object.entries(PLACES).map(([href, text]) => h("li", h("a", { href }, text))),
      ),
    ),
  );
}

/** The address names no page of the studio. */
export const lostPage = (main, now) =>
  astray(
    main,
    "page",
    "There is no such page",
    h("p", "The studio has nothing at ", h("code.wrap", now.path), ". From here you can go to:"),
  );

/** The page exists, but not what it should show. */
export function missingPage(main, now, problem) {
  const noun = NOUNS[now.page] ?? "thing";
  astray(
    main,
    noun,
    `There is no ${noun} named “${now.id ?? ""}”`,
    h("p", problem.message),
    problem.help?.map((line) => h("p", line)),
    h("p", "It may have been deleted or renamed, or the studio was started over another folder of runs."),
  );
}
