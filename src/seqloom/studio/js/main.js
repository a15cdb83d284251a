// The router: the address names a page, the page fills <main>, and leaves when the address moves on.

import { clear, h } from "./dom.js";
import { left, problemBox } from "./api.js";
import { onChange, place } from "./address.js";
import { showTop } from "./shell/top.js";
import { showStatus } from "./shell/status.js";
import { offerHelp } from "./shell/help.js";
import { lostPage, missingPage } from "./shell/astray.js";

const PAGES = ["start", "data", "train", "run", "compare", "inside", "try", "serve", "models", "api", "help"];
const main = document.getElementById("main");
let leaving = new AbortController();
let shown = null;

async function show(now, how) {
  leaving.abort();
  leaving = new AbortController();
  const { signal } = leaving;
  shown = { path: now.path };
  document.body.dataset.page = now.page;
  if (how === "go") scrollTo(0, 0);
  try {
    if (!PAGES.includes(now.page)) return lostPage(clear(main), now);
    const page = await import(`./pages/${now.page}.js`);
    if (signal.aborted) return;
    shown.listens = page.listens;
    const title = typeof page.title === "function" ? page.title(now) : page.title;
    document.title = `${title} · Seqloom`;
    await page.show(clear(main), now, signal);
    if (how === "go" && !main.contains(document.activeElement)) main.focus({ preventScroll: true });
  } catch (error) {
    if (!signal.aborted && !left(error)) fail(error, now);
  } finally {
    if (!signal.aborted) main.dataset.ready = now.path;
  }
}

function fail(error, now) {
  if (error.status === 401) return;
  if (error.status === 404) return missingPage(clear(main), now, error);
  if (error.status === undefined) console.error(error);
  clear(main).append(
    h("h1", "This page could not be shown"),
    problemBox(error, () => show(now)),
  );
}

onChange((now, how) => {
  // A page that says `listens` follows its own query; all others are simply shown anew.
  if (how === "set" || (how === "back" && shown.listens && shown.path === now.path)) return;
  delete main.dataset.ready;
  show(now, how);
});
// The server asks for a token: its own page does.
document.addEventListener("token-needed", () => location.reload());
addEventListener("unhandledrejection", (event) => left(event.reason) && event.preventDefault());

showTop(document.getElementById("top"));
showStatus(document.getElementById("status"));
offerHelp();
show(place(), "load");
