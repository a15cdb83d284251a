// Shortcuts of one key. None fires in a text field; all can be turned off (WCAG 2.1.4).

const KEY = "seqloom-shortcuts";
const shortcuts = [];

/** Do something at a key. `help` is the line in the help; a signal takes the shortcut away again. */
export function shortcut(key, help, fn, { signal } = {}) {
  const entry = { key, help, fn };
  shortcuts.push(entry);
  const remove = () => {
    const at = shortcuts.indexOf(entry);
    if (at >= 0) shortcuts.splice(at, 1);
  };
  signal?.addEventListener("abort", remove);
  return remove;
}

/** All shortcuts of this moment: [{key, help}], those without a help line left out. */
export function listShortcuts() {
  return shortcuts.filter((entry) => entry.help);
}

/** Whether shortcuts are on. */
export function areOn() {
  try {
    return localStorage.getItem(KEY) !== "off";
  } catch {
    return true;
  }
}

/** Turn them on or off, for good. */
export function turn(on) {
  localStorage.setItem(KEY, on ? "on" : "off");
}

function isWriting(node) {
  if (!node || !node.closest) return false;
  const field = node.closest("input, textarea, select, [contenteditable='true']");
  return Boolean(field) && !["checkbox", "radio", "button", "range"].includes(field.type);
}

document.addEventListener("keydown", (event) => {
  if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
  const escape = event.key === "Escape";
  if (!escape && (isWriting(event.target) || !areOn())) return;
  if (!escape && document.querySelector("dialog[open]") && event.key !== "?") return;
  // The last that was asked for wins: a card's key comes before the page's.
  const entry = shortcuts.findLast((one) => one.key === event.key);
  if (!entry) return;
  if (entry.fn(event) !== false) event.preventDefault();
});
