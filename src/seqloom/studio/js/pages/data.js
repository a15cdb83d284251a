// Data check: what was found in a file, how the model will see it, and what is worth a look.

import { h, icon, put } from "../dom.js";
import { get } from "../api.js";
import { onChange, set } from "../address.js";
import { waiting } from "../shell/waiting.js";
import { bytes, count, number, percent } from "../shell/words.js";
import { levelBadge } from "../shell/states.js";
import { query } from "../shell/recipes.js";
import { findingParts, fixesOf } from "../shell/findings.js";
import { histogram, labelBars } from "../shell/bars.js";

export const title = "Data check";
export const listens = true;
const READING = ["task", "encoding", "columns", "format", "skip_bad"];

/** Fill the page, and again whenever the address asks to read the file in another way. */
export async function show(main, place, signal) {
  const body = h("div");
  main.append(body);
  const { tasks } = await get("/tasks", { signal });
  const draw = async (now) => {
    const asked = new URLSearchParams(READING.flatMap((name) => (now.query.get(name) ? [[name, now.query.get(name)]] : [])));
    body.setAttribute("aria-busy", "true");
    const box = body.childElementCount ? h("div") : body;
    const found = await waiting(box, get(`/datasets/${encodeURIComponent(now.id)}/report?${asked}`, { signal }), { height: 420, sentence: "Reading the whole file…" });
    body.removeAttribute("aria-busy");
    put(body, ...page(found, now, tasks));
  };
  onChange((now, how) => how !== "go" && now.page === "data" && now.id === place.id && draw(now), { signal });
  await draw(place);
}

function page(found, now, tasks) {
  const { report } = found;
  const counts = Object.entries(report.counts ?? {}).filter(([name]) => !["blank", "bad"].includes(name));
  const size = [...counts.map(([name, n]) => `${number(n)} ${name}`), found.dataset?.bytes != null && bytes(found.dataset.bytes)].filter(Boolean).join(" · ");
  return [
    h("h1", found.dataset?.name ?? report.path),
    h(".row.apart", h("p.muted", { style: { margin: 0 } }, size), onward(found, now)),
    h(".two",
      h("section.stack", { "aria-labelledby": "found-title" }, h("h2", { id: "found-title" }, "What I found"), taskCard(found, now, tasks), report.format && factsCard(report), ...labelsAndLengths(found)),
      h("section.stack", { "aria-labelledby": "worth-title" }, h("h2", { id: "worth-title" }, "Worth a look"), findingsCard(found))),
    found.rows?.length > 0 && rowsSection(found),
  ].filter(Boolean);
}

// The way to training is closed, with the reason in words, while a problem stands.
function onward(found, now) {
  const settings = { ...(found.next?.settings ?? {}) };
  for (const name of READING.slice(1)) if (now.query.get(name)) settings[`data.${name}`] = now.query.get(name);
  const target = `/train?${query({ dataset: now.id, task: found.next?.task ?? found.report.task, settings })}`;
  if (found.ok) return h("a.button.primary", { href: target, id: "continue" }, "Continue to training", icon("right"));
  return h(".row",
    h("button", { id: "continue", "aria-disabled": "true", "aria-describedby": "reason" }, "Continue to training", icon("right")),
    h("p", { id: "reason", class: "bad", style: { margin: 0 } }, `Closed: ${found.reason || "a problem has to be solved first"}`));
}

function taskCard(found, now, tasks) {
  const { report } = found;
  const chosen = report.task || now.query.get("task") || "";
  const summary = tasks.find((task) => task.name === chosen)?.summary;
  const choose = (name) => set({ task: name });
  const nearest = (found.tasks ?? []).map((task) => task.name ?? task).filter((name) => name !== chosen);
  const select = h("select", { id: "task", value: chosen, on: { change: (event) => choose(event.target.value) } },
    !chosen && h("option", { value: "" }, "choose…"), tasks.map((task) => h("option", { value: task.name }, task.name)));
  return h(".card",
    h("p", chosen ? [h("strong", `Task: ${chosen}`), report.why && h("span.muted", `: ${report.why}`)] : h("strong", "No task was guessed.")),
    summary && h("p.small", summary),
    h(".row", h("label", { for: "task" }, "Another task"), select,
      nearest.slice(0, 3).map((name) => h("button", { class: "small", on: { click: () => choose(name) } }, name))));
}

function factsCard(report) {
  const facts = [["Layout", layout(report)], ["Encoding", report.encoding]];
  for (const part of report.parts ?? []) facts.push([part.role, `${count(part.total, "symbol")} (${part.unit}), ${number(part.kinds)} different; median ${number(part.median)}, longest ${number(part.longest)}${part.longest_line ? ` in line ${number(part.longest_line)}` : ""}`]);
  for (const [name, value] of Object.entries(report.facts ?? {})) facts.push([name, value]);
  const { blank, bad } = report.counts ?? {};
  if (blank) facts.push(["Blank lines", number(blank)]);
  if (bad) facts.push(["Bad lines", number(bad)]);
  return h(".card", h("dl.facts", facts.filter(([, value]) => value).map(([name, value]) => [h("dt", name), h("dd", String(value))])));
}

function layout(report) {
  const marks = { "\t": "tabs", ",": "commas", ";": "semicolons" };
  const header = report.header?.length ? `, header: ${report.header.join(", ")}` : "";
  return `${report.format}${report.delimiter ? ` by ${marks[report.delimiter] ?? `“${report.delimiter}”`}` : ""}${header}`;
}

function labelsAndLengths({ report, lengths }) {
  const labels = Object.entries(report.labels ?? {});
  const total = labels.reduce((sum, [, n]) => sum + n, 0);
  const cards = [];
  if (labels.length) {
    const [name, most] = labels.reduce((a, b) => (b[1] > a[1] ? b : a));
    cards.push(h(".card", h("h3", "Labels"),
      h("p.small", `${count(labels.length, "label")}; “${name}” is the most frequent with ${percent(most / total)}.`), labelBars(labels)));
  }
  const drawn = Object.entries(lengths ?? {}).filter(([, bins]) => bins?.length);
  if (drawn.length) cards.push(h(".card", h("h3", "Lengths"), drawn.map(([role, bins]) => histogram(role, bins))));
  return cards;
}

// --- Findings ---------------------------------------------------------------------------------

function findingsCard(found) {
  const { findings = [], passed = [] } = found.report;
  const shown = new Set((found.rows ?? []).map((row) => row.line));
  return h(".card.findings",
    findings.map((finding) => findingItem(finding, shown)),
    !findings.length && h("p.good", icon("finished"), " Nothing is wrong with this file."),
    passed.length > 0 && h("details", { open: !findings.length }, h("summary", `${count(passed.length, "check")} passed`), h("ul.small", passed.map((words) => h("li", words)))));
}

function findingItem(finding, shown) {
  const parts = findingParts(finding.text);
  const fixes = fixesOf(finding, parts);
  return h("div", { class: `finding ${finding.level}`, dataset: { code: finding.code ?? "" } },
    h(".row", levelBadge(finding.level), finding.code && h("a.small", { href: `/help/${finding.code}` }, finding.code)),
    h("p", parts.sentence),
    parts.frame && h("pre.small", parts.frame),
    parts.details.map((line) => h("p.small.muted", { dir: "auto" }, line)),
    finding.lines?.length > 0 && h("p.small", "Lines: ", lineLinks(finding.lines, shown)),
    parts.help.filter((line) => !fixes.some((fix) => fix.line === line)).map((line) => h("p.small", line)),
    fixes.length > 0 && h(".row", fixes.map((fix) => h("button", { class: "small", dataset: { fix: Object.keys(fix.change)[0] }, on: { click: () => set(fix.change) } }, fix.words))));
}

function lineLinks(lines, rows) {
  const shown = lines.slice(0, 12).map((line, i) => [i ? ", " : "", rows.has(line) ? h("a", { href: `#line-${line}` }, number(line)) : h("span", number(line))]);
  return [...shown, lines.length > 12 ? `, and ${number(lines.length - 12)} more` : ""];
}

// --- Rows -------------------------------------------------------------------------------------

function rowsSection({ rows }) {
  const roles = [...new Set(rows.flatMap((row) => Object.keys(row.symbols ?? {})))];
  const labelled = rows.some((row) => row.label != null && !roles.includes("label"));
  const unknown = rows.some((row) => Object.values(row.symbols ?? {}).some((symbols) => symbols.some((symbol) => symbol.known === false)));
  return h("section", { "aria-labelledby": "rows-title" },
    h("h2", { id: "rows-title" }, "As the model will see it"),
    h("p.muted.small", `${count(rows.length, "row")}, one chip per symbol.`, unknown && " Hatched symbols are too rare to be known."),
    h(".table-box", h("table.sample-rows",
      h("thead", h("tr", h("th", { scope: "col" }, "Line"), roles.map((role) => h("th", { scope: "col" }, role)), labelled && h("th", { scope: "col" }, "label"))),
      h("tbody", rows.map((row) => h("tr", { id: `line-${row.line}` },
        h("td.number.muted", number(row.line)),
        roles.map((role) => h("td", chips(row.symbols[role] ?? []))),
        labelled && h("td", row.label == null ? "" : String(row.label))))))));
}

const MARKS = { " ": "·", "\n": "↵", "\t": "⇥", "": "∅" };

function chips(symbols) {
  return h(".chips", { dir: "auto" }, symbols.slice(0, 80).map((symbol) => h("span", { class: symbol.known === false ? "chip unknown" : "chip", title: symbol.known === false ? "unknown to the model" : null }, MARKS[symbol.text] ?? symbol.text)), symbols.length > 80 && h("span.muted", `… ${number(symbols.length - 80)} more`));
}

