// Loading states: nothing below 0.3 s, then a skeleton, after 3 s a sentence and Cancel.

import { h } from "../dom.js";

/** Show a loading state in `node` until `promise` resolves; returns its result. Options: height, sentence, cancel. */
export async function loading(node, promise, { height = 160, sentence = "Still working…", cancel } = {}) {
  const text = h("p.muted", { hidden: true }, sentence, " ", cancel && h("button", { onclick: cancel }, "Cancel"));
  const box = h(".waiting", h(".skeleton", { style: `height:${height}px`, "aria-hidden": "true" }), text);
  const timers = [setTimeout(() => node.append(box), 300), setTimeout(() => (text.hidden = false), 3000)];
  try {
    return await promise;
  } finally {
    timers.forEach(clearTimeout);
    box.remove();
  }
}
