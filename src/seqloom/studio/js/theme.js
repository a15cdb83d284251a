// Colour theme: light, dark, or as the operating system has it (auto). The choice is kept in local storage.

const KINDS = ["auto", "light", "dark"];
const listeners = new Set();
const system = matchMedia("(prefers-color-scheme: dark)");

/** The chosen theme: "auto", "light" or "dark". */
export const theme = () => document.documentElement.dataset.theme ?? "auto";

/** Whether the page is dark now. */
export const isDark = () => (theme() === "auto" ? system.matches : theme() === "dark");

/** Choose a theme; figures on a canvas, which CSS does not reach, redraw through onTheme. */
export function setTheme(choice) {
  document.documentElement.dataset.theme = choice;
  localStorage.setItem("seqloom-theme", choice);
  notify();
}

/** The next of auto, light, dark. */
export const nextTheme = () => setTheme(KINDS[(KINDS.indexOf(theme()) + 1) % KINDS.length]);

/** Toggle between light and dark. */
export const toggleDark = () => setTheme(isDark() ? "light" : "dark");

/** Listen to changes between light and dark. */
export function onTheme(fn, { signal } = {}) {
  listeners.add(fn);
  signal?.addEventListener("abort", () => listeners.delete(fn));
}

/** Whether the user prefers reduced motion. */
export const prefersReducedMotion = () => matchMedia("(prefers-reduced-motion: reduce)").matches;

const notify = () => listeners.forEach((fn) => fn(isDark()));

system.addEventListener("change", () => theme() === "auto" && notify());
