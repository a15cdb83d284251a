// The address is the state: which page, of what, seen how. Reload, back and a copied link work.

const listeners = new Set();
const now = () => location.pathname + location.search;

/** Where we are: {page, id, path, query}; the first word of the path is the page, "/" is "start". */
export function place() {
  const [page = "start", ...rest] = location.pathname.split("/").filter(Boolean);
  const id = rest.length ? decodeURIComponent(rest.join("/")) : null;
  return { page, id, path: location.pathname, query: new URLSearchParams(location.search) };
}

/** Go to another page of the studio. */
export function go(path, { replace = false } = {}) {
  if (path !== now()) history[replace ? "replaceState" : "pushState"](null, "", path);
  tell("go");
}

/** Change parts of the query (null takes one out); the page stays, listeners hear "set". */
export function set(changes, { replace = false } = {}) {
  const query = new URLSearchParams(location.search);
  for (const [name, value] of Object.entries(changes))
    if (value == null || value === "") query.delete(name);
    else query.set(name, value);
  const path = location.pathname + (query.size ? `?${query}` : "");
  if (path === now()) return;
  history[replace ? "replaceState" : "pushState"](null, "", path);
  tell("set");
}

/** Hear of changes: fn(place, how), how = "go" | "set" | "back". Give a signal to stop hearing. */
export function onChange(fn, { signal } = {}) {
  listeners.add(fn);
  signal?.addEventListener("abort", () => listeners.delete(fn));
}

/** A link to a page of the studio: a real one, so that it opens in a new tab too. */
export function link(href, text, props = {}) {
  const anchor = Object.assign(document.createElement("a"), { href });
  anchor.append(text);
  for (const [name, value] of Object.entries(props)) if (value != null) anchor.setAttribute(name, value);
  return anchor;
}

/** The path of a page: path("inside", "my-run", {text: "loom"}). */
export function path(page, id, query = {}) {
  const pairs = new URLSearchParams(Object.entries(query).filter(([, value]) => value != null && value !== ""));
  return `/${page === "start" ? "" : page}${id ? `/${encodeURIComponent(id)}` : ""}${pairs.size ? `?${pairs}` : ""}`;
}

function tell(how) {
  for (const fn of [...listeners]) fn(place(), how);
}

// Links inside the studio change the address without loading the page anew.
document.addEventListener("click", (event) => {
  const anchor = event.target.closest?.("a[href^='/']");
  const special =
    event.defaultPrevented || event.button || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey;
  if (!anchor || special || anchor.target || anchor.hasAttribute("download") || anchor.pathname.includes(".")) return;
  event.preventDefault();
  go(anchor.pathname + anchor.search);
});

addEventListener("popstate", () => tell("back"));
