// A text with a Copy button beside it.

import { announce, h, icon } from "../dom.js";

/** A button that copies what `text()` gives. */
export function copyButton(text, label = "Copy") {
  const words = h("span", label);
  const button = h("button", { class: "small", on: { click: copy } }, icon("copy"), words);
  async function copy() {
    try {
      await navigator.clipboard.writeText(text());
      words.textContent = "Copied";
      announce("Copied.");
    } catch {
      words.textContent = "Press Ctrl+C";
      select(button);
    }
    setTimeout(() => (words.textContent = label), 2000);
  }
  return button;
}

// Browsers allow copying only on localhost or https; elsewhere the text is selected for the reader.
function select(button) {
  const text = button.closest(".command, .snippet-box")?.querySelector("pre");
  if (text) getSelection().selectAllChildren(text);
}

/** A command, or another line of code, with Copy. */
export function command(text, label = "The same on the command line") {
  const pre = h("pre", text);
  const box = h(".command", { role: "group", "aria-label": label }, pre, copyButton(() => pre.textContent));
  box.write = (words) => (pre.textContent = words);
  return box;
}

/** Snippets in tabs: {curl: "…", python: "…"}. */
export function snippets(texts, names = {}) {
  const pre = h("pre.snippet", { tabindex: "0" });
  const keys = Object.keys(texts);
  const tabs = keys.map((key) =>
    h("button", { role: "tab", "aria-selected": "false", dataset: { tab: key }, on: { click: () => choose(key), keydown: move } }, names[key] ?? key),
  );
  function choose(key) {
    pre.textContent = texts[key];
    for (const tab of tabs) {
      tab.setAttribute("aria-selected", String(tab.dataset.tab === key));
      tab.tabIndex = tab.dataset.tab === key ? 0 : -1;
    }
  }
  function move(event) {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    const next = tabs[(tabs.indexOf(event.currentTarget) + step + tabs.length) % tabs.length];
    next.focus();
    next.click();
  }
  const copy = copyButton(() => pre.textContent);
  const box = h(".snippet-box", h(".row.apart.tabs", h("div", { role: "tablist", class: "row" }, tabs), copy), pre);
  if (keys.length) choose(keys[0]);
  return box;
}
