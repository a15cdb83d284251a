// A question before something goes for good; and a delay in which it can still be undone.

import { announce, h } from "../dom.js";

/** Ask, and wait for the answer: true for yes. */
export function confirmed({ title, text, yes }) {
  return new Promise((resolve) => {
    const dialog = h("dialog", { "aria-labelledby": "asked" },
      h("h2", { id: "asked" }, title), h("p", text),
      h("form", { method: "dialog", class: "row" },
        h("button", { value: "no", autofocus: true }, "Cancel"),
        h("button", { value: "yes", class: "danger" }, yes)));
    dialog.addEventListener("close", () => {
      resolve(dialog.returnValue === "yes");
      dialog.remove();
    });
    document.body.append(dialog);
    dialog.showModal();
  });
}

/** Do something in ten seconds, unless “Undo” is pressed: an element that says so. */
export function undoable(sentence, act, undone, seconds = 10) {
  const timer = setTimeout(() => {
    box.remove();
    act();
  }, 1000 * seconds);
  const undo = () => {
    clearTimeout(timer);
    box.remove();
    undone();
  };
  const box = h(".notice.warm.row.apart", { role: "status" }, h("span", sentence), h("button", { on: { click: undo } }, "Undo"));
  announce(sentence);
  return box;
}
