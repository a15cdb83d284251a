// Training-time estimates of the models: requested one at a time, selected models first.

import { write } from "../dom.js";
import { isAborted, post } from "../api.js";

const DEBOUNCE_MS = 700;

/** The estimates on the model cards: `update([[body, node]…])` sets which, in what order. */
export class Estimates {
  results = new Map();
  queue = [];

  constructor(signal) {
    this.signal = signal;
    signal.addEventListener("abort", () => this.stop());
  }

  /** Show known results and request the others; a running request continues if it is still in the queue. */
  update(pairs) {
    this.queue = pairs.map(([body, node]) => ({ key: JSON.stringify(body), body, node }));
    for (const { key, node } of this.queue) showEstimate(node, this.results.get(key));
    if (this.pending && !this.queue.some(({ key }) => key === this.pending.key)) this.pending.aborter.abort();
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.next(), DEBOUNCE_MS);
  }

  stop() {
    this.queue = [];
    clearTimeout(this.timer);
    this.pending?.aborter.abort();
  }

  async next() {
    const one = this.queue.find(({ key }) => !this.results.has(key));
    if (!one || this.pending || this.signal.aborted) return;
    const aborter = new AbortController();
    this.pending = { key: one.key, aborter };
    try {
      this.results.set(one.key, await post("/recipes:estimate", one.body, { signal: aborter.signal }));
    } catch (problem) {
      if (!isAborted(problem)) this.results.set(one.key, { words: "not known", reason: problem.message });
    }
    this.pending = null;
    for (const { key, node } of this.queue) showEstimate(node, this.results.get(key));
    this.next();
  }
}

function showEstimate(node, result) {
  write(node, result?.words === "not known" ? `time unknown: ${result.reason}` : (result?.words ?? "…"));
  node.title = result ? "Estimated on this machine by training for two seconds" : "Training for two seconds";
  node.dataset.time = result ? (result.seconds ?? "unknown") : "";
}
