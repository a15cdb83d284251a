// Client of the web API: JSON requests and two kinds of event streams. Errors become a Problem.

import { h, icon } from "./dom.js";

const API = "/api/v1";

/** An error of the server (problem details, RFC 9457), or one of the connection. */
export class Problem extends Error {
  constructor(fields) {
    super(fields.problem ?? fields.detail ?? fields.title ?? "Unknown error.");
    Object.assign(this, { notes: [], help: [], errors: [] }, fields, { name: "Problem" });
  }
}

/** A path with its parts URL-encoded: url`/runs/${id}/events`. */
export const url = (texts, ...parts) => String.raw({ raw: texts }, ...parts.map(encodeURIComponent));

/** GET a path below /api/v1 (or a whole path that begins with a second slash: "//healthz"). */
export const get = (path, options) => request("GET", path, undefined, options);

/** POST a body as JSON. Options: signal, accept (other types are returned as text or Blob). */
export const post = (path, body = {}, options = {}) => request("POST", path, body, options);

/** DELETE. */
export const del = (path, options) => request("DELETE", path, undefined, options);

async function request(method, path, body, { signal, accept = "application/json" } = {}) {
  const response = await send(method, path, body, signal, accept);
  if (response.status === 204) return null;
  const type = response.headers.get("content-type") ?? "";
  if (type.includes("json")) return response.json();
  return type.startsWith("text/") || type.includes("svg") ? response.text() : response.blob();
}

async function send(method, path, body, signal, accept) {
  const headers = { Accept: accept, ...(body && { "Content-Type": "application/json" }) };
  const target = path.startsWith("//") ? path.slice(1) : API + path;
  const response = await fetch(target, { method, headers, signal, body: body && JSON.stringify(body) }).catch(
    (error) => {
      throw isAborted(error) ? error : offline();
    },
  );
  if (!response.ok) throw await problemOf(response);
  return response;
}

const offline = () =>
  new Problem({
    status: 0,
    problem: "No connection: the server of the studio was stopped, or is busy.",
    help: ["Start it again with: seqloom studio"],
  });

async function problemOf(response) {
  if (response.status === 401) document.dispatchEvent(new CustomEvent("token-needed"));
  const fields = await response.json().catch(() => ({})); // e.g. an HTML page of a proxy
  return new Problem({ title: response.statusText, ...fields, status: response.status });
}

/** Whether a request was aborted, as when the page is left. */
export const isAborted = (error) => error?.name === "AbortError";

/** Upload a file; `onProgress(fraction)` reports how much has been sent. */
export function upload(file, onProgress, { signal } = {}) {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.open("POST", API + url`/datasets?name=${file.name}`);
    request.setRequestHeader("Content-Type", "application/octet-stream");
    request.responseType = "json";
    request.upload.onprogress = (event) => onProgress?.(event.lengthComputable ? event.loaded / event.total : 0);
    request.onerror = () => reject(offline());
    request.onabort = () => reject(new DOMException("aborted", "AbortError"));
    request.onload = () =>
      request.status < 300
        ? resolve(request.response)
        : reject(new Problem({ ...request.response, status: request.status }));
    signal?.addEventListener("abort", () => request.abort());
    request.send(file);
  });
}

/**
 * Subscribe to server-sent events. Handlers: one per kind, (data, id) => …; `open`, `lost` (it reconnects
 * by itself), `failed` (problem), `restarted` (the file was replaced: events start again from the first).
 * After a reconnect the stream continues after the last line received.
 */
export function events(path, { open, lost, failed, restarted, ...kinds }) {
  let source,
    timer,
    lastLine = 0,
    closed = false;

  function connect() {
    source = new EventSource(`${API}${path}${path.includes("?") ? "&" : "?"}after=${lastLine}`);
    source.onopen = () => open?.();
    source.onerror = () => {
      lost?.();
      if (source.readyState === EventSource.CLOSED && !closed) diagnose();
    };
    for (const kind of Object.keys(kinds)) source.addEventListener(kind, receive);
  }

  function receive(event) {
    const line = Number(event.lastEventId) || 0;
    // `state` is not a line of the file: EventSource repeats the id of the line before it.
    if (event.type !== "state") {
      if (line === 1 && lastLine) restarted?.();
      else if (line && line <= lastLine) return;
      lastLine = line || lastLine;
    }
    kinds[event.type](JSON.parse(event.data), line);
  }

  // EventSource gives up, without a reason, if the response is not a stream: request the reason.
  async function diagnose() {
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

/** POST, and read the response as server-sent events: handlers by kind, (data) => …. */
export async function stream(path, body, handlers, signal) {
  const response = await send("POST", path, body, signal, "text/event-stream");
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    const blocks = (rest + value.replaceAll("\r\n", "\n")).split("\n\n");
    rest = blocks.pop();
    for (const block of blocks) dispatch(block, handlers);
  }
}

function dispatch(block, handlers) {
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

/** An error box: what, where, what to do; and a button to try again. */
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
