// A view that has no card of its own: the server's picture in the same frame, and its table.
import { h } from "../dom.js";

/** The drawing and the table out of the page that the server makes of a view. */
export function serverPicture(json, askPage) {
  const drawing = h(".server-picture.scroller");
  let rows = [["the numbers are in the JSON"]];
  askPage().then((html) => {
    const page = new DOMParser().parseFromString(html, "text/html");
    const svg = page.querySelector("svg");
    if (svg) {
      const address = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(new XMLSerializer().serializeToString(svg))}`;
      drawing.replaceChildren(h("img", { src: address, alt: json.caption || "" }));
    }
    rows = Array.from(page.querySelectorAll("tr"), (row) => Array.from(row.cells, (cell) => cell.textContent));
  }, (problem) => drawing.replaceChildren(h("p.muted", problem.message)));
  return { drawing, table: () => rows };
}
