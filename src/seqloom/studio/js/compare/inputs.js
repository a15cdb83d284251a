// The same input through several models.
import { clear, h } from "../dom.js";
import { left, post, problemBox } from "../api.js";
import { path, place as here, set } from "../address.js";
import { bitsOf } from "../cards/time.js";
import { signed } from "../colours.js";
import { bars } from "../figures/bars.js";
import { signedLegend } from "../figures/matrix.js";
import { rail } from "../figures/rail.js";
import { short } from "../figures/scales.js";
import { visible } from "../figures/symbols.js";

/** One input through all models: what each answers, what surprises it, what it expects next. */
export function sameInput(section, runs, signal) {
  const field = h("textarea", {
      id: "same-text",
      dir: "auto",
      rows: 2,
      value: here().query.get("text") ?? "",
      placeholder: "Type one input for all of them…",
    }),
    result = h(".columns");
  const ask = async (event) => {
    event?.preventDefault();
    set({ text: field.value }, { replace: true });
    if (!field.value) return;
    result.setAttribute("aria-busy", "true");
    try {
      const found = (await post("/compare:inputs", { runs: runs.map((run) => run.id), text: field.value }, { signal }))
        .runs;
      clear(result).append(
        ...found.map((one, i) => column(one, runs[i].id)),
        ...(found[0].surprise && found[1].surprise ? [difference(found, runs)] : []),
      );
    } catch (problem) {
      if (!left(problem)) clear(result).append(problemBox(problem, ask));
    }
    result.removeAttribute("aria-busy");
  };
  field.addEventListener(
    "keydown",
    (event) => event.key === "Enter" && !event.shiftKey && !event.isComposing && ask(event),
  );
  section.append(
    h("h2", "The same input, side by side"),
    h(
      "form",
      { on: { submit: ask } },
      h("label", { for: "same-text", class: "unseen" }, "One input for all"),
      field,
      h("p", h("button", { type: "submit" }, "Ask all")),
    ),
    result,
  );
  ask();
}

function column({ error: problem, output, surprise, next }, id) {
  if (problem)
    return h(".card.column", h("h3", id), problemBox({ message: problem.problem ?? problem.detail, ...problem }));
  const said = output?.output ?? output?.text ?? output,
    answer = Array.isArray(said) ? said.flat().join(" ") : said;
  return h(
    ".card.column",
    { dataset: { run: id } },
    h("h3", h("a", { href: path("inside", id, { text: here().query.get("text") }) }, id)),
    answer != null && h("p.answer", { dir: "auto" }, String(answer)),
    surprise && [
      h("p.muted.small", surprise.caption),
      rail({ tokens: surprise.tokens.src, wrap: true, label: `surprise of ${id}`, paint: bitsOf(surprise) }),
    ],
    next && [h("h4", "Next"), bars(next.choices.slice(0, 5).map(({ symbol, p }) => ({ name: symbol, value: p })))],
  );
}

function difference([first, second], runs) {
  const tokens = first.surprise.tokens.src,
    bits = tokens.map((_, i) => (second.surprise.bits[i] ?? 0) - (first.surprise.bits[i] ?? 0)),
    sum = bits.reduce((total, value) => total + value, 0);
  return h(
    ".card.column.difference",
    h("h3", "Difference"),
    h(
      "p.muted.small",
      `${runs[0].id} needs ${short(Math.abs(sum), 3)} bits ${sum >= 0 ? "less" : "more"} in all than ${runs[1].id}.`,
    ),
    rail({
      tokens,
      wrap: true,
      label: "difference of surprise",
      paint: (i) => ({
        background: signed(bits[i] / 4, { behindText: true }),
        title: `${visible(tokens[i])}: ${short(bits[i], 3)} bits`,
      }),
    }),
    h(".figure-legend", signedLegend(4, `bits: blue, ${runs[0].id} knows better`)),
  );
}
