// The little Markdown that model cards are written in, as elements: headings, lists, tables, code.

import { h } from "../dom.js";

/** Elements for a text; what is not understood stays a paragraph. Nothing becomes raw HTML. */
export function markdown(text) {
  const lines = text.replaceAll("\r", "").replace(/<!--[\s\S]*?-->/g, "").replace(/^---\n[\s\S]*?\n---\n/, "").split("\n");
  const found = [];
  while (lines.length) {
    const line = lines[0];
    if (!line.trim()) lines.shift();
    else if (/^#{1,6} /.test(line)) found.push(heading(lines.shift()));
    else if (line.startsWith("```")) found.push(code(lines));
    else if (/^\s*[-*] /.test(line)) found.push(list(lines, /^\s*[-*] /, "ul"));
    else if (/^\s*\d+\. /.test(line)) found.push(list(lines, /^\s*\d+\. /, "ol"));
    else if (line.startsWith("|") && /^\|[\s:|-]+\|?$/.test(lines[1] ?? "")) found.push(table(lines));
    else found.push(paragraph(lines));
  }
  return found;
}

function heading(line) {
  const level = Math.min(line.indexOf(" "), 4);
  return h(`h${level}`, {}, inline(line.slice(line.indexOf(" ") + 1)));
}

function code(lines) {
  lines.shift();
  const found = [];
  while (lines.length && !lines[0].startsWith("```")) found.push(lines.shift());
  lines.shift();
  return h("pre.snippet", { tabindex: "0" }, found.join("\n"));
}

function list(lines, mark, tag) {
  const items = [];
  while (lines.length && lines[0].trim()) {
    if (mark.test(lines[0])) items.push(lines.shift().replace(mark, ""));
    else if (/^\s/.test(lines[0])) items.push(`${items.pop()} ${lines.shift().trim()}`);
    else break;
  }
  return h(tag, {}, items.map((item) => h("li", inline(item))));
}

function table(lines) {
  const cells = (line) => line.replace(/^\||\|\s*$/g, "").split("|").map((cell) => cell.trim());
  const head = cells(lines.shift());
  lines.shift();
  const rows = [];
  while (lines.length && lines[0].startsWith("|")) rows.push(cells(lines.shift()));
  return h(".table-box", { style: { width: "fit-content", maxWidth: "100%" } }, h("table",
    head.some(Boolean) && h("thead", h("tr", head.map((cell) => h("th", { scope: "col" }, inline(cell))))),
    h("tbody", rows.map((row) => h("tr", row.map((cell) => h("td", inline(cell))))))));
}

function paragraph(lines) {
  const found = [];
  while (lines.length && lines[0].trim() && !/^(#{1,6} |```|\||\s*[-*] )/.test(lines[0])) found.push(lines.shift());
  if (!found.length) found.push(lines.shift());
  return h("p", inline(found.join(" ")));
}

// Code, strong and links; a link is only made where it stays in the studio or is plain http.
function inline(text) {
  return text.split(/(`[^`]+`|\*\*[^*]+\*\*|\[[^\]]+\]\([^)\s]+\))/).map((piece) => {
    if (piece.startsWith("`") && piece.length > 1) return h("code", piece.slice(1, -1));
    if (piece.startsWith("**") && piece.length > 4) return h("strong", piece.slice(2, -2));
    const link = /^\[([^\]]+)\]\((https?:\/\/[^)]+|\/[^)]*)\)$/.exec(piece);
    return link ? h("a", { href: link[2], rel: "noreferrer" }, link[1]) : piece;
  });
}
