// Samples: what the model answers to the same few questions at each evaluation, newest first.

import { h, put, write } from "../dom.js";
import { number } from "../shell/words.js";

const OPEN = 2,
  MOST = 60;

/** The section of samples: an element with `draw(story)`. */
export function samples() {
  const [newest, older, summary] = [h("div"), h("div"), h("summary")];
  const fold = h("details", summary, older);
  const element = h("section", { "aria-label": "Samples", hidden: true }, h("h2", "Samples"), newest, fold);
  let shown = "";
  function draw(story) {
    const found = story.of("sample").reverse();
    const key = `${found.length}/${found[0]?.step}/${story.resumes}`;
    if (key === shown) return;
    shown = key;
    element.hidden = !found.length;
    put(newest, found.slice(0, OPEN).map(block));
    put(older, found.slice(OPEN, MOST).map(block));
    fold.hidden = found.length <= OPEN;
    write(summary, `${number(found.length - OPEN)} older`);
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
        h("dt", "given"),
        h("dd", { dir: "auto" }, sample.question ?? sample.prompt),
        h("dt", "says"),
        h("dd", { dir: "auto" }, sample.answer ?? sample.text),
      ),
    ),
  );
