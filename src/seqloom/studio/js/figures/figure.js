// The frame of every figure: a caption, the drawing, a legend, notes, and the footer
// Table · SVG · PNG · JSON · curl · Python.
import { clear, h } from "../dom.js";
import { copyButton } from "../shell/copy.js";

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
 * A <figure>. `table` returns rows of cells (the first row is the header), `svg` the picture as text; without
 * it, an <svg> or canvas inside `drawing` is exported as it is.
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
  // Line charts render once they are in the page, so their <svg> is looked up at the click.
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

/** A <table> from rows of cells; the first row and the first column are headers. */
export function tableOf([header, ...body]) {
  const cell = (tag, scope) => (value) => h(tag, { scope, dir: "auto" }, String(value ?? ""));
  return h(
    "table.numbers",
    h("thead", h("tr", header.map(cell("th", "col")))),
    h(
      "tbody",
      body.map(([first, ...others]) => h("tr", cell("th", "row")(first), others.map(cell("td")))),
    ),
  );
}

/** Download a file. */
export function save(name, content, type) {
  const objectUrl = URL.createObjectURL(content instanceof Blob ? content : new Blob([content], { type }));
  h("a", { href: objectUrl, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(objectUrl), 10_000);
}

function footer(name, panel, { table, json, curl, python, picture, png }) {
  const panels = {
    Table:
      table &&
      (() => {
        const box = h(".table-scroll", {
          tabindex: "0",
          role: "region",
          "aria-label": "Data of the figure as a table",
        });
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
  const download = (label, action) =>
    picture &&
    h(
      "button",
      {
        class: "quiet small",
        dataset: { download: label },
        on: { click: (event) => action().catch((error) => flash(event.target, error.message)) },
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

function flash(button, text) {
  const before = button.textContent;
  button.textContent = text || "failed";
  setTimeout(() => {
    button.textContent = before;
  }, 1500);
}

/** The first picture inside a drawing as SVG text, with computed styles inlined. */
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

/** SVG text as a PNG at twice its size. */
async function rasterise(text) {
  const image = new Image();
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(text)}`;
  await image.decode();
  const canvas = h("canvas", { width: Math.round(image.width * 2), height: Math.round(image.height * 2) });
  canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
  return new Promise((resolve, reject) =>
    canvas.toBlob((blob) => (blob ? resolve(blob) : reject(new Error("this browser cannot convert it to PNG")))),
  );
}
