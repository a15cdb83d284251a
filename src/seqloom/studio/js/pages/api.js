// Every call of the web API, made from /openapi.json: what it does, what it takes, curl and Python.

import { h, sheet } from "../dom.js";
import { get } from "../api.js";
import { waiting } from "../shell/waiting.js";
import { snippets } from "../shell/copying.js";

export const title = "Web API";

/** Fill the page. */
export async function show(main, place, signal) {
  main.append(h("h1", "Web API"));
  const api = await waiting(main, get("//openapi.json", { signal }), { height: 480 });
  const calls = Object.entries(api.paths).flatMap(([path, kinds]) =>
    Object.entries(kinds).map(([method, call]) => ({ path, method, ...call })),
  );
  const groups = new Map();
  for (const call of calls)
    groups.set(call.tags?.[0] ?? "server", [...(groups.get(call.tags?.[0] ?? "server") ?? []), call]);
  main.append(
    h(
      "p",
      `${calls.length} calls, JSON in and out. Errors are application/problem+json, with the code and the text of the command line. `,
      h("a", { href: "/openapi.json", target: "_blank" }, "openapi.json"),
    ),
    ...[...groups].map(([name, own]) =>
      h(
        "section",
        h("h2", name),
        own.map((call) => callItem(call, api)),
      ),
    ),
  );
}

function callItem(call, api) {
  const body = h(".stack");
  const first = (call.description ?? call.summary ?? "").split(/\n\n|(?<=\.) /)[0].replace(/[\n`]/g, " ");
  return h(
    "details.call",
    {
      dataset: { call: `${call.method} ${call.path}` },
      ontoggle: () => body.childElementCount || fill(body, call, api),
    },
    h(
      "summary",
      h("span.method", { class: call.method }, call.method.toUpperCase()),
      h("code.wrap", call.path),
      h("span.muted.small", first),
    ),
    body,
  );
}

function fill(box, call, api) {
  const [type, content] = Object.entries(call.requestBody?.content ?? {})[0] ?? [];
  const schema = resolve(content?.schema, api);
  const rows = [
    ...(call.parameters ?? []).map((one) => [one.name, one.in, one.required, one.schema, one.description]),
    ...Object.entries(schema?.properties ?? {}).map(([name, one]) => [
      name,
      "body",
      schema.required?.includes(name),
      one,
      one.description,
    ]),
  ];
  box.append(
    ...(call.description ?? "")
      .split(/\n\n+/)
      .filter(Boolean)
      .map((text) => h("p", text.replaceAll("\n", " "))),
    rows.length
      ? sheet(
          ["Name", "In", "Type", "What"],
          rows.map(([name, where, needed, one, words]) => [
            [h("code", name), needed && h("span.muted.small", " needed")],
            where,
            typeWords(resolve(one, api)),
            words ?? "",
          ]),
        )
      : "",
    snippets(texts(call, schema && example(schema, api), type), { python: "Python" }),
  );
}

function typeWords(schema = {}) {
  const kinds = (schema.anyOf ?? [schema])
    .map((one) => one.type ?? one.$ref?.split("/").pop() ?? "any")
    .filter((kind) => kind !== "null");
  return `${(schema.enum ?? kinds).join(" | ")}${schema.default ? `, default ${JSON.stringify(schema.default)}` : ""}`;
}

const resolve = (schema, api) =>
  schema?.$ref
    ? resolve(
        schema.$ref
          .slice(2)
          .split("/")
          .reduce((node, key) => node?.[key], api),
        api,
      )
    : schema;

// A body that fits: what the schema gives as an example, else the simplest of each kind.
function example(given, api, depth = 0) {
  const schema = resolve(given, api) ?? {};
  const told = schema.examples?.[0] ?? schema.example ?? schema.default;
  if (told !== undefined || depth > 4) return told ?? null;
  const choice = (schema.anyOf ?? schema.oneOf)?.find((one) => one.type !== "null");
  if (choice) return example(choice, api, depth + 1);
  if (schema.enum) return schema.enum[0];
  if (schema.type === "array") return [example(schema.items, api, depth + 1)];
  if (schema.properties)
    return Object.fromEntries(
      Object.entries(schema.properties)
        .filter(([name]) => schema.required?.includes(name))
        .map(([name, one]) => [name, example(one, api, depth + 1)]),
    );
  return { string: "text", integer: 1, number: 1, boolean: true, object: {} }[schema.type] ?? null;
}

function texts(call, body, type) {
  const needed = (call.parameters ?? [])
    .filter((one) => one.in === "query" && one.required)
    .map((one) => `${one.name}=${one.name.toUpperCase()}`);
  const address = `${location.origin}${call.path.replace(/\{(\w+)\}/g, (_, name) => name.toUpperCase())}${needed.length ? `?${needed.join("&")}` : ""}`;
  const method = call.method.toUpperCase();
  const isRaw = type && !type.includes("json");
  const sent = !type ? "" : isRaw ? "--data-binary @FILE" : `-d '${JSON.stringify(body).replaceAll("'", "'\\''")}'`;
  const curl = [
    "curl",
    method === "GET" || (method === "POST" && type) ? "" : `-X ${method}`,
    type && `-H 'Content-Type: ${type}'`,
    sent,
    `'${address}'`,
  ]
    .filter(Boolean)
    .join(" ");
  const data = !type ? "None" : isRaw ? 'open("FILE", "rb").read()' : `json.dumps(${pythonic(body)}).encode()`;
  const python = `import json, urllib.request\n\nrequest = urllib.request.Request(\n    "${address}",\n    data=${data},\n    headers={${type ? `"Content-Type": "${type}"` : ""}},\n    method="${method}",\n)\nwith urllib.request.urlopen(request) as answer:\n    print(answer.read().decode())\n`;
  return { curl, python };
}

const pythonic = (value) =>
  JSON.stringify(value).replace(
    /"(?:[^"\\]|\\.)*"|null|true|false/g,
    (word) => ({ null: "None", true: "True", false: "False" })[word] ?? word,
  );
