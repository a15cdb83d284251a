// One input for several models.
import { clear, h } from "../dom.js";
import { isAborted, post, problemBox } from "../api.js";
import { currentRoute, path, setQuery } from "../route.js";
import { FULL_DIFFERENCE, surprisalColours } from "../cards/activations.js";
import { signed } from "../colours.js";
import { bars } from "../figures/bars.js";
import { signedColourBar } from "../figures/matrix.js";
import { tokenStrip } from "../figures/strip.js";
import { short } from "../figures/scales.js";
import { visible } from "../figures/tokens.js";
import { outputText } from "../shell/format.js";

/** One input for all models: output, surprisal, and next-token probabilities of each. */
export function compareInputs(section, runs, signal) {
  const field = h("textarea", {
      id: "same-text",
      dir: "auto",
      rows: 2,
      value: currentRoute().query.get("text") ?? "",
      placeholder: "Type one input for all runs…",
    }),
    result = h(".columns");
  const compare = async (event) => {
    event?.preventDefault();
    setQuery({ text: field.value }, { replace: true });
    if (!field.value) return;
    result.setAttribute("aria-busy", "true");
    try {
      const body = { runs: runs.map((run) => run.id), text: field.value };
      const { runs: outputs } = await post("/compare:inputs", body, { signal });
      clear(result).append(
        ...outputs.map((one, i) => column(one, runs[i].id)),
        ...(outputs[0].surprise && outputs[1].surprise ? [difference(outputs, runs)] : []),
      );
    } catch (problem) {
      if (!isAborted(problem)) clear(result).append(problemBox(problem, compare));
    }
    result.removeAttribute("aria-busy");
  };
  field.addEventListener(
    "keydown",
    (event) => event.key === "Enter" && !event.shiftKey && !event.isComposing && compare(event),
  );
  section.append(
    h("h2", "The same input, side by side"),
    h(
      "form",
      { on: { submit: compare } },
      h("label", { for: "same-text", class: "visually-hidden" }, "One input for all runs"),
      field,
      h("p", h("button", { type: "submit" }, "Compare")),
    ),
    result,
  );
  compare();
}

function column({ error: problem, output, surprise, next }, id) {
  if (problem)
    return h(".card.column", h("h3", id), problemBox({ message: problem.problem ?? problem.detail, ...problem }));
  const text = output && outputText(output);
  return h(
    ".card.column",
    { dataset: { run: id } },
    h("h3", h("a", { href: path("inside", id, { text: currentRoute().query.get("text") }) }, id)),
    text && h("p.answer", { dir: "auto" }, text),
    output?.ended === "limit" && h("p.muted.small", "Cut at the maximum number of tokens."),
    surprise && [
      h("p.muted.small", surprise.caption),
      tokenStrip({
        tokens: surprise.tokens.src,
        wrap: true,
        label: `surprisal of ${id}`,
        paint: surprisalColours(surprise),
      }),
    ],
    next && [
      h("h4", "Next token"),
      bars(next.choices.slice(0, 5).map(({ symbol, p }) => ({ name: symbol, value: p }))),
    ],
  );
}

function difference([first, second], runs) {
  const tokens = first.surprise.tokens.src,
    others = second.surprise.tokens.src,
    isSame = tokens.length === others.length && tokens.every((token, i) => token === others[i]),
    bits = tokens.map((_, i) => (second.surprise.bits[i] ?? 0) - (first.surprise.bits[i] ?? 0)),
    total = ({ surprise }) => surprise.bits.reduce((all, value) => all + (value ?? 0), 0),
    sum = total(second) - total(first);
  return h(
    ".card.column.difference",
    h("h3", "Difference"),
    h(
      "p.muted.small",
      `${runs[0].id} needs ${short(Math.abs(sum), 3)} bits ${sum >= 0 ? "less" : "more"} in total than ${runs[1].id}.`,
    ),
    isSame || h("p.muted.small", "The two read the text as different tokens: only the totals can be compared."),
    isSame && tokenStrip({
      tokens,
      wrap: true,
      label: "difference of surprisal",
      paint: (i) => ({
        background: signed(bits[i] / FULL_DIFFERENCE, { behindText: true }),
        title: `${visible(tokens[i])}: ${short(bits[i], 3)} bits`,
      }),
    }),
    isSame && h(".figure-legend", signedColourBar(FULL_DIFFERENCE, `bits; blue: ${runs[0].id} is better`)),
  );
}
