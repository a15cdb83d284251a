// What the server draws of a view: its table behind every figure, and the whole picture of a view
// that has no card of its own.
import { h } from "../dom.js";

const pageOf = (html) => new DOMParser().parseFromString(html, "text/html");

/** The rows of the table in the page that the server makes of a view. */
export function rowsOf(html) {
  return Array.from(pageOf(html).querySelectorAll("tr"), (row) => Array.from(row.cells, (cell) => cell.textContent));
}

/** The picture in that page, as a drawing for the frame. */
export function serverPicture(json, asked) {
  const drawing = h(".server-picture.scroller");
  asked.then(
    (html) => {
      const picture = new XMLSerializer().serializeToString(pageOf(html).querySelector("svg"));
      drawing.append(
        h("img", { src: `data:image/svg+xml;charset=utf-8,${encodeURIComponent(picture)}`, alt: json.caption }),
      );
    },
    (problem) => drawing.append(h("p.muted", problem.message)),
  );
  return { drawing };
}
