// The address is the state: which page, of what, seen how. Reload, back and a copied link work.

const listeners = new Set();

/** Where we are: {page, id, path, query}; the first word of the path is the page, "/" is "start". */
export function place() {
  const [page = "start", ...rest] = location.pathname.split("/").filter(Boolean);
  return {
    page,
    id: rest.length ? decodeURIComponent(rest.join("/")) : null,
    path: location.pathname,
    query: new URLSearchParams(location.search),
  };
}

/** Go to another page of the studio. */
export function go(path, { replace = false } = {}) {
  if (replace) history.replaceState(null, "", path);
  else if (path !== location.pathname + location.search) history.pushState(null, "", path);
  tell("go");
}

/** Change parts of the query (null takes one out); the page stays, listeners hear "set". */
export function set(changes, { replace = false } = {}) {
  const query = new URLSearchParams(location.search);
  for (const [name, value] of Object.entries(changes))
    if (value == null || value === "") query.delete(name);
    else query.set(name, value);
  const text = query.toString();
  const path = location.pathname + (text ? `?${text}` : "");
  if (path === location.pathname + location.search) return;
  history[replace ? "replaceState" : "pushState"](null, "", path);
  tell("set");
}

/** Hear of changes: fn(place, how), how = "go" | "set" | "back". Give a signal to stop hearing. */
export function onChange(fn, { signal } = {}) {
  listeners.add(fn);
  signal?.addEventListener("abort", () => listeners.delete(fn));
  return () => listeners.delete(fn);
}

/** A link to a page of the studio: a real one, so that it opens in a new tab too. */
export function link(path, text, props = {}) {
  const anchor = document.createElement("a");
  anchor.href = path;
  anchor.append(text);
  for (const [name, value] of Object.entries(props)) if (value != null) anchor.setAttribute(name, value);
  return anchor;
}

/** The path of a page: path("inside", "my-run", {text: "loom"}). */
export function path(page, id, query = {}) {
  const pairs = Object.entries(query).filter(([, value]) => value != null && value !== "");
  const text = new URLSearchParams(pairs).toString();
  const base = page === "start" ? "/" : `/${page}${id ? `/${encodeURIComponent(id)}` : ""}`;
  return base + (text ? `?${text}` : "");
}

function tell(how) {
  const now = place();
  for (const fn of [...listeners]) fn(now, how);
}

// Links inside the studio change the address without loading the page anew.
document.addEventListener("click", (event) => {
  const anchor = event.target.closest?.("a[href]");
  if (!anchor || event.defaultPrevented || event.button !== 0) return;
  if (event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
  if (anchor.target || anchor.hasAttribute("download") || anchor.origin !== location.origin) return;
  if (!anchor.getAttribute("href").startsWith("/") || anchor.pathname.includes(".")) return;
  event.preventDefault();
  go(anchor.pathname + anchor.search);
});

addEventListener("popstate", () => tell("back"));
