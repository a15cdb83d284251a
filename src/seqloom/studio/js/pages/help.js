// The help page of an error code, as `seqloom explain CODE`.

import { h } from "../dom.js";
import { get } from "../api.js";
import { markdown } from "../shell/markdown.js";
import { loading } from "../shell/loading.js";

export const title = (route) => route.id ?? "Help";

/** Fill the page; without a code, open the help of the studio. */
export async function show(main, route, signal) {
  if (!route.id) return document.dispatchEvent(new CustomEvent("help"));
  const page = await loading(main, get(`/help/${encodeURIComponent(route.id)}`, { signal }));
  main.append(
    h("h1", `${page.code}: ${page.title}`),
    ...[
      ["What it means", page.what],
      ["What to do", page.fix],
      ["Why it is an error", page.why],
    ]
      .filter(([, text]) => text)
      .map(([name, text]) => h("section", h("h2", name), markdown(text))),
  );
}
