// A renderer for the Markdown of model cards: headings, lists, tables, code.

import { h, dataTable } from "../dom.js";

/** Elements for a Markdown text; unknown syntax stays a paragraph. Nothing becomes raw HTML. */
export function markdown(text) {
  const lines = text
    .replaceAll("\r", "")
    .replace(/<!--[\s\S]*?-->/g, "")
    .split("\n");
  const nodes = [];
  while (lines.length) {
    const line = lines[0];
    if (!line.trim()) lines.shift();
    else if (/^#{1,6} /.test(line))
      nodes.push(h(`h${Math.min(line.indexOf(" "), 4)}`, inline(lines.shift().replace(/^#+ /, ""))));
    else if (line.startsWith("```")) nodes.push(code(lines));
    else if (/^\s*([-*]|\d+\.) /.test(line))
      nodes.push(
        h(
          /\d/.test(line.trim()[0]) ? "ol" : "ul",
          items(lines).map((item) => h("li", inline(item))),
        ),
      );
    else if (line.startsWith("|") && /^\|[\s:|-]+\|?$/.test(lines[1] ?? "")) nodes.push(table(lines));
    else
      nodes.push(
        h("p", inline(takeWhile(lines, (next) => next.trim() && !/^(#{1,6} |```|\||\s*[-*] )/.test(next)).join(" "))),
      );
  }
  return nodes;
}

// Remove and return the first line, and those after it while `fits` is true.
function takeWhile(lines, fits) {
  const taken = [lines.shift()];
  while (lines.length && fits(lines[0])) taken.push(lines.shift());
  return taken;
}

function code(lines) {
  lines.shift();
  const end = lines.findIndex((line) => line.startsWith("```"));
  const block = lines.splice(0, end < 0 ? lines.length : end + 1);
  return h("pre.snippet", { tabindex: 0 }, block.slice(0, end < 0 ? undefined : -1).join("\n"));
}

function items(lines) {
  const mark = /^\s*([-*]|\d+\.) /;
  const all = takeWhile(lines, (next) => mark.test(next) || /^\s+\S/.test(next));
  return all.reduce(
    (result, line) =>
      mark.test(line)
        ? [...result, line.replace(mark, "")]
        : [...result.slice(0, -1), `${result.at(-1)} ${line.trim()}`],
    [],
  );
}

function table(lines) {
  const [head, , ...rows] = takeWhile(lines, (next) => next.startsWith("|")).map((line) =>
    line
      .replace(/^\||\|\s*$/g, "")
      .split("|")
      .map((cell) => cell.trim()),
  );
  return dataTable(
    head,
    rows.map((row) => row.map(inline)),
  );
}

// Code, strong and links; only links within the studio and http(s) links are made.
function inline(text) {
  return text.split(/(`[^`]+`|\*\*[^*]+\*\*|\[[^\]]+\]\([^)\s]+\))/).map((part) => {
    if (/^`.+`$/.test(part)) return h("code", part.slice(1, -1));
    if (/^\*\*.+\*\*$/.test(part)) return h("strong", part.slice(2, -2));
    const link = /^\[([^\]]+)\]\((https?:\/\/[^)]+|\/[^)]*)\)$/.exec(part);
    return link ? h("a", { href: link[2], rel: "noreferrer" }, link[1]) : part;
  });
}
