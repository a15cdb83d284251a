// Copy buttons, commands and code snippets.

import { announce, h, icon } from "../dom.js";

/** A button that copies the result of `text()`. */
export function copyButton(text, label = "Copy") {
  const caption = h("span", label);
  const button = h("button.small", { onclick: copy }, icon("copy"), caption);
  async function copy() {
    try {
      await navigator.clipboard.writeText(text());
      caption.textContent = "Copied";
      announce("Copied.");
    } catch {
      // The clipboard is available on localhost and https only; elsewhere the text is selected.
      const shown = button.closest(".command, .snippet-box")?.querySelector("pre");
      if (shown) getSelection().selectAllChildren(shown);
      caption.textContent = "Press Ctrl+C";
    }
    setTimeout(() => (caption.textContent = label), 2000);
  }
  return button;
}

/** A command with a copy button; `write(text)` changes it. */
export function command(text, label = "The same on the command line") {
  const pre = h("pre", text);
  const box = h(
    ".command",
    { role: "group", "aria-label": label },
    pre,
    copyButton(() => pre.textContent),
  );
  return Object.assign(box, { write: (text) => (pre.textContent = text) });
}

/** Code snippets in tabs: {curl: "…", python: "…"}. */
export function snippets(texts, names = {}) {
  const pre = h("pre.snippet", { tabindex: 0 });
  const tabs = Object.keys(texts).map((key) =>
    h("button", { role: "tab", dataset: { tab: key }, onclick: () => choose(key), onkeydown: move }, names[key] ?? key),
  );
  function choose(key) {
    pre.textContent = texts[key];
    for (const tab of tabs) {
      tab.setAttribute("aria-selected", tab.dataset.tab === key);
      tab.tabIndex = tab.dataset.tab === key ? 0 : -1;
    }
  }
  function move(event) {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    const next = step && tabs.at((tabs.indexOf(event.currentTarget) + step) % tabs.length);
    next?.focus();
    next?.click();
  }
  tabs[0]?.click();
  return h(
    ".snippet-box",
    h(
      ".row.apart.tabs",
      h(".row", { role: "tablist" }, tabs),
      copyButton(() => pre.textContent),
    ),
    pre,
  );
}
