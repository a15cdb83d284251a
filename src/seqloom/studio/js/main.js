// The router: loads the module of the page in the URL, which fills <main>, and aborts it at the next route.

import { clear, h } from "./dom.js";
import { isAborted, problemBox } from "./api.js";
import { currentRoute, onRouteChange } from "./route.js";
import { showTop } from "./shell/top.js";
import { showStatus } from "./shell/status.js";
import { offerHelp } from "./shell/help.js";
import { itemNotFound, pageNotFound } from "./shell/notfound.js";

const PAGES = ["start", "data", "train", "run", "compare", "inside", "try", "serve", "models", "api", "help"];
const main = document.getElementById("main");
let pageAborter = new AbortController();
let shown = null;

async function show(route, how) {
  pageAborter.abort();
  pageAborter = new AbortController();
  const { signal } = pageAborter;
  shown = { path: route.path };
  document.body.dataset.page = route.page;
  if (how === "go") scrollTo(0, 0);
  try {
    if (!PAGES.includes(route.page)) return pageNotFound(clear(main), route);
    const page = await import(`./pages/${route.page}.js`);
    if (signal.aborted) return;
    shown.listens = page.listens;
    const title = typeof page.title === "function" ? page.title(route) : page.title;
    document.title = `${title} · Seqloom`;
    await page.show(clear(main), route, signal);
    if (how === "go" && !main.contains(document.activeElement)) main.focus({ preventScroll: true });
  } catch (error) {
    if (!signal.aborted && !isAborted(error)) fail(error, route);
  } finally {
    if (!signal.aborted) main.dataset.ready = route.path;
  }
}

function fail(error, route) {
  if (error.status === 401) return;
  if (error.status === 404) return itemNotFound(clear(main), route, error);
  if (error.status === undefined) console.error(error);
  clear(main).append(
    h("h1", "This page failed to load"),
    problemBox(error, () => show(route)),
  );
}

onRouteChange((route, how) => {
  // Pages that export `listens` follow changes of their query themselves; others are rendered again.
  if (how === "set" || (how === "back" && shown.listens && shown.path === route.path)) return;
  delete main.dataset.ready;
  show(route, how);
});
// A token is required: the server responds to the reload with its token page.
document.addEventListener("token-needed", () => location.reload());
addEventListener("unhandledrejection", (event) => isAborted(event.reason) && event.preventDefault());

showTop(document.getElementById("top"));
showStatus(document.getElementById("status"));
offerHelp();
show(currentRoute(), "load");
