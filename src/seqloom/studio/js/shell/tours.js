// Guided tours: each step points at something on a page, and ends when the user has done it.
// Where one is stays in the session, so that other pages and a reload go on with it.

import { announce, h, put } from "../dom.js";
import { go, onChange, place } from "../address.js";
import { shortcut } from "../keys.js";
import { KEY } from "./touring.js";

const isOn = (...pages) => pages.includes(place().page);
const asked = (name) => isOn("inside", "compare") && place().query.get(name);
const chosen = () => (place().query.get("runs") ?? "").split(",").filter(Boolean);
const sees = (selector) => Boolean(document.querySelector(selector));

// A step: on which page, what it points at, the sentence, and what ends it. `to` is the way there.
const STEPS = {
  train: [
    {
      on: "start",
      to: "/",
      at: "[data-example]",
      say: "Choose an example and press Train it. Or drop a file of your own: it is looked at first.",
      until: () => isOn("data", "train", "run"),
    },
    {
      on: "data",
      at: "#continue",
      say: "This is what was found in the file. If nothing is wrong with it, continue to training.",
      until: () => isOn("train", "run"),
    },
    {
      on: "train",
      at: "#start",
      say: "Tick one model or several: a simple one shows what a larger one is worth. Then press Start training.",
      until: () => isOn("run"),
    },
    {
      on: "run",
      at: "#curve-loss, .run-head",
      say: "It learns while you watch: the loss should fall. You may leave this page; training goes on. Wait for its end, or press Stop and keep.",
      until: () => sees("[data-ending]:not([data-ending=waiting])"),
    },
    {
      on: "run",
      at: "[data-ending]",
      say: "This is how it ended. Press Look inside to see what it does, or Try it.",
      until: () => isOn("inside", "try"),
    },
  ],
  inside: [
    {
      on: "inside",
      to: "/inside",
      at: ".choose-model, #main .card",
      say: "Choose a model. If there is none yet, train one first.",
      until: () => isOn("inside") && place().id,
    },
    {
      on: "inside",
      at: ".inside-form",
      say: "Type a text, or take one from the test part, and press Look inside.",
      until: () => asked("text"),
    },
    {
      on: "inside",
      at: "[role=listbox]",
      say: "One cursor for all pictures: press a symbol, or move with the keys ← and →.",
      until: () => asked("at") || asked("to"),
    },
    {
      on: "inside",
      at: ".figure [data-panel=Table]",
      say: "The sentence above each picture is computed from its numbers. Press Table to see them.",
      until: () => sees(".figure [data-panel=Table][aria-expanded=true]"),
    },
  ],
  compare: [
    {
      on: "compare",
      to: "/compare",
      at: "[aria-label='Add a run'], .compare-empty",
      say: "Add two runs of the same task. If there are not two yet, train another.",
      until: () => isOn("compare") && chosen().length > 1,
    },
    {
      on: "compare",
      at: "#same-text",
      say: "Above, the verdict says who is better, and how surely. Now give both the same input, and press Enter.",
      until: () => isOn("compare") && asked("text"),
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

/** Begin a tour from its first step. */
export function begin(name, title) {
  tour?.end();
  tour = new Tour({ name, title, step: 0 });
  const { on, to } = tour.now;
  if (to && (!isOn(on) || place().id)) go(to);
}

/** Go on where the session says. */
export function resume() {
  const kept = JSON.parse(sessionStorage.getItem(KEY));
  if (!tour && STEPS[kept?.name]?.[kept.step]) tour = new Tour(kept);
}

class Tour {
  leaving = new AbortController();

  constructor(state) {
    this.state = state;
    this.steps = STEPS[state.name];
    this.box = h("section.tour", { "aria-label": `Tour: ${state.title}` });
    document.body.append(this.box);
    document.body.classList.add("touring");
    const { signal } = this.leaving;
    const soon = () => (this.timer ||= requestAnimationFrame(() => this.look((this.timer = 0))));
    onChange(soon, { signal });
    document.addEventListener("click", soon, { signal });
    shortcut("Escape", "", () => (sees("dialog[open]") ? false : this.end()), { signal });
    this.watcher = new MutationObserver(soon);
    this.watcher.observe(document.getElementById("main"), { childList: true, subtree: true });
    this.show();
  }

  get now() {
    return this.steps[this.state.step];
  }

  // What was done already is not asked for again.
  look() {
    if (this.leaving.signal.aborted || !this.now) return;
    if (this.now.until()) return this.next();
    this.point();
  }

  next() {
    this.state.step += 1;
    this.show();
    if (this.now) this.look();
  }

  show() {
    const { state, steps, now } = this;
    sessionStorage.setItem(KEY, JSON.stringify(state));
    this.pointed?.classList.remove("tour-here");
    this.pointed = null;
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

  // The page may draw its parts anew at any time, so what is pointed at is looked for again.
  point() {
    const { on, to, at } = this.now;
    const target = isOn(on) ? document.querySelector(at) : null;
    this.find.hidden = !target;
    this.away.hidden = isOn(on);
    if (!isOn(on)) put(this.away, to ? h("a", { href: to }, "Go there") : "That is on another page: go back to it.");
    if (target === this.pointed) return;
    this.pointed?.classList.remove("tour-here");
    this.pointed = target;
    target?.classList.add("tour-here");
    const isStill = matchMedia("(prefers-reduced-motion: reduce)").matches;
    target?.scrollIntoView({ block: "center", behavior: isStill ? "auto" : "smooth" });
  }

  focus() {
    const { pointed } = this;
    (pointed?.matches(FOCUSABLE) ? pointed : pointed?.querySelector(FOCUSABLE))?.focus();
  }

  finish() {
    this.stop();
    const { title } = this.state;
    const words = `That was the tour: ${title}. Press ? for the others.`;
    put(this.box, h("p", words), h(".row", h("button.small", { onclick: () => this.box.remove() }, "Close")));
    announce(words);
  }

  stop() {
    sessionStorage.removeItem(KEY);
    this.leaving.abort();
    this.watcher.disconnect();
    this.pointed?.classList.remove("tour-here");
    document.body.classList.remove("touring");
    if (tour === this) tour = null;
  }

  end() {
    this.stop();
    this.box.remove();
  }
}
