// Keyboard shortcuts of one key. They are inactive in text fields, and can be turned off (WCAG 2.1.4).

const KEY = "seqloom-shortcuts";
let shortcuts = [];

/** Register a shortcut. `help` is its line in the help; a signal removes it. */
export function shortcut(key, help, fn, { signal } = {}) {
  const entry = { key, help, fn };
  shortcuts.push(entry);
  signal?.addEventListener("abort", () => (shortcuts = shortcuts.filter((other) => other !== entry)));
}

/** The active shortcuts that have a help line: [{key, help}]. */
export const listShortcuts = () => shortcuts.filter((entry) => entry.help);

/** Whether shortcuts are enabled. */
export const shortcutsEnabled = () => localStorage.getItem(KEY) !== "off";

/** Enable or disable shortcuts; the choice is stored. */
export const enableShortcuts = (on) => localStorage.setItem(KEY, on ? "on" : "off");

function isTextField(node) {
  const field = node.closest?.("input, textarea, select, [contenteditable='true']");
  return field && !["checkbox", "radio", "button", "range"].includes(field.type);
}

document.addEventListener("keydown", (event) => {
  if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
  const isModal = event.key !== "?" && document.querySelector("dialog[open]");
  const isActive = shortcutsEnabled() && !isTextField(event.target) && !isModal;
  if (event.key !== "Escape" && !isActive) return;
  // The last registered shortcut wins: that of a card before that of the page.
  const entry = shortcuts.findLast((one) => one.key === event.key);
  if (entry && entry.fn(event) !== false) event.preventDefault();
});
