// The page of an error code, as `seqloom explain` tells it.

import { h } from "../dom.js";
import { get } from "../api.js";
import { markdown } from "../shell/markdown.js";
import { waiting } from "../shell/waiting.js";

export const title = (place) => place.id ?? "Help";

/** Fill the page; without a code, open the help of the studio. */
export async function show(main, place, signal) {
  if (!place.id) return document.dispatchEvent(new CustomEvent("help"));
  const page = await waiting(main, get(`/help/${encodeURIComponent(place.id)}`, { signal }));
  main.append(
    h("h1", `${page.code}: ${page.title}`),
    ...[
      ["What it means", page.what],
      ["What to do", page.fix],
      ["Why it is so", page.why],
    ]
      .filter(([, text]) => text)
      .map(([name, text]) => h("section", h("h2", name), markdown(text))),
  );
}
