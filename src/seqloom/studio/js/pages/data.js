// Data check: what was found in a file, how the model will see it, and what is worth a look.

import { facts, h, icon, put, section, sheet } from "../dom.js";
import { at, get } from "../api.js";
import { onChange, set } from "../address.js";
import { waiting } from "../shell/waiting.js";
import { bytes, count, number, percent } from "../shell/words.js";
import { levelBadge } from "../shell/states.js";
import { query } from "../shell/recipes.js";
import { findingParts, fixesOf } from "../shell/findings.js";
import { bars } from "../shell/bars.js";

export const title = "Data check";
export const listens = true;
const READING = ["task", "encoding", "columns", "format", "skip_bad"];

/** Fill the page, and again whenever the address asks to read the file in another way. */
export async function show(main, place, signal) {
  const body = main.appendChild(h("div"));
  const { tasks } = await get("/tasks", { signal });
  const draw = async (now) => {
    const asked = new URLSearchParams(
      READING.filter((name) => now.query.get(name)).map((name) => [name, now.query.get(name)]),
    );
    body.ariaBusy = "true";
    const report = get(`${at`/datasets/${now.id}/report`}?${asked}`, { signal });
    const found = await waiting(body.childElementCount ? h("div") : body, report, {
      height: 420,
      sentence: "Reading the whole file…",
    });
    body.ariaBusy = "false";
    put(body, page(found, now, tasks));
  };
  onChange((now, how) => how !== "go" && now.id === place.id && draw(now), { signal });
  await draw(place);
}

function page(found, now, tasks) {
  const { report, dataset } = found;
  const counts = Object.entries(report.counts ?? {}).filter(([name]) => !["blank", "bad"].includes(name));
  return [
    h("h1", dataset.name),
    h(
      ".row.apart",
      h("p.muted", [...counts.map(([name, n]) => `${number(n)} ${name}`), bytes(dataset.bytes)].join(" · ")),
      onward(found, now),
    ),
    h(
      ".two",
      h(
        ".stack",
        section("What I found"),
        taskCard(found, now, tasks),
        report.format && factsCard(report),
        labelsAndLengths(found),
      ),
      h(".stack", section("Worth a look"), findingsCard(found)),
    ),
    found.rows?.length > 0 && rowsSection(found.rows),
  ];
}

// The way to training is closed, with the reason in words, while a problem stands.
function onward(found, now) {
  const words = ["Continue to training", icon("right")];
  if (!found.ok)
    return h(
      ".row",
      h("button", { id: "continue", "aria-disabled": "true", "aria-describedby": "reason" }, words),
      h("p.bad", { id: "reason" }, `Closed: ${found.reason ?? "a problem has to be solved first"}`),
    );
  const read = READING.slice(1)
    .filter((name) => now.query.get(name))
    .map((name) => [`data.${name}`, now.query.get(name)]);
  const settings = { ...found.next?.settings, ...Object.fromEntries(read) };
  return h(
    "a.button.primary",
    {
      href: `/train?${query({ dataset: now.id, task: found.next?.task ?? found.report.task, settings })}`,
      id: "continue",
    },
    words,
  );
}

function taskCard({ report, tasks: nearest = [] }, now, tasks) {
  const chosen = report.task || now.query.get("task") || "";
  const choose = (task) => set({ task });
  return h(
    ".card",
    h(
      "p",
      chosen
        ? [h("strong", `Task: ${chosen}`), report.why && h("span.muted", `: ${report.why}`)]
        : h("strong", "No task was guessed."),
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
  const marks = { "\t": " by tabs", ",": " by commas", ";": " by semicolons" };
  const header = report.header?.length ? `, header: ${report.header.join(", ")}` : "";
  const part = (one) =>
    `${count(one.total, "symbol")} (${one.unit}), ${number(one.kinds)} different; median ${number(one.median)}, longest ${number(one.longest)}${one.longest_line ? ` in line ${number(one.longest_line)}` : ""}`;
  const { blank, bad } = report.counts;
  return h(
    ".card",
    facts(
      [
        ["Layout", `${report.format}${marks[report.delimiter] ?? ""}${header}`],
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
  const card = (title, words, pairs) =>
    pairs.length > 0 && h(".card", h("h3", title), h("p.small", words()), bars(pairs));
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
        () => `Most are ${bins.reduce((a, b) => (b.n > a.n ? b : a)).title} symbols long.`,
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
    !findings.length && h("p.good", icon("finished"), " Nothing is wrong with this file."),
    passed.length > 0 &&
      h(
        "details",
        { open: !findings.length },
        h("summary", `${count(passed.length, "check")} passed`),
        h(
          "ul.small",
          passed.map((words) => h("li", words)),
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
      fixes.map((fix) => h("button.small", { onclick: () => set(fix.change) }, fix.words)),
    ),
  );
}

function rowsSection(rows) {
  const symbols = rows.flatMap((row) => Object.values(row.symbols ?? {})).flat();
  const roles = [...new Set(rows.flatMap((row) => Object.keys(row.symbols ?? {})))];
  const labelled = rows.some((row) => row.label != null) && !roles.includes("label");
  return section(
    "As the model will see it",
    h(
      "p.muted.small",
      `${count(rows.length, "row")}, one chip per symbol.`,
      symbols.some((symbol) => symbol.known === false) && " Hatched symbols are too rare to be known.",
    ),
    sheet(
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

const chips = (symbols, more = 0) =>
  h(
    ".chips",
    { dir: "auto" },
    symbols
      .slice(0, 80)
      .map(({ text, known }) =>
        h("span.chip", known === false ? { class: "unknown", title: "unknown to the model" } : {}, MARKS[text] ?? text),
      ),
    symbols.length + more > 80 &&
      h("span.muted", `… ${number(symbols.length + more - Math.min(80, symbols.length))} more`),
  );
