// Waiting, told honestly: nothing below 0.3 s, then a skeleton, after 3 s a sentence and Cancel.

import { h } from "../dom.js";

/** Show in `node` that we wait for `promise`; gives what it gives. Options: height, sentence, cancel. */
export async function waiting(node, promise, { height = 160, sentence = "Still working…", cancel } = {}) {
  const words = h("p.muted", { hidden: true }, sentence, " ", cancel && h("button", { onclick: cancel }, "Cancel"));
  const box = h(".waiting", h(".skeleton", { style: `height:${height}px`, "aria-hidden": "true" }), words);
  const timers = [setTimeout(() => node.append(box), 300), setTimeout(() => (words.hidden = false), 3000)];
  try {
    return await promise;
  } finally {
    timers.forEach(clearTimeout);
    box.remove();
  }
}
