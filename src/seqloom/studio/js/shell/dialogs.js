// Dialogs: confirm, prompt for a text, and a delayed action that can be undone.

import { announce, h, put } from "../dom.js";
import { isAborted, problemBox } from "../api.js";

/** A confirmation dialog: resolves to true for yes. */
export function confirmDialog({ title, text, yes }) {
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

/** A dialog with a text field; errors of `act` are shown in it, so that the text can be corrected. */
export function promptDialog({ title, label, help, value, yes, act }) {
  const errorBox = h("div");
  const field = h("input", {
    id: "prompt",
    type: "text",
    value,
    autofocus: true,
    autocomplete: "off",
    spellcheck: "false",
    "aria-describedby": "prompt-help",
  });
  const button = h("button.primary", { type: "submit" }, yes);
  const submit = async (event) => {
    event.preventDefault();
    button.disabled = true;
    try {
      await act(field.value.trim());
      dialog.close();
    } catch (problem) {
      if (!isAborted(problem)) put(errorBox, problemBox(problem));
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
      h(".field", h("label", { for: "prompt" }, label), field, h("p.help", { id: "prompt-help" }, help)),
      errorBox,
      h(".row", h("button", { onclick: () => dialog.close() }, "Cancel"), button),
    ),
  );
  document.body.append(dialog);
  dialog.showModal();
  field.select();
}

/** Run `act` after ten seconds unless “Undo” is pressed; returns the notice with that button. */
export function undoNotice(sentence, act, seconds = 10) {
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
