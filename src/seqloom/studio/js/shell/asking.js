// A question before something goes for good; and a delay in which it can still be undone.

import { announce, h } from "../dom.js";

/** Ask, and wait for the answer: true for yes. */
export function confirmed({ title, text, yes }) {
  return new Promise((resolve) => {
    const dialog = h(
      "dialog",
      { "aria-label": title },
      h("h2", title),
      h("p", text),
      h(
        "form.row",
        { method: "dialog" },
        h("button", { type: "submit", value: "no", autofocus: true }, "Cancel"),
        h("button.danger", { type: "submit", value: "yes" }, yes),
      ),
    );
    dialog.addEventListener("close", () => {
      resolve(dialog.returnValue === "yes");
      dialog.remove();
    });
    document.body.append(dialog);
    dialog.showModal();
  });
}

/** Do something in ten seconds, unless “Undo” is pressed: an element that says so. */
export function undoable(sentence, act, seconds = 10) {
  const timer = setTimeout(() => end(act), 1000 * seconds);
  const end = (then) => {
    clearTimeout(timer);
    box.remove();
    then?.();
  };
  const box = h(".notice.warm.row.apart", { role: "status" }, sentence, h("button", { onclick: () => end() }, "Undo"));
  announce(sentence);
  return box;
}
