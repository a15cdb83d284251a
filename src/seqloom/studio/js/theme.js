// Light, dark, or as the computer has it. The choice is a habit of the reader: it is kept here.

const KINDS = ["auto", "light", "dark"];
const listeners = new Set();
const system = matchMedia("(prefers-color-scheme: dark)");

/** The choice: "auto", "light" or "dark". */
export const theme = () => document.documentElement.dataset.theme ?? "auto";

/** Whether the page is dark now. */
export const isDark = () => (theme() === "auto" ? system.matches : theme() === "dark");

/** Choose; figures that are painted (not styled) hear of it through onTheme. */
export function setTheme(choice) {
  document.documentElement.dataset.theme = choice;
  localStorage.setItem("seqloom-theme", choice);
  tell();
}

/** The next of auto, light, dark. */
export const nextTheme = () => setTheme(KINDS[(KINDS.indexOf(theme()) + 1) % KINDS.length]);

/** From light to dark or back, whatever the choice was. */
export const toggleDark = () => setTheme(isDark() ? "light" : "dark");

/** Hear when the page turns dark or light. */
export function onTheme(fn, { signal } = {}) {
  listeners.add(fn);
  signal?.addEventListener("abort", () => listeners.delete(fn));
}

/** Whether moving pictures are unwanted. */
export const isStill = () => matchMedia("(prefers-reduced-motion: reduce)").matches;

const tell = () => listeners.forEach((fn) => fn(isDark()));

system.addEventListener("change", () => theme() === "auto" && tell());
