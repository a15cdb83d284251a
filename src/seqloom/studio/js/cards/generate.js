// Text generation: the text is streamed token by token. A click on a token shows its alternatives, and a click on an
// alternative continues the text from it.
import { announce, clear, h } from "../dom.js";
import { Problem, stream } from "../api.js";
import { bars } from "../figures/bars.js";
import { visible } from "../figures/tokens.js";

const textOf = (tokens) => tokens.map((token) => token.text).join("");

export const generate = {
  mono: true,
  verb: "Generate",
  label: "Prompt",
  placeholder: "Type a prompt…",
  about: "The model continues the prompt token by token; Esc stops it.",
  settings: [
    { name: "limit", label: "max tokens", value: 200, min: 1, max: 1024, help: "Maximum number of tokens." },
    {
      name: "temperature",
      value: 0.8,
      min: 0,
      max: 3,
      step: 0.1,
      help: "Sampling temperature: below 1 sharpens the distribution, above 1 flattens it.",
    },
    {
      name: "top_k",
      value: 0,
      min: 0,
      max: 1000,
      help: "Top-k sampling: sample from the k most probable tokens; 0: from all.",
    },
    {
      name: "top_p",
      value: 1,
      min: 0.05,
      max: 1,
      step: 0.05,
      help: "Top-p (nucleus) sampling: sample from the most probable tokens with this total probability.",
    },
    {
      name: "seed",
      value: 1,
      min: 0,
      max: 1_000_000,
      help: "Random seed: the same seed gives the same text.",
    },
  ],
  async stream({ model, text, options, result, foot, stop, signal, restart, begin = "" }) {
    const output = h("span.written-text"),
      choices = h(".alternatives", { hidden: true }),
      stopButton = h("p", h("button.small", { on: { click: stop } }, "Stop (Esc)")),
      below = h("div");
    clear(result).append(
      h(
        ".card",
        h("p.generated", { dir: "auto" }, h("span.given-text", text), h("span.given-text.picked", begin), output),
        choices,
        stopButton,
        below,
      ),
    );
    const tokens = [],
      started = performance.now();
    let rendered = 0,
      frame = 0,
      ended = null,
      error = null;
    // Rendered once per animation frame, however fast the tokens arrive.
    const flush = () => {
      frame = 0;
      for (; rendered < tokens.length; rendered++) output.append(tokenButton(tokens[rendered], rendered));
    };
    try {
      await stream(
        `/models/${encodeURIComponent(model.id)}:stream`,
        { prompt: text + begin, parameters: { limit: 200, temperature: 0.8, seed: 1, ...options } },
        {
          token(token) {
            tokens.push(token);
            frame ||= requestAnimationFrame(flush);
          },
          done(data) {
            ended = data;
          },
          error(problem) {
            error = problem;
          },
        },
        signal,
      );
    } catch (failure) {
      if (failure.name !== "AbortError") throw failure;
    }
    if (error) throw new Problem(error);
    flush();
    stopButton.remove();
    const message = ended ? "Click a token to see its alternatives." : `Stopped after ${tokens.length} tokens.`;
    below.append(
      h("p.muted.small", message),
      foot(ended || { text: textOf(tokens), ended: false, timing_ms: performance.now() - started }),
    );
    output.dataset.done = "true";
    announce(ended ? `${tokens.length} tokens were generated.` : message);
    return begin + textOf(tokens);

    function tokenButton(token, index) {
      // Not a <button>: within one, which is a box of its own, a line break would not break the line of the text.
      const node = h(
        "span.generated-token",
        {
          role: "button",
          tabindex: "0",
          dataset: { position: index, p: token.p },
          title: `${visible(token.symbol)}: ${(100 * token.p).toFixed(1)} %`,
          on: { click: () => showAlternatives(token, index, node) },
        },
        token.text,
      );
      node.classList.toggle("breaks", token.text.includes("\n"));
      node.addEventListener("keydown", (event) => {
        ({ ArrowRight: node.nextElementSibling, ArrowLeft: node.previousElementSibling })[event.key]?.focus();
        if (!["Enter", " "].includes(event.key)) return;
        event.preventDefault();
        showAlternatives(token, index, node);
      });
      return node;
    }
    function showAlternatives(token, index, node) {
      output.querySelector(".chosen")?.classList.remove("chosen");
      node.classList.add("chosen");
      choices.hidden = false;
      // The alternative gets the space that precedes the word it replaces.
      const space = token.text.endsWith(token.symbol)
        ? token.text.slice(0, token.text.length - token.symbol.length)
        : "";
      clear(choices).append(
        h("p", h("b", `Instead of “${visible(token.symbol)}”`), ", choose another token to continue from:"),
        bars(
          token.alternatives.map(([name, value]) => ({ name, value })),
          {
            label: "alternatives at this position",
            onPick: ({ name }) => restart({ begin: begin + textOf(tokens.slice(0, index)) + space + name }),
          },
        ),
      );
    }
  },
};
