// Element builders: h("p.muted", "text"), and s("path", {d: "…"}) for SVG.

const SVG = "http://www.w3.org/2000/svg";
// Set as properties, because the attributes of the same name only set the initial value.
const PROPERTIES = new Set(["value", "checked", "selected", "disabled", "indeterminate", "open", "hidden"]);

/**
 * An HTML element: h("button.small", {onclick: fn}, "text"). Props are optional: class, dataset, style,
 * on: {click: fn}, any attribute. Without a tag (".row") it is a div; buttons have type="button".
 */
export const h = (tag, ...rest) => make((name) => document.createElement(name), tag, rest);

/** An SVG element, built in the same way. */
export const s = (tag, ...rest) => make((name) => document.createElementNS(SVG, name), tag, rest);

function make(create, tag, rest) {
  const [name, ...classes] = tag.split(".");
  const node = create(name || "div");
  const isProps = rest[0] == null || Object.getPrototypeOf(rest[0]) === Object.prototype;
  const props = (isProps && rest.shift()) || {};
  if (name === "button") node.type = "button";
  if (classes.length) node.setAttribute("class", classes.join(" "));
  for (const [key, value] of Object.entries(props)) if (value != null && value !== false) set(node, key, value);
  append(node, rest);
  // A select accepts its value only once it has its options.
  if (name === "select" && props.value != null) node.value = props.value;
  return node;
}

function set(node, name, value) {
  if (name === "on") for (const [kind, call] of Object.entries(value)) node.addEventListener(kind, call);
  else if (typeof value === "function") node.addEventListener(name.slice(2), value);
  else if (name === "dataset") Object.assign(node.dataset, value);
  else if (name === "style" && typeof value === "object") styles(node.style, value);
  else if (PROPERTIES.has(name) && name in node) node[name] = value;
  else if (name === "class" && node.classList.length) node.classList.add(...value.split(" ").filter(Boolean));
  else node.setAttribute(name, value === true ? "" : value);
}

function styles(style, values) {
  for (const [name, value] of Object.entries(values))
    if (name.startsWith("--")) style.setProperty(name, value);
    else style[name] = value;
}

function append(node, children) {
  for (const child of children.flat(Infinity)) if (child != null && typeof child !== "boolean") node.append(child);
}

/** Replace the children of a node. */
export function put(node, ...children) {
  node.replaceChildren();
  append(node, children);
  return node;
}

/** Remove all children of a node. */
export const clear = (node) => put(node);

/** Set the text of a node only if it differs, so that selections stay and live regions are not read again. */
export function write(node, text) {
  if (node.textContent !== text) node.textContent = text;
  return node;
}

/** Announce a sentence in the polite live region, for screen readers. */
export const announce = (text) => write(document.getElementById("announcer"), text);

let sections = 0;

/** A section with its heading. */
export function section(title, ...children) {
  const id = `section-${++sections}`;
  return h("section", { "aria-labelledby": id }, h("h2", { id }, title), children);
}

/**
 * A table: columns as "Name" or "Name .class" (several classes separated by spaces), rows as arrays of
 * cells; a row may begin with props.
 */
export function dataTable(columns, rows, props) {
  const heads = columns.map((column) => column.split(" ."));
  const line = ([first, ...cells]) => {
    const isProps = first && Object.getPrototypeOf(first) === Object.prototype;
    return h(
      "tr",
      isProps ? first : {},
      (isProps ? cells : [first, ...cells]).map((content, i) => h("td", { class: heads[i][1] }, content)),
    );
  };
  return h(
    ".table-box",
    h(
      "table",
      props,
      h(
        "thead",
        h(
          "tr",
          heads.map(([name, kind]) => h("th", { scope: "col", class: kind }, name)),
        ),
      ),
      h("tbody", rows.map(line)),
    ),
  );
}

/** A definition list: names with their values. */
export const definitionList = (pairs) =>
  h(
    "dl.facts",
    pairs.map(([name, value]) => [h("dt", name), h("dd", value)]),
  );

const ICONS = {
  running: "M8 1.5a6.5 6.5 0 1 1-6.5 6.5M6.5 5.5l4 2.5-4 2.5z",
  finished: "M3 8.5l3.2 3.2L13 4.5",
  stopped: "M4 4h8v8H4z",
  diverged: "M1.5 11l4-3 2.5 2 5.5-7.5M9.5 2.5h4v4",
  crashed: "M3.5 3.5l9 9M12.5 3.5l-9 9",
  vanished: "M5.5 6a2.5 2.5 0 1 1 3.6 2.2c-.7.4-1.1.9-1.1 1.8M8 12.6v.4",
  damaged: "M8 1.8l6.7 12H1.3zM8 6v4M8 11.8v.4",
  waiting: "M8 1.5a6.5 6.5 0 1 1 0 13 6.5 6.5 0 0 1 0-13zM8 4.5V8l2.5 2",
  problem: "M5 1.5h6L14.5 5v6L11 14.5H5L1.5 11V5zM8 4.5v4M8 11v.4",
  warning: "M8 1.8l6.7 12H1.3zM8 6v4M8 11.8v.4",
  note: "M8 1.5a6.5 6.5 0 1 1 0 13 6.5 6.5 0 0 1 0-13zM8 7v4.5M8 4.6V5",
  copy: "M5.5 5.5V2h8.5v8.5h-3.5M2 5.5h8.5V14H2z",
  file: "M3.5 1.5h6l3.5 3.5v9.5h-9.5zM9.5 1.5V5H13",
  play: "M4.5 2.5l8 5.5-8 5.5z",
  close: "M3.5 3.5l9 9M12.5 3.5l-9 9",
  down: "M3.5 6l4.5 4.5L12.5 6",
  right: "M6 3.5l4.5 4.5L6 12.5",
  search: "M7 2a5 5 0 1 1 0 10A5 5 0 0 1 7 2zM10.7 10.7L14.5 14.5",
  light:
    "M8 5a3 3 0 1 1 0 6 3 3 0 0 1 0-6zM8 .8v1.7M8 13.5v1.7M.8 8h1.7M13.5 8h1.7M2.9 2.9l1.2 1.2M11.9 11.9l1.2 1.2M13.1 2.9l-1.2 1.2M4.1 11.9l-1.2 1.2",
  dark: "M13.5 9.8A6 6 0 1 1 6.2 2.5a5 5 0 0 0 7.3 7.3z",
  auto: "M8 1.5a6.5 6.5 0 1 1 0 13zM8 1.5a6.5 6.5 0 0 0 0 13",
  language: "M2 3.5h12M2 8h9M2 12.5h11",
  translate: "M2 4.5h9M8 1.5l3 3-3 3M14 11.5H5M8 8.5l-3 3 3 3",
  tag: "M2 2h5.5L14 8.5 8.5 14 2 7.5zM5 5v.1",
  classify: "M2.5 2.5h4v4h-4zM9.5 2.5h4v4h-4zM2.5 9.5h4v4h-4zM9.5 9.5h4v4h-4z",
  forecast: "M1.5 12l3.5-5 3 2.5L11 4M11 4l3.5-2M11 4l3.5 3",
};

/** An icon in the colour of the text, hidden from screen readers. */
export function icon(name) {
  const d = ICONS[name] ?? ICONS.note;
  return s("svg", { class: "icon", viewBox: "0 0 16 16", "aria-hidden": "true", focusable: "false" }, s("path", { d }));
}

const FORMS = { next: "language", each: "tag", whole: "classify", transduce: "translate" };

/** The icon of a task, by its form or its name. */
export function taskIcon(task) {
  return icon(FORMS[task] ?? (ICONS[task] ? task : "language"));
}
