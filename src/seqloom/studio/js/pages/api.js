// The reference of the web API, generated from /openapi.json: endpoints, parameters, curl and Python.

import { h, dataTable } from "../dom.js";
import { get } from "../api.js";
import { loading } from "../shell/loading.js";
import { snippets } from "../shell/copy.js";

export const title = "Web API";

/** Fill the page. */
export async function show(main, route, signal) {
  main.append(h("h1", "Web API"));
  const api = await loading(main, get("//openapi.json", { signal }), { height: 480 });
  const endpoints = Object.entries(api.paths).flatMap(([path, kinds]) =>
    Object.entries(kinds).map(([method, call]) => ({ path, method, ...call })),
  );
  const groups = new Map();
  for (const call of endpoints)
    groups.set(call.tags?.[0] ?? "server", [...(groups.get(call.tags?.[0] ?? "server") ?? []), call]);
  main.append(
    h(
      "p",
      `${endpoints.length} endpoints with JSON requests and responses. Errors are application/problem+json, with the code and the message of the command line. `,
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
      ? dataTable(
          ["Name", "In", "Type", "Description"],
          rows.map(([name, where, isRequired, one, description]) => [
            [h("code", name), isRequired && h("span.muted.small", " required")],
            where,
            typeText(resolve(one, api)),
            description ?? "",
          ]),
        )
      : "",
    snippets(texts(call, schema && example(schema, api), type), { python: "Python" }),
  );
}

function typeText(schema = {}) {
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

// An example body: the example or default of the schema, else the simplest value of each type.
function example(reference, api, depth = 0) {
  const schema = resolve(reference, api) ?? {};
  const known = schema.examples?.[0] ?? schema.example ?? schema.default;
  if (known !== undefined || depth > 4) return known ?? null;
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
  const required = (call.parameters ?? [])
    .filter((one) => one.in === "query" && one.required)
    .map((one) => `${one.name}=${one.name.toUpperCase()}`);
  const path = call.path.replace(/\{(\w+)\}/g, (_, name) => name.toUpperCase());
  const target = `${location.origin}${path}${required.length ? `?${required.join("&")}` : ""}`;
  const method = call.method.toUpperCase();
  const isRaw = type && !type.includes("json");
  const bodyOption = !type
    ? ""
    : isRaw
      ? "--data-binary @FILE"
      : `-d '${JSON.stringify(body).replaceAll("'", "'\\''")}'`;
  const curl = [
    "curl",
    method === "GET" || (method === "POST" && type) ? "" : `-X ${method}`,
    type && `-H 'Content-Type: ${type}'`,
    bodyOption,
    `'${target}'`,
  ]
    .filter(Boolean)
    .join(" ");
  const data = !type ? "None" : isRaw ? 'open("FILE", "rb").read()' : `json.dumps(${pythonic(body)}).encode()`;
  const python = `import json, urllib.request\n\nrequest = urllib.request.Request(\n    "${target}",\n    data=${data},\n    headers={${type ? `"Content-Type": "${type}"` : ""}},\n    method="${method}",\n)\nwith urllib.request.urlopen(request) as response:\n    print(response.read().decode())\n`;
  return { curl, python };
}

const pythonic = (value) =>
  JSON.stringify(value).replace(
    /"(?:[^"\\]|\\.)*"|null|true|false/g,
    (word) => ({ null: "None", true: "True", false: "False" })[word] ?? word,
  );
