// A question before something goes for good; and a delay in which it can still be undone.

import { announce, h, put } from "../dom.js";
import { left, problemBox } from "../api.js";

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

/** Ask for a text and act on it; what goes wrong is told in the dialog, where it can be mended. */
export function asked({ title, label, help, value, yes, act }) {
  const told = h("div");
  const field = h("input", {
    id: "asked",
    type: "text",
    value,
    autofocus: true,
    autocomplete: "off",
    spellcheck: "false",
    "aria-describedby": "asked-help",
  });
  const button = h("button.primary", { type: "submit" }, yes);
  const submit = async (event) => {
    event.preventDefault();
    button.disabled = true;
    try {
      await act(field.value.trim());
      dialog.close();
    } catch (problem) {
      if (!left(problem)) put(told, problemBox(problem));
      field.focus();
    }
    button.disabled = false;
  };
  const dialog = h(
    "dialog",
    { "aria-label": title, onclose: () => dialog.remove() },
    h("h2", title),
    h(
      "form.stack",
      { onsubmit: submit },
      h(".field", h("label", { for: "asked" }, label), field, h("p.help", { id: "asked-help" }, help)),
      told,
      h(".row", h("button", { onclick: () => dialog.close() }, "Cancel"), button),
    ),
  );
  document.body.append(dialog);
  dialog.showModal();
  field.select();
}

/** Do something in ten seconds, unless “Undo” is pressed: an element that says so. */
export function undoable(sentence, act, seconds = 10) {
  const timer = setTimeout(() => end(act), 1000 * seconds);
  const end = (then) => {
    clearTimeout(timer);
    box.remove();
    if (then) then();
    else announce("Undone.");
  };
  const box = h(".notice.warm.row.apart", { role: "status" }, sentence, h("button", { onclick: () => end() }, "Undo"));
  announce(sentence);
  return box;
}
