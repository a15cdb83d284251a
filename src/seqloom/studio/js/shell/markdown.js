// The little Markdown that model cards are written in, as elements: headings, lists, tables, code.

import { h, sheet } from "../dom.js";

/** Elements for a text; what is not understood stays a paragraph. Nothing becomes raw HTML. */
export function markdown(text) {
  const lines = text
    .replaceAll("\r", "")
    .replace(/<!--[\s\S]*?-->/g, "")
    .split("\n");
  const found = [];
  while (lines.length) {
    const line = lines[0];
    if (!line.trim()) lines.shift();
    else if (/^#{1,6} /.test(line))
      found.push(h(`h${Math.min(line.indexOf(" "), 4)}`, inline(lines.shift().replace(/^#+ /, ""))));
    else if (line.startsWith("```")) found.push(code(lines));
    else if (/^\s*([-*]|\d+\.) /.test(line))
      found.push(
        h(
          /\d/.test(line.trim()[0]) ? "ol" : "ul",
          items(lines).map((item) => h("li", inline(item))),
        ),
      );
    else if (line.startsWith("|") && /^\|[\s:|-]+\|?$/.test(lines[1] ?? "")) found.push(table(lines));
    else
      found.push(
        h("p", inline(taken(lines, (next) => next.trim() && !/^(#{1,6} |```|\||\s*[-*] )/.test(next)).join(" "))),
      );
  }
  return found;
}

// The first line, and those after it as long as they fit.
function taken(lines, fits) {
  const found = [lines.shift()];
  while (lines.length && fits(lines[0])) found.push(lines.shift());
  return found;
}

function code(lines) {
  lines.shift();
  const end = lines.findIndex((line) => line.startsWith("```"));
  const found = lines.splice(0, end < 0 ? lines.length : end + 1);
  return h("pre.snippet", { tabindex: 0 }, found.slice(0, end < 0 ? undefined : -1).join("\n"));
}

function items(lines) {
  const mark = /^\s*([-*]|\d+\.) /;
  const found = taken(lines, (next) => mark.test(next) || /^\s+\S/.test(next));
  return found.reduce(
    (all, line) =>
      mark.test(line) ? [...all, line.replace(mark, "")] : [...all.slice(0, -1), `${all.at(-1)} ${line.trim()}`],
    [],
  );
}

function table(lines) {
  const [head, , ...rows] = taken(lines, (next) => next.startsWith("|")).map((line) =>
    line
      .replace(/^\||\|\s*$/g, "")
      .split("|")
      .map((cell) => cell.trim()),
  );
  return sheet(
    head,
    rows.map((row) => row.map(inline)),
  );
}

// Code, strong and links; a link is only made where it stays in the studio or is plain http.
function inline(text) {
  return text.split(/(`[^`]+`|\*\*[^*]+\*\*|\[[^\]]+\]\([^)\s]+\))/).map((piece) => {
    if (/^`.+`$/.test(piece)) return h("code", piece.slice(1, -1));
    if (/^\*\*.+\*\*$/.test(piece)) return h("strong", piece.slice(2, -2));
    const link = /^\[([^\]]+)\]\((https?:\/\/[^)]+|\/[^)]*)\)$/.exec(piece);
    return link ? h("a", { href: link[2], rel: "noreferrer" }, link[1]) : piece;
  });
}
