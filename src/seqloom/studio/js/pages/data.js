// Data check: task, format, statistics and findings of a file, and its first rows tokenized.

import { definitionList, h, icon, put, section, dataTable } from "../dom.js";
import { get, url } from "../api.js";
import { onRouteChange, setQuery } from "../route.js";
import { loading } from "../shell/loading.js";
import { bytes, count, number, percent } from "../shell/format.js";
import { levelBadge } from "../shell/badges.js";
import { query } from "../shell/recipes.js";
import { findingParts, fixesOf } from "../shell/findings.js";
import { countBars } from "../shell/countbars.js";

export const title = "Data check";
export const listens = true;
const READ_OPTIONS = ["task", "encoding", "columns", "format", "skip_bad"];

/** Fill the page, and refill it when the reading options in the URL change. */
export async function show(main, route, signal) {
  const body = main.appendChild(h("div"));
  const { tasks } = await get("/tasks", { signal });
  const draw = async (current) => {
    const options = new URLSearchParams(
      READ_OPTIONS.filter((name) => current.query.get(name)).map((name) => [name, current.query.get(name)]),
    );
    body.ariaBusy = "true";
    const report = get(`${url`/datasets/${current.id}/report`}?${options}`, { signal });
    const check = await loading(body.childElementCount ? h("div") : body, report, {
      height: 420,
      sentence: "Reading the whole file…",
    });
    body.ariaBusy = "false";
    put(body, page(check, current, tasks));
  };
  onRouteChange((next, how) => how !== "go" && next.id === route.id && draw(next), { signal });
  await draw(route);
}

function page(check, route, tasks) {
  const { report, dataset } = check;
  const counts = Object.entries(report.counts ?? {}).filter(([name]) => !["blank", "bad"].includes(name));
  return [
    h("h1", dataset.name),
    h(
      ".row.apart",
      h("p.muted", [...counts.map(([name, n]) => `${number(n)} ${name}`), bytes(dataset.bytes)].join(" · ")),
      continueButton(check, route),
    ),
    h(
      ".two",
      h(
        ".stack",
        section("Summary"),
        taskCard(check, route, tasks),
        report.format && factsCard(report),
        labelsAndLengths(check),
      ),
      h(".stack", section("Findings"), findingsCard(check)),
    ),
    check.rows?.length > 0 && rowsSection(check.rows),
  ];
}

// Disabled, with the reason, as long as the data have a problem.
function continueButton(check, route) {
  const label = ["Continue to training", icon("right")];
  if (!check.ok)
    return h(
      ".row",
      h("button", { id: "continue", "aria-disabled": "true", "aria-describedby": "reason" }, label),
      h("p.bad", { id: "reason" }, `Not possible yet: ${check.reason ?? "a problem has to be solved first"}`),
    );
  const changed = READ_OPTIONS.slice(1)
    .filter((name) => route.query.get(name))
    .map((name) => [`data.${name}`, route.query.get(name)]);
  const settings = { ...check.next?.settings, ...Object.fromEntries(changed) };
  return h(
    "a.button.primary",
    {
      href: `/train?${query({ dataset: route.id, task: check.next?.task ?? check.report.task, settings })}`,
      id: "continue",
    },
    label,
  );
}

function taskCard({ report, tasks: nearest = [] }, route, tasks) {
  const chosen = report.task || route.query.get("task") || "";
  const choose = (task) => setQuery({ task });
  return h(
    ".card",
    h(
      "p",
      chosen
        ? [h("strong", `Task: ${chosen}`), report.why && h("span.muted", `: ${report.why}`)]
        : h("strong", "No task was detected."),
    ),
    h("p.small", tasks.find((task) => task.name === chosen)?.summary),
    h(
      ".row",
      h("label", { for: "task" }, "Another task"),
      h(
        "select",
        { id: "task", value: chosen, onchange: (event) => choose(event.target.value) },
        !chosen && h("option", { value: "" }, "choose…"),
        tasks.map((task) => h("option", { value: task.name }, task.name)),
      ),
      nearest
        .filter((name) => name !== chosen)
        .slice(0, 3)
        .map((name) => h("button.small", { onclick: () => choose(name) }, name)),
    ),
  );
}

function factsCard(report) {
  const delimiters = { "\t": ", tab-separated", ",": ", comma-separated", ";": ", semicolon-separated" };
  const header = report.header?.length ? `, header: ${report.header.join(", ")}` : "";
  const part = (one) =>
    `${count(one.total, "token")} (${one.unit}), ${number(one.kinds)} distinct; length: median ${number(one.median)}, longest ${number(one.longest)}${one.longest_line ? ` in line ${number(one.longest_line)}` : ""}`;
  const { blank, bad } = report.counts;
  return h(
    ".card",
    definitionList(
      [
        ["Format", `${report.format}${delimiters[report.delimiter] ?? ""}${header}`],
        ["Encoding", report.encoding],
        ...(report.parts ?? []).map((one) => [one.role, part(one)]),
        ...Object.entries(report.facts ?? {}),
        ["Blank lines", blank && number(blank)],
        ["Bad lines", bad && number(bad)],
      ].filter(([, value]) => value),
    ),
  );
}

function labelsAndLengths({ report, lengths }) {
  const labels = Object.entries(report.labels ?? {}).sort((a, b) => b[1] - a[1]);
  const total = labels.reduce((sum, [, n]) => sum + n, 0);
  const card = (title, caption, pairs) =>
    pairs.length > 0 && h(".card", h("h3", title), h("p.small", caption()), countBars(pairs));
  return [
    card(
      "Labels",
      () =>
        `${count(labels.length, "label")}; “${labels[0][0]}” is the most frequent with ${percent(labels[0][1] / total)}.`,
      labels,
    ),
    Object.entries(lengths ?? {}).map(([role, bins]) =>
      card(
        `Lengths: ${role}`,
        () => `Most are ${bins.reduce((a, b) => (b.n > a.n ? b : a)).title} tokens long.`,
        bins.map((bin) => [bin.title, bin.n]),
      ),
    ),
  ];
}

function findingsCard({ report: { findings, passed }, rows }) {
  const shown = new Set(rows?.map((row) => row.line));
  return h(
    ".card.findings",
    findings.map((finding) => findingItem(finding, shown)),
    !findings.length && h("p.good", icon("finished"), " No problems found."),
    passed.length > 0 &&
      h(
        "details",
        { open: !findings.length },
        h("summary", `${count(passed.length, "check")} passed`),
        h(
          "ul.small",
          passed.map((text) => h("li", text)),
        ),
      ),
  );
}

function findingItem(finding, shown) {
  const parts = findingParts(finding.text);
  const fixes = fixesOf(finding, parts);
  const lines = (finding.lines ?? [])
    .slice(0, 12)
    .map((line, i) => [
      i > 0 && ", ",
      shown.has(line) ? h("a", { href: `#line-${line}` }, number(line)) : number(line),
    ]);
  return h(
    ".finding",
    { class: finding.level },
    h(".row", levelBadge(finding.level), h("a.small", { href: `/help/${finding.code}` }, finding.code)),
    h("p", parts.sentence),
    parts.frame && h("pre.small", parts.frame),
    parts.details.map((line) => h("p.small.muted", { dir: "auto" }, line)),
    lines.length > 0 &&
      h("p.small", "Lines: ", lines, finding.lines.length > 12 && `, and ${number(finding.lines.length - 12)} more`),
    parts.help.filter((line) => !fixes.some((fix) => fix.line === line)).map((line) => h("p.small", line)),
    h(
      ".row",
      fixes.map((fix) => h("button.small", { onclick: () => setQuery(fix.change) }, fix.words)),
    ),
  );
}

function rowsSection(rows) {
  const tokens = rows.flatMap((row) => Object.values(row.symbols ?? {})).flat();
  const roles = [...new Set(rows.flatMap((row) => Object.keys(row.symbols ?? {})))];
  const labelled = rows.some((row) => row.label != null) && !roles.includes("label");
  return section(
    "Tokenized rows",
    h(
      "p.muted.small",
      `${count(rows.length, "row")}, one chip per token.`,
      tokens.some((token) => token.known === false) && " Hatched tokens are too rare for the vocabulary (unknown).",
    ),
    dataTable(
      ["Line .number muted", ...roles, ...(labelled ? ["label"] : [])],
      rows.map((row) => [
        { id: `line-${row.line}` },
        number(row.line),
        ...roles.map((role) => chips(row.symbols[role] ?? [], row.more?.[role])),
        ...(labelled ? [Array.isArray(row.label) ? chips(row.label.map((text) => ({ text }))) : row.label] : []),
      ]),
      { class: "sample-rows" },
    ),
  );
}

const MARKS = { " ": "·", "\n": "↵", "\t": "⇥", "": "∅" };

const chips = (tokens, more = 0) =>
  h(
    ".chips",
    { dir: "auto" },
    tokens
      .slice(0, 80)
      .map(({ text, known }) =>
        h("span.chip", known === false ? { class: "unknown", title: "unknown token" } : {}, MARKS[text] ?? text),
      ),
    tokens.length + more > 80 &&
      h("span.muted", `… ${number(tokens.length + more - Math.min(80, tokens.length))} more`),
  );
