// A card of the inside: one view of one model. It asks the server, draws with the figure of its
// kind, follows the shared cursor, and keeps its size while it waits or when something goes wrong.
import { clear, h } from "../dom.js";
import { left, post, problemBox } from "../api.js";
import { figure } from "../figures/figure.js";
import { waiting } from "../shell/waiting.js";
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
  const state = { json: null, drawn: null, asking: null, asked: "" };

  const api = {
    view: view.view,
    page,
    local: (name, otherwise) => page.option(view.view, name) ?? otherwise,
    setLocal: (name, value) => {
      page.choose(view.view, name, value);
      if (state.json) draw();
    },
    setOption: (name, value) => {
      page.choose(view.view, name, value);
      load();
    },
    move: (side, place) => page.cursors.move(...along(side, (by) => place - by)),
    at: (side) => {
      const [rail, by] = along(side, (found) => found),
        place = page.cursors.at(rail);
      return place === null ? null : place + by;
    },
    ask: (other) => ask(other, given()),
    group: "rail",
  };
  const along = (side, use) => {
    const tokens = state.json?.tokens?.[side],
      rail = page.cursors.sideOf(side, tokens);
    return [rail, use(page.cursors.shift(rail, tokens) ?? 0)];
  };

  function given() {
    const body = { ...page.input() };
    for (const option of view.options || []) {
      if (option.name === "view") continue;
      const value =
        option.name === "at"
          ? kind?.at?.(page, state.json)
          : option.name === "edit"
            ? page.edit()
            : page.option(view.view, option.name);
      if (value !== undefined && value !== null && value !== "") body[option.name] = typed(option, value);
    }
    return body;
  }

  function ask(model, body, signal, accept) {
    const step = page.step() === null ? "" : `?step=${page.step()}`;
    return post(`/models/${encodeURIComponent(model)}/views/${view.view}${step}`, body, { signal, accept });
  }

  async function load() {
    // The time-lapse has what training kept; other cards step aside for as long.
    element.hidden = page.step() !== null && !page.model.probes.views.includes(view.view);
    if (element.hidden) return;
    const asked = given(),
      key = JSON.stringify([asked, page.step()]);
    if (key === state.asked && (state.json || state.asking)) return;
    state.asking?.abort();
    state.asking = new AbortController();
    const { signal } = state.asking;
    state.asked = key;
    element.dataset.state = "waiting";
    element.setAttribute("aria-busy", "true");
    try {
      const known = page.kept.get(`${view.view} ${key}`);
      const answer = known || ask(page.model.id, asked, signal);
      const json =
        known ||
        (await (state.json
          ? answer
          : waiting(body, answer, {
              height: kind?.height || 220,
              sentence: "Still computing: long texts and many places take a while.",
              cancel: () => state.asking.abort(),
            })));
      if (signal.aborted) return;
      if (page.kept.size > 200) page.kept.clear();
      page.kept.set(`${view.view} ${key}`, json);
      state.json = json;
      page.setTokens(json);
      if (json.edit) page.edits.tell(json.edit.told);
      draw();
      element.dataset.state = "ready";
    } catch (problem) {
      state.asked = "";
      if (!left(problem)) fail(problem);
      else if (!state.json) fail({ message: "Cancelled.", notes: [], help: [] });
    } finally {
      if (state.asking?.signal === signal) {
        state.asking = null;
        element.removeAttribute("aria-busy");
      }
    }
  }

  function draw() {
    const { json } = state,
      asked = given();
    const served = (accept) => ask(page.model.id, asked, undefined, accept);
    const drawn = kind ? kind.draw(json, api) : serverPicture(served("text/html"));
    state.drawn = drawn;
    const before = body.querySelector(".figure-panel")?.dataset.open,
      focus = focusOf(body);
    const frame = figure({
      id: `figure-${view.view}`,
      view: json.view || view.view,
      title: view.title || view.view,
      json,
      caption: json.caption,
      notes: page.edit() && !json.edit ? [...json.notes, "of the run as it is, without the edit"] : json.notes,
      drawing: drawn.drawing,
      legend: drawn.legend,
      table: async () => rowsOf(await served("text/html")),
      controls: h(".card-controls", controls(view, json, page, kind, api), drawn.controls),
      curl: page.curl(view.view, asked),
      python: page.python(view.view, asked),
      svg: () => served("image/svg+xml"),
    });
    clear(body).append(frame);
    if (before) frame.querySelector(`[data-panel="${before}"]`)?.click();
    if (focus) frame.querySelector(focus)?.focus({ preventScroll: true });
    follow();
  }

  function fail(problem) {
    if (problem instanceof Error && problem.status === undefined) console.error(problem);
    element.dataset.state = "failed";
    const tall = Math.max(120, body.offsetHeight);
    clear(body).append(
      h(
        ".figure.card-failed",
        { style: `min-height:${Math.min(tall, 420)}px` },
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

function typed(option, value) {
  if (option.kind === "whole" || option.kind === "number") return Number(value);
  return option.kind === "truth" ? value === true || value === "true" : value;
}

/** A way to find the control that had the focus again after the card was drawn anew. */
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
