// The strip at the bottom: where this runs, and what is training.

import { h, put } from "../dom.js";
import { get } from "../api.js";
import { path } from "../address.js";
import { percent } from "./words.js";

/** Fill the strip, and keep it true while the page is looked at. */
export function showStatus(node) {
  const where = h("span", "Running locally");
  const training = h("span", "no training running");
  node.append(where, h("span", "nothing leaves this machine"), training);
  const look = async () => {
    if (document.hidden) return;
    try {
      const { local, running } = await get("/status");
      put(where, local === false ? "Reachable from the network" : "Running locally");
      put(training, words(running));
    } catch (problem) {
      put(training, problem.status === 0 ? "the studio does not answer" : problem.message);
    }
  };
  look();
  setInterval(look, 5000);
  for (const kind of ["visibilitychange", "runs-changed"]) document.addEventListener(kind, look);
}

function words(running) {
  if (!running.length) return "no training running";
  const links = running
    .slice(0, 3)
    .map((run, i) => [
      i ? ", " : "",
      h("a", { href: path("run", run.id) }, run.id),
      run.progress != null && `, ${percent(run.progress)}`,
    ]);
  return [
    `${running.length} training${running.length > 1 ? "s" : ""} running (`,
    links,
    running.length > 3 ? ", …)" : ")",
  ];
}
