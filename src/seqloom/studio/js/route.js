// Routing: all state of a page is in its URL, so that reload, back and a copied link work.

const listeners = new Set();
const currentUrl = () => location.pathname + location.search;

/** The current route: {page, id, path, query}; the first part of the path is the page, "/" is "start". */
export function currentRoute() {
  const [page = "start", ...rest] = location.pathname.split("/").filter(Boolean);
  const id = rest.length ? decodeURIComponent(rest.join("/")) : null;
  return { page, id, path: location.pathname, query: new URLSearchParams(location.search) };
}

/** Go to another page of the studio. */
export function navigate(path, { replace = false } = {}) {
  if (path !== currentUrl()) history[replace ? "replaceState" : "pushState"](null, "", path);
  notify("go");
}

/** Change query parameters (null removes one); the page stays, listeners get "set". */
export function setQuery(changes, { replace = false } = {}) {
  const query = new URLSearchParams(location.search);
  for (const [name, value] of Object.entries(changes))
    if (value == null || value === "") query.delete(name);
    else query.set(name, value);
  const path = location.pathname + (query.size ? `?${query}` : "");
  if (path === currentUrl()) return;
  history[replace ? "replaceState" : "pushState"](null, "", path);
  notify("set");
}

/** Listen to changes: fn(route, how), how = "go" | "set" | "back". A signal removes the listener. */
export function onRouteChange(fn, { signal } = {}) {
  listeners.add(fn);
  signal?.addEventListener("abort", () => listeners.delete(fn));
}

/** A link to a page of the studio: a real <a>, so that it opens in a new tab, too. */
export function link(href, text, props = {}) {
  const anchor = Object.assign(document.createElement("a"), { href });
  anchor.append(text);
  for (const [name, value] of Object.entries(props)) if (value != null) anchor.setAttribute(name, value);
  return anchor;
}

/** The URL of a page: path("inside", "my-run", {text: "loom"}). */
export function path(page, id, query = {}) {
  const pairs = new URLSearchParams(Object.entries(query).filter(([, value]) => value != null && value !== ""));
  return `/${page === "start" ? "" : page}${id ? `/${encodeURIComponent(id)}` : ""}${pairs.size ? `?${pairs}` : ""}`;
}

function notify(how) {
  for (const fn of [...listeners]) fn(currentRoute(), how);
}

// Links inside the studio change the route without a page load.
document.addEventListener("click", (event) => {
  const anchor = event.target.closest?.("a[href^='/']");
  const special =
    event.defaultPrevented || event.button || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey;
  if (!anchor || special || anchor.target || anchor.hasAttribute("download") || anchor.pathname.includes(".")) return;
  event.preventDefault();
  navigate(anchor.pathname + anchor.search);
});

addEventListener("popstate", () => notify("back"));
