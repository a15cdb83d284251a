// Samples: what the model answers to the same few questions at each evaluation, newest first.

import { h } from "../dom.js";
import { number } from "../shell/words.js";

const OPEN = 2;

/** The section of samples: an element with `draw(story)`. */
export function samples() {
  const newest = h("div");
  const older = h("div");
  const summary = h("summary", "");
  const fold = h("details", { hidden: true }, summary, older);
  const box = h("section", { "aria-labelledby": "samples-title", hidden: true }, h("h2", { id: "samples-title" }, "Samples"), newest, fold);
  let shown = "";
  const draw = (story) => {
    const found = story.of("sample").reverse();
    const key = `${found.length}/${found[0]?.step}/${story.resumes}`;
    if (key === shown) return;
    shown = key;
    box.hidden = !found.length;
    newest.replaceChildren(...found.slice(0, OPEN).map((event, i) => block(event, i === 0)));
    older.replaceChildren(...found.slice(OPEN, OPEN + 60).map((event) => block(event, false)));
    fold.hidden = found.length <= OPEN;
    summary.textContent = `${number(found.length - OPEN)} older`;
  };
  return { element: box, draw };
}

function block(event, isNewest) {
  return h("div", { class: isNewest ? "sample newest" : "sample", dataset: { step: event.step } },
    h("p.small.muted", `Step ${number(event.step)}`),
    (event.samples ?? []).map((sample) => h("dl",
      h("dt", "given"), h("dd", { dir: "auto" }, String(sample.question ?? sample.prompt ?? "")),
      h("dt", "says"), h("dd", { dir: "auto" }, String(sample.answer ?? sample.text ?? "")))));
}
