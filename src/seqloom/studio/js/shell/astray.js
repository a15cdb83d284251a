// Pages for those who went astray: no such page, no such run or model.

import { h } from "../dom.js";
import { link } from "../address.js";

const PLACES = [
  ["/", "Train: drop a file or choose an example"],
  ["/models", "All models"],
  ["/compare", "Compare runs"],
  ["/serve", "Serve a model"],
];

/** The address names no page of the studio. */
export function lostPage(main, now) {
  document.title = "Not found · Seqloom";
  main.append(
    h(".alone.stack", { dataset: { missing: "page" } },
      h("h1", "There is no such page"),
      h("p", "The studio has nothing at ", h("code.wrap", now.path), ". From here you can go to:"),
      places(),
    ),
  );
}

/** The page exists, but not what it should show. */
export function missingPage(main, now, problem) {
  document.title = "Not found · Seqloom";
  const noun = { run: "run", inside: "model", try: "model", models: "model", data: "data set" }[now.page] ?? "thing";
  main.append(
    h(".alone.stack", { dataset: { missing: noun } },
      h("h1", `There is no ${noun} named “${now.id ?? ""}”`),
      h("p", problem.message),
      problem.help?.length > 0 && h("ul", problem.help.map((line) => h("li", line))),
      h("p", "It may have been deleted or renamed, or the studio was started over another folder of runs."),
      places(),
    ),
  );
}

function places() {
  return h("ul", PLACES.map(([path, words]) => h("li", link(path, words))));
}
