// How long each model would take here: asked one after another, those that are ticked first.

import { write } from "../dom.js";
import { left, post } from "../api.js";

const QUIET = 700; // milliseconds without a change before the first is asked

/** The times on the cards: `want([[body, node]…])` says which, in what order. */
export class Estimates {
  known = new Map();
  wanted = [];

  constructor(signal) {
    this.signal = signal;
    signal.addEventListener("abort", () => this.stop());
  }

  /** Show what is known, and ask for the rest; what is asked now goes on if it is still wanted. */
  want(pairs) {
    this.wanted = pairs.map(([body, node]) => ({ key: JSON.stringify(body), body, node }));
    for (const { key, node } of this.wanted) tell(node, this.known.get(key));
    if (this.asking && !this.wanted.some(({ key }) => key === this.asking.key)) this.asking.leave.abort();
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.next(), QUIET);
  }

  stop() {
    this.wanted = [];
    clearTimeout(this.timer);
    this.asking?.leave.abort();
  }

  async next() {
    const one = this.wanted.find(({ key }) => !this.known.has(key));
    if (!one || this.asking || this.signal.aborted) return;
    const leave = new AbortController();
    this.asking = { key: one.key, leave };
    try {
      this.known.set(one.key, await post("/recipes:estimate", one.body, { signal: leave.signal }));
    } catch (problem) {
      if (!left(problem)) this.known.set(one.key, { words: "not known", reason: problem.message });
    }
    this.asking = null;
    for (const { key, node } of this.wanted) tell(node, this.known.get(key));
    this.next();
  }
}

function tell(node, found) {
  write(node, found?.words === "not known" ? `time not known: ${found.reason}` : (found?.words ?? "…"));
  node.title = found ? "On this machine, from a probe of two seconds" : "Trying it for two seconds";
  node.dataset.time = found ? (found.seconds ?? "unknown") : "";
}
