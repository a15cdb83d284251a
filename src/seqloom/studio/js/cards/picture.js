// Pictures rendered by the server: the table of every figure, and the picture of views without a card of their own.
import { h } from "../dom.js";

const pageOf = (html) => new DOMParser().parseFromString(html, "text/html");

/** The rows of the table in the HTML rendering of a view. */
export function rowsOf(html) {
  return Array.from(pageOf(html).querySelectorAll("tr"), (row) => Array.from(row.cells, (cell) => cell.textContent));
}

/** The SVG in the HTML rendering of a view, as a drawing for the frame. */
export function serverPicture(response) {
  const drawing = h(".server-picture.scroller");
  response.then(
    (html) => {
      // Inline, not as an image, so that it follows the theme of the page.
      drawing.append(document.importNode(pageOf(html).querySelector("svg"), true));
    },
    (problem) => drawing.append(h("p.muted", problem.message)),
  );
  return { drawing };
}
