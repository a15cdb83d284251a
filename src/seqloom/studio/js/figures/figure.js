// The frame of every figure: the finding in a sentence above it, the drawing, a legend with
// numbers, notes, and the footer Table · SVG · PNG · JSON · curl · Python.
import { clear, h } from "../dom.js";
import { copyButton } from "../shell/copying.js";

const PAINT = [
  "fill",
  "stroke",
  "stroke-width",
  "stroke-dasharray",
  "opacity",
  "font-size",
  "font-family",
  "font-weight",
  "text-anchor",
  "display",
];
let counter = 0;

/**
 * A <figure>. `table` gives rows of cells (the first row is the heading), `svg` the picture as
 * text; without it an <svg> or canvas inside `drawing` is taken as it stands.
 */
export function figure({
  id,
  view,
  title,
  caption,
  notes,
  drawing,
  legend,
  table,
  json,
  curl,
  python,
  svg,
  png,
  controls,
}) {
  const name = id || `figure-${++counter}`,
    panel = h(".figure-panel", { hidden: true });
  // Curves draw themselves once they are in the page: their <svg> is looked for at the click.
  const drawn = drawing?.matches?.(".lines, .components") || drawing?.querySelector?.("svg, canvas, .lines");
  const picture = svg || (drawn ? () => pictureOf(drawing) : null);
  return h(
    "figure.figure",
    { id: name, dataset: { view: view || json?.view || name } },
    title && h("h3.figure-title", title),
    controls,
    h("figcaption", { id: `${name}-caption`, class: "sentence" }, caption || ""),
    h(
      ".figure-drawing",
      { role: drawing?.dataset?.active ? "group" : "img", "aria-labelledby": `${name}-caption` },
      drawing,
    ),
    legend && h(".figure-legend", legend),
    notes?.length > 0 &&
      h(
        "ul.figure-notes",
        notes.map((note) => h("li", note)),
      ),
    footer(name, panel, { table, json, curl, python, picture, png }),
    panel,
  );
}

/** Opens or closes the table of a figure. */
export function toggleTable(frame) {
  frame?.querySelector('[data-panel="Table"]')?.click();
}

/** A real table out of rows of cells; the first row is the heading, the first column too. */
export function tableOf([heading, ...body]) {
  const cell = (tag, scope) => (value) => h(tag, { scope, dir: "auto" }, String(value ?? ""));
  return h(
    "table.numbers",
    h("thead", h("tr", heading.map(cell("th", "col")))),
    h(
      "tbody",
      body.map(([first, ...others]) => h("tr", cell("th", "row")(first), others.map(cell("td")))),
    ),
  );
}

/** Hands a file to the browser to be saved. */
export function save(name, content, type) {
  const address = URL.createObjectURL(content instanceof Blob ? content : new Blob([content], { type }));
  h("a", { href: address, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}

function footer(name, panel, { table, json, curl, python, picture, png }) {
  const panels = {
    Table:
      table &&
      (() => {
        const box = h(".table-scroll", { tabindex: "0", role: "region", "aria-label": "The numbers as a table" });
        Promise.resolve(table()).then(
          (rows) => box.append(tableOf(rows)),
          (problem) => box.append(problem.message),
        );
        return box;
      }),
    JSON: json && (() => codePanel(JSON.stringify(json, null, 1), `${name}.json`, "application/json")),
    curl: curl && (() => codePanel(curl)),
    Python: python && (() => codePanel(python, `${name}.py`, "text/x-python")),
  };
  const open = ({ currentTarget: button }) => {
    const label = button.dataset.panel,
      isOpen = panel.dataset.open === label;
    for (const other of button.parentElement.querySelectorAll("[data-panel]"))
      other.setAttribute("aria-expanded", String(other === button && !isOpen));
    panel.hidden = isOpen;
    panel.dataset.open = isOpen ? "" : label;
    clear(panel).append(isOpen ? "" : panels[label]());
  };
  const toggle = (label) =>
    panels[label] &&
    h(
      "button",
      { class: "quiet small", dataset: { panel: label }, "aria-expanded": "false", on: { click: open } },
      label,
    );
  const download = (label, give) =>
    picture &&
    h(
      "button",
      {
        class: "quiet small",
        dataset: { download: label },
        on: { click: (event) => give().catch((error) => flash(event.target, error.message)) },
      },
      label,
    );
  return h(
    ".figure-foot",
    toggle("Table"),
    download("SVG", async () => save(`${name}.svg`, await picture(), "image/svg+xml")),
    download("PNG", async () => save(`${name}.png`, png ? await png() : await rasterise(await picture()))),
    ["JSON", "curl", "Python"].map(toggle),
  );
}

function codePanel(content, file, type) {
  const short =
    content.length > 20_000
      ? `${content.slice(0, 20_000)}\n… (${content.length.toLocaleString("en")} characters: save the file to see all)`
      : content;
  return h(
    ".code-panel",
    h(
      ".code-buttons",
      copyButton(() => content),
      file && h("button", { class: "small", on: { click: () => save(file, content, type) } }, "Save"),
    ),
    h("pre", { tabindex: "0" }, h("code", short)),
  );
}

function flash(button, word) {
  const before = button.textContent;
  button.textContent = word || "failed";
  setTimeout(() => {
    button.textContent = before;
  }, 1500);
}

/** The first picture inside a drawing as SVG text, with the colours of the page written into it. */
async function pictureOf(drawing) {
  const original = drawing.querySelector("svg"),
    canvas = drawing.querySelector("canvas");
  if (!original)
    return `<svg xmlns="http://www.w3.org/2000/svg" width="${canvas.width}" height="${canvas.height}"><image width="${canvas.width}" height="${canvas.height}" href="${canvas.toDataURL()}"/></svg>`;
  const clone = original.cloneNode(true),
    painted = [original, ...original.querySelectorAll("*")];
  [clone, ...clone.querySelectorAll("*")].forEach((node, i) => {
    const style = getComputedStyle(painted[i]);
    node.removeAttribute("class");
    for (const name of PAINT) node.style.setProperty(name, style.getPropertyValue(name));
  });
  clone.setAttribute("xmlns", "http://www.w3.org/2000/svg");
  clone.style.background = getComputedStyle(document.body).backgroundColor;
  return new XMLSerializer().serializeToString(clone);
}

/** SVG text as a PNG, twice as fine as it is shown. */
async function rasterise(text) {
  const image = new Image();
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(text)}`;
  await image.decode();
  const canvas = h("canvas", { width: Math.round(image.width * 2), height: Math.round(image.height * 2) });
  canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
  return new Promise((resolve, reject) =>
    canvas.toBlob((blob) => (blob ? resolve(blob) : reject(new Error("this browser cannot make a PNG of it")))),
  );
}
