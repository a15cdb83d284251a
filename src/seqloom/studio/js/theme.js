// Light, dark, or as the computer has it. The choice is a habit of the reader: it is kept here.

const KEY = "seqloom-theme";
const KINDS = ["auto", "light", "dark"];
const listeners = new Set();
const system = matchMedia("(prefers-color-scheme: dark)");

/** The choice: "auto", "light" or "dark". */
export function theme() {
  return document.documentElement.dataset.theme ?? "auto";
}

/** Whether the page is dark now. */
export function isDark() {
  const choice = theme();
  return choice === "auto" ? system.matches : choice === "dark";
}

/** Choose; figures that are painted (not styled) hear of it through onTheme. */
export function setTheme(choice) {
  document.documentElement.dataset.theme = choice;
  try {
    localStorage.setItem(KEY, choice);
  } catch {
    // No storage: the choice lasts as long as the page.
  }
  tell();
}

/** The next of auto, light, dark. */
export function nextTheme() {
  setTheme(KINDS[(KINDS.indexOf(theme()) + 1) % KINDS.length]);
  return theme();
}

/** From light to dark or back, whatever the choice was. */
export function toggleDark() {
  setTheme(isDark() ? "light" : "dark");
}

/** Hear when the page turns dark or light. */
export function onTheme(fn, { signal } = {}) {
  listeners.add(fn);
  signal?.addEventListener("abort", () => listeners.delete(fn));
  return () => listeners.delete(fn);
}

/** Whether moving pictures are unwanted. */
export function isStill() {
  return matchMedia("(prefers-reduced-motion: reduce)").matches;
}

function tell() {
  for (const fn of [...listeners]) fn(isDark());
}

system.addEventListener("change", () => theme() === "auto" && tell());
