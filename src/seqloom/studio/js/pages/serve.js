// Serve: where this server is, how to call a model, and what was asked lately.

import { h, put } from "../dom.js";
import { get, left } from "../api.js";
import { path, set } from "../address.js";
import { waiting } from "../shell/waiting.js";
import { ago, number } from "../shell/words.js";
import { command, snippets } from "../shell/copying.js";

export const title = "Serve";
const EVERY = 2000;

/** Fill the page; the last requests stay live. */
export async function show(main, place, signal) {
  main.append(h("h1", "Serve"));
  const [status, { models }] = await waiting(main, Promise.all([get("/status", { signal }), get("/models", { signal })]), { height: 360 });
  const box = h("div");
  const requests = h(".table-box");
  main.append(whereabouts(status),
    h("section", { "aria-labelledby": "call-title" }, h("h2", { id: "call-title" }, "Call a model"), models.length ? [picker(models, place, box, signal), box] : h("p", "No model yet. ", h("a", { href: "/" }, "Train one"), " first.")),
    h("section", { "aria-labelledby": "requests-title" }, h("h2", { id: "requests-title" }, "Last requests"), requests));
  if (models.length) await showSnippets(box, chosen(models, place), signal);
  await follow(requests, signal);
}

function whereabouts(status) {
  const address = `${location.origin}/`;
  return h("section.card",
    h("p", h("strong", "The web API is on"), ", at this address:"), command(address, "Address"),
    h("p", { style: { marginTop: "10px" } }, status.local === false ? "Reachable from your network; the token is required." : "Only this computer can reach it.", status.token && " Requests need the header Authorization: Bearer TOKEN, with the token printed in the terminal."),
    h("p", h("a", { href: "/api" }, "Every call, with curl and Python"), " · ", h("a", { href: "/openapi.json", target: "_blank" }, "openapi.json")));
}

function chosen(models, place) {
  return models.find((model) => model.id === place.query.get("model")) ?? models[0];
}

function picker(models, place, box, signal) {
  const select = h("select", { id: "serve-model", value: chosen(models, place).id, on: { change: () => {
    set({ model: select.value }, { replace: true });
    showSnippets(box, models.find((model) => model.id === select.value), signal);
  } } }, models.map((model) => h("option", { value: model.id }, `${model.id} (${model.task})`)));
  return h(".row", { style: { marginBottom: "10px" } }, h("label", { for: "serve-model" }, "Model"), select);
}

async function showSnippets(box, model, signal) {
  put(box);
  const about = await waiting(box, get(`/models/${encodeURIComponent(model.id)}`, { signal }), { height: 180, sentence: "The model is being loaded…" });
  put(box, snippets(about.snippets ?? {}, { curl: "curl", python: "Python", javascript: "JavaScript" }),
    h("p.small", { style: { marginTop: "8px" } }, h("a", { href: path("try", model.id) }, "The same in a form: try it")));
}

async function follow(box, signal) {
  let timer = 0;
  signal.addEventListener("abort", () => clearTimeout(timer));
  const look = async () => {
    try {
      if (!document.hidden) put(box, requestTable((await get("/requests", { signal })).requests.filter((one) => one.path !== "/api/v1/status")));
    } catch (error) {
      if (left(error)) return;
    }
    timer = setTimeout(look, EVERY);
  };
  await look();
}

function requestTable(requests) {
  if (!requests.length) return h("p.muted", { style: { padding: "10px 12px", margin: 0 } }, "Nothing was asked yet.");
  const now = Date.now() / 1000;
  return h("table", { id: "requests" },
    h("thead", h("tr", ["When", "Call", "Model", "Status", "Time"].map((name, i) => h("th", { scope: "col", class: ["hide-narrow", "", "hide-narrow", "number", "number"][i] }, name)))),
    h("tbody", requests.map((one) => h("tr",
      h("td.hide-narrow.muted", ago(now - one.t)), h("td.mono.wrap", `${one.method} ${one.path}`),
      h("td.hide-narrow", one.model ?? ""), h("td", { class: `number ${one.status >= 400 ? "bad" : ""}` }, String(one.status)), h("td.number", `${number(one.ms)} ms`)))));
}
