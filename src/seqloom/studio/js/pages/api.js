// Every call of the web API, made from /openapi.json: what it does, what it takes, curl and Python.

import { h } from "../dom.js";
import { get } from "../api.js";
import { waiting } from "../shell/waiting.js";
import { snippets } from "../shell/copying.js";

export const title = "Web API";
const METHODS = ["get", "post", "put", "delete"];

/** Fill the page. */
export async function show(main, place, signal) {
  main.append(h("h1", "Web API"));
  const api = await waiting(main, get("//openapi.json", { signal }), { height: 480 });
  const calls = Object.entries(api.paths).flatMap(([path, kinds]) => METHODS.filter((method) => kinds[method]).map((method) => ({ path, method, ...kinds[method] })));
  const groups = Map.groupBy ? Map.groupBy(calls, group) : grouped(calls);
  main.append(
    h("p", `${calls.length} calls, JSON in and out. Errors are application/problem+json, with the code and the text of the command line. `, h("a", { href: "/openapi.json", target: "_blank" }, "openapi.json"), ` (version ${api.info?.version ?? "?"})`),
    ...[...groups].map(([name, own]) => h("section", { "aria-label": name }, h("h2", name), own.map((call) => callItem(call, api)))));
}

function group(call) {
  return call.tags?.[0] ?? "server";
}

function grouped(calls) {
  const found = new Map();
  for (const call of calls) found.set(group(call), [...(found.get(group(call)) ?? []), call]);
  return found;
}

function callItem(call, api) {
  const body = h(".stack");
  return h("details.call", { dataset: { call: `${call.method} ${call.path}` }, on: { toggle: () => body.childElementCount || fill(body, call, api) } },
    h("summary", h("span", { class: `method ${call.method}` }, call.method.toUpperCase()), h("code.wrap", call.path), h("span.muted.small", firstSentence(call.description ?? call.summary))), body);
}

function fill(box, call, api) {
  const given = call.parameters ?? [];
  const schema = call.requestBody && resolve(Object.values(call.requestBody.content)[0]?.schema, api);
  const body = schema && example(schema, api);
  const type = call.requestBody && Object.keys(call.requestBody.content)[0];
  box.append(
    ...(call.description ?? "").split(/\n\n+/).filter(Boolean).map((text) => h("p", text.replaceAll("\n", " "))),
    parameterTable(given.map((one) => [one.name, one.in, one.required, resolve(one.schema, api), one.description])),
    schema?.properties ? parameterTable(Object.entries(schema.properties).map(([name, one]) => [name, "body", schema.required?.includes(name), resolve(one, api), one.description])) : "",
    snippets(texts(call, given, body, type), { curl: "curl", python: "Python" }));
}

function parameterTable(rows) {
  if (!rows.length) return "";
  return h(".table-box", h("table",
    h("thead", h("tr", ["Name", "In", "Type", "What"].map((name) => h("th", { scope: "col" }, name)))),
    h("tbody", rows.map(([name, place, required, schema, words]) => h("tr", h("td", h("code", name), required && h("span.muted.small", " needed")), h("td", place), h("td", typeWords(schema)), h("td", words ?? schema?.description ?? ""))))));
}

function typeWords(schema = {}) {
  const kinds = (schema.anyOf ?? [schema]).map((one) => one.type ?? one.$ref?.split("/").pop() ?? "any").filter((kind) => kind !== "null");
  const fallback = schema.default !== undefined && schema.default !== null && schema.default !== "" ? `, default ${JSON.stringify(schema.default)}` : "";
  return (schema.enum ? schema.enum.join(" | ") : kinds.join(" | ")) + fallback;
}

function resolve(schema, api, depth = 0) {
  if (!schema?.$ref || depth > 8) return schema;
  const found = schema.$ref.replace("#/", "").split("/").reduce((node, key) => node?.[key], api);
  return resolve(found, api, depth + 1);
}

// A body that fits: what the schema gives as an example, else the simplest of each kind.
function example(given, api, depth = 0) {
  const schema = resolve(given, api) ?? {};
  if (schema.examples?.length) return schema.examples[0];
  if (schema.example !== undefined) return schema.example;
  if (schema.default !== undefined) return schema.default;
  if (depth > 4) return null;
  const choice = schema.anyOf?.find((one) => one.type !== "null") ?? schema.oneOf?.[0];
  if (choice) return example(choice, api, depth + 1);
  if (schema.enum) return schema.enum[0];
  if (schema.type === "array") return [example(schema.items ?? {}, api, depth + 1)];
  if (schema.properties) {
    const needed = Object.entries(schema.properties).filter(([name, one]) => schema.required?.includes(name) || one.examples || one.example !== undefined);
    return Object.fromEntries(needed.map(([name, one]) => [name, example(one, api, depth + 1)]));
  }
  return { string: "text", integer: 1, number: 1, boolean: true, object: {} }[schema.type] ?? null;
}

function texts(call, given, body, type) {
  const needed = given.filter((one) => one.in === "query" && one.required).map((one) => `${one.name}=${one.name.toUpperCase()}`);
  const address = `${location.origin}${call.path.replace(/\{(\w+)\}/g, (_, name) => name.toUpperCase())}${needed.length ? `?${needed.join("&")}` : ""}`;
  const method = call.method.toUpperCase();
  const json = body === undefined ? null : JSON.stringify(body);
  const isRaw = type && !type.includes("json");
  const sends = isRaw ? ` -H 'Content-Type: ${type}' --data-binary @FILE` : json ? ` -H 'Content-Type: application/json' -d '${json.replaceAll("'", "'\\''")}'` : "";
  const curl = `curl${method === "GET" || (method === "POST" && sends) ? "" : ` -X ${method}`}${sends} '${address}'`;
  const data = isRaw ? `open("FILE", "rb").read()` : json ? `json.dumps(${pythonic(body)}).encode()` : "None";
  const python = `import json, urllib.request\n\nrequest = urllib.request.Request(\n    "${address}",\n    data=${data},\n    headers={${type ? `"Content-Type": "${isRaw ? type : "application/json"}"` : ""}},\n    method="${method}",\n)\nwith urllib.request.urlopen(request) as answer:\n    print(answer.read().decode())\n`;
  return { curl, python };
}

function pythonic(value) {
  if (value === null) return "None";
  if (typeof value === "boolean") return value ? "True" : "False";
  if (Array.isArray(value)) return `[${value.map(pythonic).join(", ")}]`;
  if (typeof value === "object") return `{${Object.entries(value).map(([name, one]) => `${JSON.stringify(name)}: ${pythonic(one)}`).join(", ")}}`;
  return JSON.stringify(value);
}

function firstSentence(text = "") {
  return text.split(/\n\n|(?<=\.) /)[0].replace(/[\n`]/g, " ");
}
