// Guided tours: each step points at a part of a page, and ends when the user has done it. The current step is
// in session storage, so that the tour continues after a page load.

import { announce, h, put } from "../dom.js";
import { currentRoute, navigate, onRouteChange } from "../route.js";
import { shortcut } from "../keys.js";
import { KEY } from "./tourlist.js";

const isOn = (...pages) => pages.includes(currentRoute().page);
const hasQuery = (name) => isOn("inside", "compare") && currentRoute().query.get(name);
const chosenRuns = () => (currentRoute().query.get("runs") ?? "").split(",").filter(Boolean);
const exists = (selector) => Boolean(document.querySelector(selector));

// A step: its page, the selector of its target, its text, and the condition that ends it. `to` is the URL of the page.
const STEPS = {
  train: [
    {
      on: "start",
      to: "/",
      at: "[data-example]",
      say: "Choose an example and press Train it. Or drop a file of your own: it is checked first.",
      until: () => isOn("data", "train", "run"),
    },
    {
      on: "data",
      at: "#continue",
      say: "This is the check of your file. If it has no problems, continue to training.",
      until: () => isOn("train", "run"),
    },
    {
      on: "train",
      at: "#start",
      say: "Tick one or several models: a simple baseline shows what a larger model is worth. Then press Start training.",
      until: () => isOn("run"),
    },
    {
      on: "run",
      at: "#curve-loss, .run-head",
      say: "Watch the training: the loss should fall. You may leave this page; training continues. Wait until it ends, or press Stop and keep.",
      until: () => exists("[data-ending]:not([data-ending=waiting])"),
    },
    {
      on: "run",
      at: "[data-ending]",
      say: "This is the result. Press Look inside to see how the model works, or Try it.",
      until: () => isOn("inside", "try"),
    },
  ],
  inside: [
    {
      on: "inside",
      to: "/inside",
      at: ".choose-model, #main .card",
      say: "Choose a model. If there is none yet, train one first.",
      until: () => isOn("inside") && currentRoute().id,
    },
    {
      on: "inside",
      at: "[role=listbox]",
      say: "The input is an example of the test set; type another one above. All figures share one cursor: click a token, or move with the keys ← and →.",
      until: () => hasQuery("at") || hasQuery("to"),
    },
    {
      on: "inside",
      at: ".figure [data-panel=Table]",
      say: "The caption of each figure is computed from its data. Press Table to see them.",
      until: () => exists(".figure [data-panel=Table][aria-expanded=true]"),
    },
  ],
  compare: [
    {
      on: "compare",
      to: "/compare",
      at: "[aria-label='Add a run'], .compare-empty",
      say: "Add two runs of the same task. If there are not two yet, train another.",
      until: () => isOn("compare") && chosenRuns().length > 1,
    },
    {
      on: "compare",
      at: "#same-text",
      say: "The verdict above says which run is better, and whether the difference is significant. Now give both the same input, and press Enter.",
      until: () => isOn("compare") && hasQuery("text"),
    },
    {
      on: "compare",
      at: ".chosen-run",
      say: "Press the name of a run to see how it was trained.",
      until: () => isOn("run"),
    },
  ],
};

const FOCUSABLE = "a[href], button, input, select, textarea, [tabindex]";
let tour = null;

/** Start a tour at its first step. */
export function start(name, title) {
  tour?.end();
  tour = new Tour({ name, title, step: 0 });
  const { on, to } = tour.now;
  if (to && (!isOn(on) || currentRoute().id)) navigate(to);
}

/** Resume at the step in session storage. */
export function resume() {
  const saved = JSON.parse(sessionStorage.getItem(KEY));
  if (!tour && STEPS[saved?.name]?.[saved.step]) tour = new Tour(saved);
}

class Tour {
  aborter = new AbortController();

  constructor(state) {
    this.state = state;
    this.steps = STEPS[state.name];
    this.box = h("section.tour", { "aria-label": `Tour: ${state.title}` });
    document.body.append(this.box);
    document.body.classList.add("touring");
    const { signal } = this.aborter;
    const soon = () => (this.timer ||= requestAnimationFrame(() => this.update((this.timer = 0))));
    onRouteChange(soon, { signal });
    document.addEventListener("click", soon, { signal });
    shortcut("Escape", "", () => (exists("dialog[open]") ? false : this.end()), { signal });
    this.watcher = new MutationObserver(soon);
    this.watcher.observe(document.getElementById("main"), { childList: true, subtree: true });
    this.show();
  }

  get now() {
    return this.steps[this.state.step];
  }

  // Steps whose condition is already met are skipped.
  update() {
    if (this.aborter.signal.aborted || !this.now) return;
    if (this.now.until()) return this.next();
    this.point();
  }

  next() {
    this.state.step += 1;
    this.show();
    if (this.now) this.update();
  }

  show() {
    const { state, steps, now } = this;
    sessionStorage.setItem(KEY, JSON.stringify(state));
    this.target?.classList.remove("tour-here");
    this.target = null;
    if (!now) return this.finish();
    this.away = h("p.small", { hidden: true });
    this.find = h("button.small", { onclick: () => this.focus() }, "Show me");
    put(
      this.box,
      h("p.small.muted", `${state.title} · step ${state.step + 1} of ${steps.length}`),
      h("p", now.say),
      this.away,
      h(
        ".row",
        this.find,
        h("button.quiet.small", { onclick: () => this.next() }, "Skip"),
        h("button.quiet.small", { onclick: () => this.end() }, "End the tour (Esc)"),
      ),
    );
    announce(now.say);
    this.point();
  }

  // The page may re-render its parts at any time, so the target is queried again.
  point() {
    const { on, to, at } = this.now;
    const target = isOn(on) ? document.querySelector(at) : null;
    this.find.hidden = !target;
    this.away.hidden = isOn(on);
    const way = to ? h("a", { href: to }, "Go there") : "This step is on another page: go back to it.";
    if (!isOn(on)) put(this.away, way);
    if (target === this.target) return;
    this.target?.classList.remove("tour-here");
    this.target = target;
    target?.classList.add("tour-here");
    const reduced = matchMedia("(prefers-reduced-motion: reduce)").matches;
    target?.scrollIntoView({ block: "center", behavior: reduced ? "auto" : "smooth" });
  }

  focus() {
    const { target } = this;
    (target?.matches(FOCUSABLE) ? target : target?.querySelector(FOCUSABLE))?.focus();
  }

  finish() {
    this.stop();
    const { title } = this.state;
    const text = `Tour completed: ${title}. Press ? for other tours.`;
    put(this.box, h("p", text), h(".row", h("button.small", { onclick: () => this.box.remove() }, "Close")));
    announce(text);
  }

  stop() {
    sessionStorage.removeItem(KEY);
    this.aborter.abort();
    this.watcher.disconnect();
    this.target?.classList.remove("tour-here");
    document.body.classList.remove("touring");
    if (tour === this) tour = null;
  }

  end() {
    this.stop();
    this.box.remove();
  }
}
