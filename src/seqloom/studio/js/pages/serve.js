// Serve: where this server is, how to call a model, and what was asked lately.

import { h, put, section, sheet } from "../dom.js";
import { at, get } from "../api.js";
import { path, set } from "../address.js";
import { waiting } from "../shell/waiting.js";
import { ago, number } from "../shell/words.js";
import { command, snippets } from "../shell/copying.js";

export const title = "Serve";

/** Fill the page; the last requests stay live. */
export async function show(main, place, signal) {
  main.append(h("h1", "Serve"));
  const [status, { models }] = await waiting(
    main,
    Promise.all([get("/status", { signal }), get("/models", { signal })]),
    { height: 360 },
  );
  const [box, requests] = [h("div"), h("div")];
  const chosen = models.find((model) => model.id === place.query.get("model")) ?? models[0];
  const select = h(
    "select",
    {
      id: "serve-model",
      value: chosen?.id,
      onchange: () => {
        set({ model: select.value }, { replace: true });
        showSnippets(box, select.value, signal);
      },
    },
    models.map((model) => h("option", { value: model.id }, `${model.id} (${model.task})`)),
  );
  main.append(
    h(
      "section.card",
      h("p", h("strong", "The web API is on"), ", at this address:"),
      command(`${location.origin}/`, "Address"),
      h(
        "p",
        status.local === false
          ? "Reachable from your network; the token is required."
          : "Only this computer can reach it.",
        status.token &&
          " Requests need the header Authorization: Bearer TOKEN, with the token printed in the terminal.",
      ),
      h(
        "p",
        h("a", { href: "/api" }, "Every call, with curl and Python"),
        " · ",
        h("a", { href: "/openapi.json", target: "_blank" }, "openapi.json"),
      ),
    ),
    section(
      "Call a model",
      chosen
        ? [h(".row", h("label", { for: "serve-model" }, "Model"), select), box]
        : h("p", "No model yet. ", h("a", { href: "/" }, "Train one"), " first."),
    ),
    section("Last requests", requests),
  );
  if (chosen) await showSnippets(box, chosen.id, signal);
  await follow(requests, signal);
}

async function showSnippets(box, id, signal) {
  put(box);
  const about = await waiting(box, get(at`/models/${id}`, { signal }), {
    height: 180,
    sentence: "The model is being loaded…",
  });
  put(
    box,
    snippets(about.snippets, { python: "Python", javascript: "JavaScript" }),
    h("p.small", h("a", { href: path("try", id) }, "The same in a form: try it")),
  );
}

async function follow(box, signal) {
  const found = document.hidden ? null : await get("/requests", { signal }).catch(() => null);
  if (signal.aborted) return;
  if (found) put(box, requestTable(found.requests.filter((one) => one.model)));
  const timer = setTimeout(() => follow(box, signal), 2000);
  signal.addEventListener("abort", () => clearTimeout(timer));
}

function requestTable(requests) {
  if (!requests.length) return h("p.muted", "No model was asked yet.");
  const now = Date.now() / 1000;
  return sheet(
    ["When .hide-narrow muted", "Call .mono wrap", "Model .hide-narrow", "Status .number", "Time .number"],
    requests.map((one) => [
      ago(now - one.t),
      `${one.method} ${one.path}`,
      one.model ?? "",
      h("span", { class: one.status < 400 ? "good" : "bad" }, String(one.status)),
      `${number(one.ms)} ms`,
    ]),
    { id: "requests" },
  );
}
