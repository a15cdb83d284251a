// Samples: outputs of the model for the same few inputs at each evaluation, newest first.

import { h, put, write } from "../dom.js";
import { number } from "../shell/format.js";

const OPEN = 2,
  MAX = 60;

/** The section of samples: an element with `draw(history)`. */
export function samples() {
  const [newest, older, summary] = [h("div"), h("div"), h("summary")];
  const fold = h("details", summary, older);
  const element = h("section", { "aria-label": "Samples", hidden: true }, h("h2", "Samples"), newest, fold);
  let shown = "";
  function draw(history) {
    const events = history.of("sample").reverse();
    const key = `${events.length}/${events[0]?.step}/${history.resumes}`;
    if (key === shown) return;
    shown = key;
    element.hidden = !events.length;
    put(newest, events.slice(0, OPEN).map(block));
    put(older, events.slice(OPEN, MAX).map(block));
    fold.hidden = events.length <= OPEN;
    write(summary, `${number(events.length - OPEN)} older`);
  }
  return { element, draw };
}

const block = (event) =>
  h(
    ".sample",
    { dataset: { step: event.step } },
    h("p.small.muted", `Step ${number(event.step)}`),
    (event.samples ?? []).map((sample) =>
      h(
        "dl",
        h("dt", "input"),
        h("dd", { dir: "auto" }, sample.question ?? sample.prompt),
        h("dt", "output"),
        h("dd", { dir: "auto" }, sample.answer ?? sample.text),
      ),
    ),
  );
