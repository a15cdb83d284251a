// Generate: the text comes symbol by symbol; each symbol shows what else could have stood there, and
// a click on another goes on from it.
import { announce, clear, h } from "../dom.js";
import { Problem, stream } from "../api.js";
import { bars } from "../figures/bars.js";
import { visible } from "../figures/symbols.js";

const textOf = (tokens) => tokens.map((token) => token.text).join("");

export const generate = {
  mono: true,
  verb: "Generate",
  label: "The text goes on from here",
  placeholder: "How the text begins…",
  about: "The model goes on with your text, symbol by symbol; Esc stops it.",
  settings: [
    { name: "limit", label: "symbols", value: 200, min: 1, max: 1024, help: "How many symbols are written at most." },
    {
      name: "temperature",
      value: 0.8,
      min: 0,
      max: 3,
      step: 0.1,
      help: "Below 1 the likely becomes likelier, above 1 the choice becomes wilder.",
    },
    {
      name: "top_k",
      value: 0,
      min: 0,
      max: 1000,
      help: "Only so many of the likeliest symbols are drawn from; 0 draws from all.",
    },
    {
      name: "top_p",
      value: 1,
      min: 0.05,
      max: 1,
      step: 0.05,
      help: "Only the likeliest symbols with this share of the probability are drawn from.",
    },
    {
      name: "seed",
      value: 1,
      min: 0,
      max: 1_000_000,
      help: "Where chance starts: the same number gives the same text.",
    },
  ],
  async stream({ model, text, given, result, foot, stop, signal, again, begin = "" }) {
    const written = h("span.written-text"),
      choices = h(".alternatives", { hidden: true }),
      stopping = h("p", h("button.small", { on: { click: stop } }, "Stop (Esc)")),
      below = h("div");
    clear(result).append(
      h(
        ".card",
        h("p.generated", { dir: "auto" }, h("span.given-text", text), h("span.given-text.picked", begin), written),
        choices,
        stopping,
        below,
      ),
    );
    const tokens = [],
      started = performance.now();
    let drawn = 0,
      waiting = 0,
      ended = null,
      wrong = null;
    // At most as often as the screen changes, however fast the symbols come.
    const flush = () => {
      waiting = 0;
      for (; drawn < tokens.length; drawn++) written.append(symbolOf(tokens[drawn], drawn));
    };
    try {
      await stream(
        `/models/${encodeURIComponent(model.id)}:stream`,
        { prompt: text + begin, parameters: { limit: 200, temperature: 0.8, seed: 1, ...given } },
        {
          token(token) {
            tokens.push(token);
            waiting ||= requestAnimationFrame(flush);
          },
          done(data) {
            ended = data;
          },
          error(problem) {
            wrong = problem;
          },
        },
        signal,
      );
    } catch (error) {
      if (error.name !== "AbortError") throw error;
    }
    if (wrong) throw new Problem(wrong);
    flush();
    stopping.remove();
    const said = ended
      ? "A click on a symbol shows what else could stand there."
      : `Stopped after ${tokens.length} symbols.`;
    below.append(
      h("p.muted.small", said),
      foot(ended || { text: textOf(tokens), ended: false, timing_ms: performance.now() - started }),
    );
    written.dataset.done = "true";
    announce(ended ? `${tokens.length} symbols were written.` : said);
    return begin + textOf(tokens);

    function symbolOf(token, index) {
      const node = h(
        "button.written-symbol",
        {
          dataset: { place: index, p: token.p },
          title: `${visible(token.symbol)}: ${(100 * token.p).toFixed(1)} %`,
          on: { click: () => offer(token, index, node) },
        },
        token.text,
      );
      node.addEventListener("keydown", ({ key }) =>
        ({ ArrowRight: node.nextElementSibling, ArrowLeft: node.previousElementSibling })[key]?.focus(),
      );
      return node;
    }
    function offer(token, index, node) {
      written.querySelector(".chosen")?.classList.remove("chosen");
      node.classList.add("chosen");
      choices.hidden = false;
      // A word is written with the space that the word it replaces has before it.
      const space = token.text.endsWith(token.symbol)
        ? token.text.slice(0, token.text.length - token.symbol.length)
        : "";
      clear(choices).append(
        h("p", h("b", `Instead of “${visible(token.symbol)}”`), " — pick another, and the text goes on from it:"),
        bars(
          token.alternatives.map(([name, value]) => ({ name, value })),
          {
            label: "what else could stand here",
            onPick: ({ name }) => again({ begin: begin + textOf(tokens.slice(0, index)) + space + name }),
          },
        ),
      );
    }
  },
};
