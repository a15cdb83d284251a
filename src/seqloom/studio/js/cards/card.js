// A card of the page Look inside: one view of one model. It requests the view, draws the figure of its kind,
// follows the shared cursor, and keeps its size while it loads or when it fails.
import { clear, h } from "../dom.js";
import { isAborted, post, problemBox } from "../api.js";
import { figure } from "../figures/figure.js";
import { loading } from "../shell/loading.js";
import { controls } from "./controls.js";
import { rowsOf, serverPicture } from "./picture.js";
import { KINDS } from "./registry.js";

/**
 * card(view, page): `view` is {view, title, about, options} of the server; `page` has model, input(),
 * step(), option(view, name), choose(view, name, value), cursors, setTokens(json).
 */
export function card(view, page) {
  const kind = KINDS[view.view] || null;
  const body = h(".card-body");
  const element = h(
    "section.inside-card",
    { id: `card-${view.view}`, dataset: { kind: view.view, state: "empty" }, "aria-label": view.title || view.view },
    body,
  );
  const state = { json: null, drawn: null, pending: null, key: "" };

  const api = {
    view: view.view,
    page,
    local: (name, fallback) => page.option(view.view, name) ?? fallback,
    setLocal: (name, value) => {
      page.choose(view.view, name, value);
      if (state.json) draw();
    },
    setOption: (name, value) => {
      page.choose(view.view, name, value);
      load();
    },
    move: (side, position) => {
      const [strip, shift] = stripOf(side);
      page.cursors.move(strip, position - shift);
    },
    at: (side) => {
      const [strip, shift] = stripOf(side),
        position = page.cursors.at(strip);
      return position === null ? null : position + shift;
    },
    request: (otherModel) => request(otherModel, requestBody()),
    group: "strip",
  };
  // The token strip that one side of the view belongs to, and the offset of the tokens of the view on it.
  const stripOf = (side) => {
    const tokens = state.json?.tokens?.[side],
      strip = page.cursors.sideOf(side, tokens);
    return [strip, page.cursors.shift(strip, tokens) ?? 0];
  };

  function requestBody() {
    const body = { ...page.input() };
    for (const option of view.options || []) {
      if (option.name === "view") continue;
      const value =
        option.name === "at"
          ? kind?.at?.(page, state.json)
          : option.name === "edit"
            ? page.edit()
            : page.option(view.view, option.name);
      if (value !== undefined && value !== null && value !== "") body[option.name] = convert(option, value);
    }
    return body;
  }

  function request(model, body, signal, accept) {
    const step = page.step() === null ? "" : `?step=${page.step()}`;
    return post(`/models/${encodeURIComponent(model)}/views/${view.view}${step}`, body, { signal, accept });
  }

  async function load() {
    // In the time-lapse only the views in the training snapshots are shown.
    element.hidden = page.step() !== null && !page.model.probes.views.includes(view.view);
    if (element.hidden) return;
    const options = requestBody(),
      key = JSON.stringify([options, page.step()]);
    if (key === state.key && (state.json || state.pending)) return;
    state.pending?.abort();
    state.pending = new AbortController();
    const { signal } = state.pending;
    state.key = key;
    element.dataset.state = "waiting";
    element.setAttribute("aria-busy", "true");
    try {
      const cached = page.cache.get(`${view.view} ${key}`);
      const response = cached || request(page.model.id, options, signal);
      const json =
        cached ||
        (await (state.json
          ? response
          : loading(body, response, {
              height: kind?.height || 220,
              sentence: "Still computing: long inputs take a while.",
              cancel: () => state.pending.abort(),
            })));
      if (signal.aborted) return;
      if (page.cache.size > 200) page.cache.clear();
      page.cache.set(`${view.view} ${key}`, json);
      state.json = json;
      page.setTokens(json);
      if (json.edit) page.edits.show(json.edit.told);
      draw();
      element.dataset.state = "ready";
    } catch (problem) {
      state.key = "";
      if (!isAborted(problem)) fail(problem);
      else if (!state.json) fail({ message: "Cancelled.", notes: [], help: [] });
    } finally {
      if (state.pending?.signal === signal) {
        state.pending = null;
        element.removeAttribute("aria-busy");
      }
    }
  }

  function draw() {
    const { json } = state,
      options = requestBody();
    const rendered = (accept) => request(page.model.id, options, undefined, accept);
    const drawn = kind ? kind.draw(json, api) : serverPicture(rendered("text/html"));
    state.drawn = drawn;
    const before = body.querySelector(".figure-panel")?.dataset.open,
      focus = focusOf(body);
    const frame = figure({
      id: `figure-${view.view}`,
      view: json.view || view.view,
      title: view.title || view.view,
      json,
      caption: json.caption,
      notes: page.edit() && !json.edit ? [...json.notes, "of the original run, without the intervention"] : json.notes,
      drawing: drawn.drawing,
      legend: drawn.legend,
      table: async () => rowsOf(await rendered("text/html")),
      controls: h(".card-controls", controls(view, json, page, kind, api), drawn.controls),
      curl: page.curl(view.view, options),
      python: page.python(view.view, options),
      svg: () => rendered("image/svg+xml"),
    });
    clear(body).append(frame);
    if (before) frame.querySelector(`[data-panel="${before}"]`)?.click();
    if (focus) frame.querySelector(focus)?.focus({ preventScroll: true });
    follow();
  }

  function fail(problem) {
    if (problem instanceof Error && problem.status === undefined) console.error(problem);
    element.dataset.state = "failed";
    const height = Math.max(120, body.offsetHeight);
    clear(body).append(
      h(
        ".figure.card-failed",
        { style: `min-height:${Math.min(height, 420)}px` },
        h("h3.figure-title", view.title || view.view),
        problemBox(problem, () => load()),
      ),
    );
    state.json = null;
  }

  function follow() {
    state.drawn?.follow?.(api);
    if (kind?.at && state.json) load();
  }

  return {
    element,
    load,
    follow,
    view,
    redraw: () => state.json && draw(),
    values: () => (state.json && state.drawn?.values ? state.drawn.values(api) : []),
    json: () => state.json,
  };
}

function convert(option, value) {
  if (option.kind === "whole" || option.kind === "number") return Number(value);
  return option.kind === "truth" ? value === true || value === "true" : value;
}

/** A selector of the control that has the focus, to restore it after the card is redrawn. */
function focusOf(body) {
  const node = document.activeElement;
  if (!body.contains(node)) return null;
  if (node.dataset.control) return `[data-control="${node.dataset.control}"]`;
  if (
    node.classList.contains("matrix") ||
    node.classList.contains("ribbons") ||
    node.classList.contains("heat") ||
    node.classList.contains("tree")
  )
    return `.${node.classList[0]}`;
  return node.getAttribute("role") === "listbox" ? "[role=listbox]" : null;
}
