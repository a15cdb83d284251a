// The strip at the bottom: where this runs, and what is training.

import { h, put } from "../dom.js";
import { get } from "../api.js";
import { path } from "../address.js";
import { percent } from "./words.js";

const EVERY = 5000;

/** Fill the strip, and keep it true while the page is looked at. */
export function showStatus(node) {
  const training = h("span", { dataset: { part: "training" } }, "no training running");
  const where = h("span", "Running locally");
  const promise = h("span", "nothing leaves this machine");
  node.append(where, promise, training);
  const look = async () => {
    if (document.hidden) return;
    try {
      const status = await get("/status");
      if (status.local === false) put(where, "Reachable from the network");
      put(training, runningWords(status.running ?? []));
    } catch (problem) {
      put(training, problem.status === 0 ? "the studio does not answer" : problem.message);
    }
  };
  look();
  setInterval(look, EVERY);
  document.addEventListener("visibilitychange", look);
  document.addEventListener("runs-changed", look);
}

function runningWords(running) {
  if (!running.length) return "no training running";
  const noun = running.length === 1 ? "1 training running" : `${running.length} trainings running`;
  const links = running.slice(0, 3).map((run, i) => [
    i ? ", " : "",
    h("a", { href: path("run", run.id) }, run.id),
    run.progress == null ? "" : `, ${percent(run.progress)}`,
  ]);
  return [`${noun} (`, ...links, running.length > 3 ? ", …)" : ")"];
}
