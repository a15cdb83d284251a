// The web API: JSON in, JSON out, and two kinds of streams. What goes wrong becomes a Problem.

import { h, icon } from "./dom.js";

const API = "/api/v1";

/** An error of the server, in the words of the command line; or one of the connection. */
export class Problem extends Error {
  constructor(fields) {
    super(fields.problem ?? fields.detail ?? fields.title ?? "Something went wrong.");
    this.name = "Problem";
    this.notes = [];
    this.help = [];
    this.errors = [];
    Object.assign(this, fields);
  }
}

/** GET a path below /api/v1 (or a whole path that begins with a second slash: "//healthz"). */
export function get(path, options) {
  return ask("GET", path, undefined, options);
}

/** POST a body as JSON. Options: signal, accept (text and blobs come back for other types). */
export function post(path, body, options) {
  return ask("POST", path, body ?? {}, options);
}

/** DELETE. */
export function del(path, options) {
  return ask("DELETE", path, undefined, options);
}

async function ask(method, path, body, { signal, accept = "application/json" } = {}) {
  const answer = await send(method, path, body, signal, accept);
  if (!answer.ok) throw await problemOf(answer);
  if (answer.status === 204) return null;
  const kind = answer.headers.get("content-type") ?? "";
  if (kind.includes("json")) return answer.json();
  return kind.startsWith("text/") || kind.includes("svg") ? answer.text() : answer.blob();
}

async function send(method, path, body, signal, accept) {
  const headers = { Accept: accept };
  if (body !== undefined) headers["Content-Type"] = "application/json";
  try {
    return await fetch(whole(path), {
      method,
      headers,
      signal,
      body: body === undefined ? undefined : JSON.stringify(body),
    });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw offline();
  }
}

function whole(path) {
  return path.startsWith("//") ? path.slice(1) : API + path;
}

function offline() {
  return new Problem({
    status: 0,
    title: "The studio does not answer.",
    problem: "The studio does not answer: its server was stopped, or is busy.",
    help: ["Start it again with: seqloom studio"],
  });
}

async function problemOf(answer) {
  let fields = {};
  try {
    fields = await answer.json();
  } catch {
    // A proxy's page, or nothing: the status has to do.
  }
  if (answer.status === 401) document.dispatchEvent(new CustomEvent("token-needed"));
  return new Problem({ title: answer.statusText, ...fields, status: answer.status });
}

/** Whether an error only says that the page was left. */
export function left(error) {
  return error?.name === "AbortError";
}

/** Send a file, as it is; `tell(share)` hears how much has gone. */
export function upload(file, tell, { signal } = {}) {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.open("POST", `${API}/datasets?name=${encodeURIComponent(file.name)}`);
    request.setRequestHeader("Content-Type", "application/octet-stream");
    request.responseType = "json";
    request.upload.onprogress = (news) => tell?.(news.lengthComputable ? news.loaded / news.total : 0);
    request.onerror = () => reject(offline());
    request.onabort = () => reject(new DOMException("left", "AbortError"));
    request.onload = () =>
      request.status < 300
        ? resolve(request.response)
        : reject(new Problem({ ...(request.response ?? {}), status: request.status }));
    signal?.addEventListener("abort", () => request.abort());
    request.send(file);
  });
}

/**
 * Listen to a stream of events. Handlers: one per kind, (data, id) => …; `open`, `lost` (it comes
 * back by itself), `failed` (problem), `again` (another file is told from its start). A lost stream goes on after the last line that was seen.
 */
export function events(path, handlers, { after = 0 } = {}) {
  let source = null;
  let seen = after;
  let timer = 0;
  let closed = false;
  const kinds = Object.keys(handlers).filter((kind) => !["open", "lost", "failed", "again"].includes(kind));

  function connect() {
    const mark = path.includes("?") ? "&" : "?";
    source = new EventSource(`${API}${path}${mark}after=${seen}`);
    source.onopen = () => handlers.open?.();
    source.onerror = () => {
      handlers.lost?.();
      if (source.readyState === EventSource.CLOSED && !closed) look();
    };
    for (const kind of kinds) source.addEventListener(kind, hear);
  }

  function hear(event) {
    const line = Number(event.lastEventId) || 0;
    // `state` has no line of its own: it carries the id of the line before it.
    if (event.type !== "state") {
      if (line === 1 && seen) handlers.again?.();
      else if (line && line <= seen) return;
      seen = line || seen;
    }
    handlers[event.type]?.(JSON.parse(event.data), line);
  }

  // The browser gives up where the server answered, but not with a stream: ask why.
  async function look() {
    try {
      await get(path.replace(/\/events.*$/, ""));
    } catch (problem) {
      if (problem.status >= 400 && problem.status < 500) return handlers.failed?.(problem);
    }
    if (!closed) timer = setTimeout(connect, 2000);
  }

  connect();
  return {
    close() {
      closed = true;
      clearTimeout(timer);
      source.close();
    },
  };
}

/** POST, and read the answer as a stream of events: handlers by kind, (data) => …. */
export async function stream(path, body, handlers, signal) {
  const answer = await send("POST", path, body, signal, "text/event-stream");
  if (!answer.ok) throw await problemOf(answer);
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    const blocks = (rest + value.replaceAll("\r\n", "\n")).split("\n\n");
    rest = blocks.pop();
    for (const block of blocks) tellBlock(block, handlers);
  }
}

function tellBlock(block, handlers) {
  let kind = "message";
  const data = [];
  for (const line of block.split("\n"))
    if (line.startsWith("event:")) kind = line.slice(6).trim();
    else if (line.startsWith("data:")) data.push(line.slice(5).replace(/^ /, ""));
  if (!data.length) return;
  const value = JSON.parse(data.join("\n"));
  if (kind === "error" && !handlers.error) throw new Problem(value);
  handlers[kind]?.(value);
}

/** A problem in words: what, where, what to do; and a button that tries again. */
export function problemBox(problem, retry) {
  const place = problem.place?.file
    ? `${problem.place.file}${problem.place.line ? `, line ${problem.place.line}` : ""}`
    : "";
  return h(".problem-box", { role: "alert" },
    h("p.problem-title", icon("problem"), h("strong", "Problem", problem.code && [" ", h("a", { href: `/help/${problem.code}` }, problem.code)], ": "), h("span", { dir: "auto" }, problem.message)),
    place && h("p.muted", place),
    (problem.notes ?? []).map((note) => h("p", note)),
    problem.errors?.length > 0 && h("ul", problem.errors.map((one) => h("li", errorLine(one)))),
    problem.help?.length > 0 && h("ul.help-lines", problem.help.map((line) => h("li", line))),
    retry && h("p", h("button", { on: { click: retry } }, "Try again")),
  );
}

function errorLine(one) {
  if (typeof one === "string") return one;
  const place = Array.isArray(one.loc) ? one.loc.join(" → ") : (one.loc ?? "");
  return [place, one.msg ?? one.message ?? JSON.stringify(one)].filter(Boolean).join(": ");
}
