// Serve: the URL of the server, code to call a model, and the last requests.

import { h, put, section, dataTable } from "../dom.js";
import { get, url } from "../api.js";
import { path, setQuery } from "../route.js";
import { loading } from "../shell/loading.js";
import { ago, number } from "../shell/format.js";
import { command, snippets } from "../shell/copy.js";

export const title = "Serve";

/** Fill the page; the last requests are polled. */
export async function show(main, route, signal) {
  main.append(h("h1", "Serve"));
  const [status, { models }] = await loading(
    main,
    Promise.all([get("/status", { signal }), get("/models", { signal })]),
    { height: 360 },
  );
  const [box, requests] = [h("div"), h("div")];
  const chosen = models.find((model) => model.id === route.query.get("model")) ?? models[0];
  const select = h(
    "select",
    {
      id: "serve-model",
      value: chosen?.id,
      onchange: () => {
        setQuery({ model: select.value }, { replace: true });
        showSnippets(box, select.value, signal);
      },
    },
    models.map((model) => h("option", { value: model.id }, `${model.id} (${model.task})`)),
  );
  main.append(
    h(
      "section.card",
      h("p", h("strong", "The web API is running"), " at this URL:"),
      command(`${location.origin}/`, "URL"),
      h(
        "p",
        status.local === false
          ? "Reachable from the network; the token is required."
          : "Only this computer can reach it.",
        status.token &&
          " Requests need the header Authorization: Bearer TOKEN, with the token printed in the terminal.",
      ),
      h(
        "p",
        h("a", { href: "/api" }, "All endpoints, with curl and Python"),
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
  await poll(requests, signal);
}

async function showSnippets(box, id, signal) {
  put(box);
  const detail = await loading(box, get(url`/models/${id}`, { signal }), {
    height: 180,
    sentence: "Loading the model…",
  });
  put(
    box,
    snippets(detail.snippets, { python: "Python", javascript: "JavaScript" }),
    h("p.small", h("a", { href: path("try", id) }, "Try it in a form")),
  );
}

async function poll(box, signal) {
  const log = document.hidden ? null : await get("/requests", { signal }).catch(() => null);
  if (signal.aborted) return;
  if (log) put(box, requestTable(log.requests.filter((one) => one.model)));
  const timer = setTimeout(() => poll(box, signal), 2000);
  signal.addEventListener("abort", () => clearTimeout(timer));
}

function requestTable(requests) {
  if (!requests.length) return h("p.muted", "No requests yet.");
  const now = Date.now() / 1000;
  return dataTable(
    ["When .hide-narrow muted", "Request .mono wrap", "Model .hide-narrow", "Status .number", "Time .number"],
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
