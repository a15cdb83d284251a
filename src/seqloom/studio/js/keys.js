// Shortcuts of one key. None fires in a text field; all can be turned off (WCAG 2.1.4).

const KEY = "seqloom-shortcuts";
let shortcuts = [];

/** Do something at a key. `help` is the line in the help; a signal takes the shortcut away again. */
export function shortcut(key, help, fn, { signal } = {}) {
  const entry = { key, help, fn };
  shortcuts.push(entry);
  signal?.addEventListener("abort", () => (shortcuts = shortcuts.filter((other) => other !== entry)));
}

/** All shortcuts of this moment that have a help line: [{key, help}]. */
export const listShortcuts = () => shortcuts.filter((entry) => entry.help);

/** Whether shortcuts are on. */
export const areOn = () => localStorage.getItem(KEY) !== "off";

/** Turn them on or off, for good. */
export const turn = (on) => localStorage.setItem(KEY, on ? "on" : "off");

function isWriting(node) {
  const field = node.closest?.("input, textarea, select, [contenteditable='true']");
  return field && !["checkbox", "radio", "button", "range"].includes(field.type);
}

document.addEventListener("keydown", (event) => {
  if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
  const isFree = areOn() && !isWriting(event.target) && (event.key === "?" || !document.querySelector("dialog[open]"));
  if (event.key !== "Escape" && !isFree) return;
  // The last that was asked for wins: a card's key comes before the page's.
  const entry = shortcuts.findLast((one) => one.key === event.key);
  if (entry && entry.fn(event) !== false) event.preventDefault();
});
