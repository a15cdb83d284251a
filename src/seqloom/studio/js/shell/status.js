// The status bar at the bottom: who can reach the server, and what is training.

import { h, put } from "../dom.js";
import { get } from "../api.js";
import { path } from "../route.js";
import { percent } from "./format.js";

/** Fill the status bar, and refresh it while the page is visible. */
export function showStatus(node) {
  const where = h("span", "Running locally");
  const training = h("span", "no training running");
  node.append(where, h("span", "nothing leaves this machine"), training);
  const refresh = async () => {
    if (document.hidden) return;
    try {
      const { local, running } = await get("/status");
      put(where, local === false ? "Reachable from the network" : "Running locally");
      put(training, summary(running));
    } catch (problem) {
      put(training, problem.status === 0 ? "no connection to the server" : problem.message);
    }
  };
  refresh();
  setInterval(refresh, 5000);
  for (const kind of ["visibilitychange", "runs-changed"]) document.addEventListener(kind, refresh);
}

function summary(running) {
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
