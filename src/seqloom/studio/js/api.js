// The web API: JSON in, JSON out, and two kinds of streams. What goes wrong becomes a Problem.

import { h, icon } from "./dom.js";

const API = "/api/v1";

/** An error of the server, in the words of the command line; or one of the connection. */
export class Problem extends Error {
  constructor(fields) {
    super(fields.problem ?? fields.detail ?? fields.title ?? "Something went wrong.");
    Object.assign(this, { notes: [], help: [], errors: [] }, fields, { name: "Problem" });
  }
}

/** A path with its parts quoted: at`/runs/${id}/events`. */
export const at = (texts, ...parts) => String.raw({ raw: texts }, ...parts.map(encodeURIComponent));

/** GET a path below /api/v1 (or a whole path that begins with a second slash: "//healthz"). */
export const get = (path, options) => ask("GET", path, undefined, options);

/** POST a body as JSON. Options: signal, accept (text and blobs come back for other types). */
export const post = (path, body = {}, options = {}) => ask("POST", path, body, options);

/** DELETE. */
export const del = (path, options) => ask("DELETE", path, undefined, options);

async function ask(method, path, body, { signal, accept = "application/json" } = {}) {
  const answer = await send(method, path, body, signal, accept);
  if (answer.status === 204) return null;
  const kind = answer.headers.get("content-type") ?? "";
  if (kind.includes("json")) return answer.json();
  return kind.startsWith("text/") || kind.includes("svg") ? answer.text() : answer.blob();
}

async function send(method, path, body, signal, accept) {
  const headers = { Accept: accept, ...(body && { "Content-Type": "application/json" }) };
  const address = path.startsWith("//") ? path.slice(1) : API + path;
  const answer = await fetch(address, { method, headers, signal, body: body && JSON.stringify(body) }).catch(
    (error) => {
      throw left(error) ? error : offline();
    },
  );
  if (!answer.ok) throw await problemOf(answer);
  return answer;
}

const offline = () =>
  new Problem({
    status: 0,
    problem: "The studio does not answer: its server was stopped, or is busy.",
    help: ["Start it again with: seqloom studio"],
  });

async function problemOf(answer) {
  if (answer.status === 401) document.dispatchEvent(new CustomEvent("token-needed"));
  const fields = await answer.json().catch(() => ({})); // a proxy's page: the status has to do
  return new Problem({ title: answer.statusText, ...fields, status: answer.status });
}

/** Whether an error only says that the page was left. */
export const left = (error) => error?.name === "AbortError";

/** Send a file, as it is; `tell(share)` hears how much has gone. */
export function upload(file, tell, { signal } = {}) {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.open("POST", API + at`/datasets?name=${file.name}`);
    request.setRequestHeader("Content-Type", "application/octet-stream");
    request.responseType = "json";
    request.upload.onprogress = (news) => tell?.(news.lengthComputable ? news.loaded / news.total : 0);
    request.onerror = () => reject(offline());
    request.onabort = () => reject(new DOMException("left", "AbortError"));
    request.onload = () =>
      request.status < 300
        ? resolve(request.response)
        : reject(new Problem({ ...request.response, status: request.status }));
    signal?.addEventListener("abort", () => request.abort());
    request.send(file);
  });
}

/**
 * Listen to a stream of events. Handlers: one per kind, (data, id) => …; `open`, `lost` (it comes
 * back by itself), `failed` (problem), `again` (another file is told from its start). A lost stream
 * goes on after the last line that was seen.
 */
export function events(path, { open, lost, failed, again, ...kinds }) {
  let source,
    timer,
    seen = 0,
    closed = false;

  function connect() {
    source = new EventSource(`${API}${path}${path.includes("?") ? "&" : "?"}after=${seen}`);
    source.onopen = () => open?.();
    source.onerror = () => {
      lost?.();
      if (source.readyState === EventSource.CLOSED && !closed) look();
    };
    for (const kind of Object.keys(kinds)) source.addEventListener(kind, hear);
  }

  function hear(event) {
    const line = Number(event.lastEventId) || 0;
    // `state` has no line of its own: it carries the id of the line before it.
    if (event.type !== "state") {
      if (line === 1 && seen) again?.();
      else if (line && line <= seen) return;
      seen = line || seen;
    }
    kinds[event.type](JSON.parse(event.data), line);
  }

  // The browser gives up where the server answered, but not with a stream: ask why.
  async function look() {
    const problem = await get(path.replace(/\/events.*$/, "")).catch((error) => error);
    if (problem.status >= 400 && problem.status < 500) failed?.(problem);
    else if (!closed) timer = setTimeout(connect, 2000);
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
  const lines = block.split("\n");
  const kind =
    lines
      .find((line) => line.startsWith("event:"))
      ?.slice(6)
      .trim() ?? "message";
  const data = lines.filter((line) => line.startsWith("data:")).map((line) => line.slice(5));
  if (!data.length) return;
  const value = JSON.parse(data.join("\n"));
  if (kind === "error" && !handlers.error) throw new Problem(value);
  handlers[kind]?.(value);
}

/** A problem in words: what, where, what to do; and a button that tries again. */
export function problemBox(problem, retry) {
  const { file, line } = problem.place ?? {};
  const list = (lines) =>
    lines?.length > 0 &&
    h(
      "ul",
      lines.map((one) => h("li", one)),
    );
  return h(
    ".problem-box",
    { role: "alert" },
    h(
      "p.problem-title",
      icon("problem"),
      h("strong", "Problem", problem.code && [" ", h("a", { href: `/help/${problem.code}` }, problem.code)], ": "),
      h("span", { dir: "auto" }, problem.message),
    ),
    file && h("p.muted", file, line && `, line ${line}`),
    (problem.notes ?? []).map((note) => h("p", note)),
    list(
      problem.errors?.map((one) =>
        typeof one === "string" ? one : `${[one.loc ?? []].flat().join(" → ")}: ${one.msg ?? one.message}`,
      ),
    ),
    list(problem.help),
    retry && h("p", h("button", { onclick: retry }, "Try again")),
  );
}
