// What the server draws of a view: its table behind every figure, and the whole picture of a view
// that has no card of its own.
import { h } from "../dom.js";

const pageOf = (html) => new DOMParser().parseFromString(html, "text/html");

/** The rows of the table in the page that the server makes of a view. */
export function rowsOf(html) {
  return Array.from(pageOf(html).querySelectorAll("tr"), (row) => Array.from(row.cells, (cell) => cell.textContent));
}

/** The picture in that page, as a drawing for the frame. */
export function serverPicture(asked) {
  const drawing = h(".server-picture.scroller");
  asked.then(
    (html) => {
      // Inside the page, not as an image, so that it is light or dark as the page is.
      drawing.append(document.importNode(pageOf(html).querySelector("svg"), true));
    },
    (problem) => drawing.append(h("p.muted", problem.message)),
  );
  return { drawing };
}
