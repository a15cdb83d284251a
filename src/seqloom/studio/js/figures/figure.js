// The frame of every figure: the finding in a sentence above it, the drawing, a legend with
// numbers, notes, and the footer Table · SVG · PNG · JSON · curl · Python.
import { clear, h } from "../dom.js";
import { copyButton } from "../shell/copying.js";

let counter = 0;

/**
 * A <figure>. `table` gives rows of cells (the first row is the heading), `svg` the picture as
 * text; without it an <svg> inside `drawing` is taken as it stands.
 */
export function figure({ id, view, title, caption, notes = [], drawing, legend, table, json,
  curl, python, svg, png, controls }) {
  const name = id || `figure-${++counter}`;
  const sentence = h("figcaption", { id: `${name}-caption`, class: "sentence" }, caption || "");
  const stage = h("div", {
    class: "figure-drawing", role: drawing?.dataset?.active ? "group" : "img",
    "aria-labelledby": `${name}-caption`,
  }, drawing);
  const panel = h("div", { class: "figure-panel", hidden: true });
  // Curves draw themselves once they are in the page: whether there is an <svg> is asked at the click.
  const drawn = drawing?.matches?.(".lines, .fan, .components") || drawing?.querySelector?.("svg, canvas");
  const picture = svg || (drawn ? () => pictureOf(drawing) : null);
  const frame = h("figure", { class: "figure", id: name, dataset: { view: view || json?.view || name } },
    title && h("h3", { class: "figure-title" }, title),
    controls, sentence, stage, legend && h("div", { class: "figure-legend" }, legend),
    noteList(notes));
  frame.append(footer(name, panel, { table, json, curl, python, picture, png }), panel);
  return frame;
}

/** Opens or closes the table of a figure. */
export function toggleTable(frame) {
  frame?.querySelector('[data-panel="Table"]')?.click();
}

/** A real table out of rows of cells; the first row is the heading, the first column too. */
export function tableOf(rows, caption) {
  const [heading, ...body] = rows;
  return h("table", { class: "numbers" },
    caption && h("caption", {}, caption),
    h("thead", {}, h("tr", {}, ...heading.map((cell) => h("th", { scope: "col", dir: "auto" }, text(cell))))),
    h("tbody", {}, ...body.map(([first, ...others]) => h("tr", {},
      h("th", { scope: "row", dir: "auto" }, text(first)),
      ...others.map((cell) => h("td", { dir: "auto" }, text(cell)))))));
}

/** Hands a file to the browser to be saved. */
export function save(name, content, type) {
  const address = URL.createObjectURL(content instanceof Blob ? content : new Blob([content], { type }));
  const anchor = h("a", { href: address, download: name });
  anchor.click();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}

function footer(name, panel, { table, json, curl, python, picture, png }) {
  const buttons = [];
  const panels = {
    Table: table && (() => h("div", { class: "table-scroll", tabindex: "0", role: "region", "aria-label": "The numbers as a table" }, tableOf(table()))),
    JSON: json && (() => codePanel(JSON.stringify(json, null, 1), `${name}.json`, "application/json")),
    curl: curl && (() => codePanel(curl)),
    Python: python && (() => codePanel(python, `${name}.py`, "text/x-python")),
  };
  const open = (label, button) => {
    const wasOpen = panel.dataset.open === label;
    for (const other of buttons) if (other.dataset.panel) other.setAttribute("aria-expanded", "false");
    clear(panel);
    panel.hidden = wasOpen;
    panel.dataset.open = wasOpen ? "" : label;
    if (wasOpen) return;
    panel.append(panels[label]());
    button.setAttribute("aria-expanded", "true");
  };
  const toggle = (label) => panels[label] && buttons.push(h("button", {
    type: "button", class: "quiet small", dataset: { panel: label }, "aria-expanded": "false",
    on: { click: (event) => open(label, event.currentTarget) },
  }, label));
  const download = (label, give) => buttons.push(h("button", {
    type: "button", class: "quiet small", dataset: { download: label },
    on: { click: (event) => give().catch((error) => flash(event.target, error.message || "failed")) },
  }, label));
  toggle("Table");
  if (picture) {
    download("SVG", async () => save(`${name}.svg`, await picture(), "image/svg+xml"));
    download("PNG", async () => save(`${name}.png`, png ? await png() : await rasterise(await picture())));
  }
  ["JSON", "curl", "Python"].forEach(toggle);
  return h("div", { class: "figure-foot" }, ...buttons);
}

function codePanel(content, file, type) {
  const short = content.length > 20_000 ? `${content.slice(0, 20_000)}\n… (${content.length.toLocaleString("en")} characters: save the file to see all)` : content;
  return h("div", { class: "code-panel" },
    h("div", { class: "code-buttons" },
      copyButton(() => content),
      file && h("button", { type: "button", class: "small", on: { click: () => save(file, content, type) } }, "Save")),
    h("pre", { tabindex: "0" }, h("code", {}, short)));
}

function noteList(notes) {
  if (!notes?.length) return null;
  return h("ul", { class: "figure-notes" }, ...notes.map((note) => h("li", {}, note)));
}

function flash(button, word) {
  const before = button.textContent;
  button.textContent = word;
  setTimeout(() => { button.textContent = before; }, 1500);
}

/** The first picture inside a drawing as SVG text, with the colours of the page written into it. */
async function pictureOf(drawing) {
  const canvas = drawing.querySelector("canvas");
  const original = drawing.querySelector("svg");
  if (!original || (canvas && canvas.width * canvas.height > 0 && !original.contains(canvas) && drawing.dataset.picture === "canvas")) {
    return `<svg xmlns="http://www.w3.org/2000/svg" width="${canvas.width}" height="${canvas.height}"><image width="${canvas.width}" height="${canvas.height}" href="${canvas.toDataURL()}"/></svg>`;
  }
  const clone = original.cloneNode(true);
  const box = original.getBoundingClientRect();
  clone.setAttribute("xmlns", "http://www.w3.org/2000/svg");
  clone.setAttribute("width", box.width || original.getAttribute("width"));
  clone.setAttribute("height", box.height || original.getAttribute("height"));
  const painted = [original, ...original.querySelectorAll("*")];
  [clone, ...clone.querySelectorAll("*")].forEach((node, i) => paint(node, getComputedStyle(painted[i])));
  const page = getComputedStyle(document.body).backgroundColor;
  clone.style.background = page;
  return new XMLSerializer().serializeToString(clone);
}

function paint(node, style) {
  node.removeAttribute("class");
  for (const name of ["fill", "stroke", "stroke-width", "stroke-dasharray", "opacity", "font-size", "font-family", "font-weight", "text-anchor", "display"]) {
    const value = style.getPropertyValue(name);
    if (value && value !== "none" || name === "fill" || name === "stroke") node.style.setProperty(name, value);
  }
}

/** SVG text as a PNG, twice as fine as it is shown. */
export async function rasterise(svgText) {
  const image = new Image();
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(svgText)}`;
  await image.decode();
  const canvas = h("canvas", { width: Math.round(image.width * 2), height: Math.round(image.height * 2) });
  const pen = canvas.getContext("2d");
  pen.fillStyle = getComputedStyle(document.body).backgroundColor;
  pen.fillRect(0, 0, canvas.width, canvas.height);
  pen.drawImage(image, 0, 0, canvas.width, canvas.height);
  return new Promise((resolve, reject) => canvas.toBlob((blob) => (blob ? resolve(blob) : reject(new Error("this browser cannot make a PNG of it")))));
}

function text(cell) {
  return cell === null || cell === undefined ? "" : String(cell);
}
