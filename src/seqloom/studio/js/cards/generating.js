// Generate: the text comes symbol by symbol; each symbol shows what else could have stood there, and
// a click on another goes on from it.
import { announce, clear, h } from "../dom.js";
import { stream } from "../api.js";
import { bars } from "../figures/bars.js";
import { visible } from "../figures/symbols.js";

export const generate = {
  rows: 3, mono: true, placeholder: "How the text begins…", verb: () => "Generate", label: () => "The text goes on from here",
  about: () => "The model goes on with your text, symbol by symbol; Esc stops it.",
  settings: () => [
    { name: "limit", label: "symbols", value: 200, min: 1, max: 1024, help: "How many symbols are written at most." },
    { name: "temperature", value: 0.8, min: 0, max: 3, step: 0.1, help: "Below 1 the likely becomes likelier, above 1 the choice becomes wilder." },
    { name: "top_k", label: "top k", value: 0, min: 0, max: 1000, help: "Only so many of the likeliest symbols are drawn from; 0 draws from all." },
    { name: "top_p", label: "top p", value: 1, min: 0.05, max: 1, step: 0.05, help: "Only the likeliest symbols with this share of the probability are drawn from." },
    { name: "seed", value: 1, min: 0, max: 1_000_000, help: "Where chance starts: the same number gives the same text." }],
  async ask(asked) {
    const { text, given, frame, result, signal, begin = "" } = asked;
    const parameters = { limit: 200, temperature: 0.8, seed: 1, ...given };
    const written = h("span.written-text"), choices = h(".alternatives", { hidden: true });
    const stop = h("button", { class: "small", on: { click: () => asked.abort?.() } }, "Stop (Esc)");
    const foot = h("div");
    clear(result).append(h(".card", h("p.generated", { dir: "auto" }, h("span.given-text", text), h("span.given-text.picked", begin), written), choices, h("p", stop), foot));
    const own = new AbortController();
    asked.abort = () => own.abort();
    signal.addEventListener("abort", () => own.abort());
    const tokens = [], started = performance.now();
    let pending = [], drawing = 0, ended = null;
    const flush = () => {
      drawing = 0;
      written.append(...pending.map((token) => symbolOf(token, tokens.indexOf(token))));
      pending = [];
    };
    const finish = (answer) => {
      if (pending.length) flush();
      stop.parentElement.remove();
      written.dataset.done = "true";
      frame.said = begin + tokens.map((token) => token.text).join("");
      foot.append(frame.foot(answer));
    };
    const problems = [];
    try {
      await stream(`/models/${encodeURIComponent(asked.model.id)}:stream`, { prompt: text + begin, parameters }, {
        token(token) {
          tokens.push(token);
          pending.push(token);
          drawing ||= requestAnimationFrame(flush);
        },
        done(data) { ended = data; },
        error(problem) { problems.push(problem); },
      }, own.signal);
    } catch (error) {
      if (error.name !== "AbortError") throw error;
      announce("Stopped.");
      finish({ text: tokens.map((token) => token.text).join(""), ended: false, stopped: true, timing_ms: performance.now() - started });
      foot.prepend(h("p.muted", `Stopped after ${tokens.length} symbols.`));
      return;
    }
    if (problems.length) throw Object.assign(new Error(problems[0].problem || problems[0].detail || "the model could not go on"), { notes: [], help: [], ...problems[0] });
    finish(ended || { text: frame.said });
    announce(`${tokens.length} symbols were written.`);
    foot.prepend(h("p.muted.small", "A click on a symbol shows what else could stand there."));

    function symbolOf(token, index) {
      const node = h("button", { class: "written-symbol", dataset: { place: index, p: token.p }, title: `${visible(token.symbol ?? token.text)}: ${(100 * token.p).toFixed(1)} %`, on: { click: () => offer(token, index, node) } }, token.text);
      node.addEventListener("keydown", (event) => {
        const there = { ArrowRight: node.nextElementSibling, ArrowLeft: node.previousElementSibling }[event.key];
        if (there) { event.preventDefault(); there.focus(); }
      });
      return node;
    }
    function offer(token, index, node) {
      written.querySelector(".chosen")?.classList.remove("chosen");
      node.classList.add("chosen");
      const before = begin + tokens.slice(0, index).map((one) => one.text).join("");
      choices.hidden = false;
      clear(choices).append(h("p", h("b", `Instead of “${visible(token.symbol ?? token.text)}”`), " — pick another, and the text goes on from it:"),
        bars(token.alternatives.map(([name, value]) => ({ name, value })), { label: "what else could stand here", onPick: ({ name }) => asked.again({ begin: before + textOf(token, name) }) }));
    }
    /** Words are written with the space that the word they replace has before it. */
    function textOf(token, name) {
      const symbol = token.symbol ?? token.text, space = token.text.endsWith(symbol) ? token.text.slice(0, token.text.length - symbol.length) : "";
      return space + name;
    }
  },
};
