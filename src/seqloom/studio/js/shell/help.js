// The help dialog: tours, shortcuts of this page, and a glossary.

import { definitionList, h, icon, put } from "../dom.js";
import { enableShortcuts, listShortcuts, shortcut, shortcutsEnabled } from "../keys.js";
import { startTour, resumeTour, TOURS } from "./tourlist.js";

const GLOSSARY = {
  Token: "An element of a sequence: a character, a word, a subword, a note.",
  Step: "One update of the weights, from one batch of sequences.",
  Epoch: "One pass through all training data.",
  Loss: "The mean negative log-probability of the correct output; lower is better.",
  "Bits per character": "The cross-entropy of a language model in bits: 1 bit is a fair coin toss per character.",
  Perplexity: "The exponential of the cross-entropy: the number of equally likely tokens to choose among.",
  "Validation set": "Data not used for training, to select the best checkpoint and to detect overfitting.",
  "Test set": "Data used once, at the end, to measure how good the model is.",
  Baseline: "A simple model that a larger one must beat to be worth its cost.",
  "Learning rate": "The size of the update that an optimizer step makes.",
  "Gradient norm": "The length of the gradient; above a maximum it is clipped.",
  Diverged: "The loss became infinite or NaN: the learning rate was too high.",
  "Early stopping": "Training ends when validation has not improved for some evaluations (patience).",
  Checkpoint: "The saved weights of one step; the best and the last are kept.",
  "Forget gate": "The part of an LSTM that decides how much of each cell state is kept.",
  Attention: "Weights over the inputs for each output; they sum to 1.",
  "Beam search": "Search for the most probable output with a fixed number of candidates at each step.",
  BLEU: "Precision of the n-grams of a translation against the reference, with a brevity penalty; 0 to 100.",
  F1: "The harmonic mean of precision and recall; 1 is perfect.",
  Unknown: "A token that is not in the vocabulary; shown hatched.",
};

/** The dialog behind “?”. */
export function offerHelp() {
  let dialog = null;
  const open = () => {
    dialog ??= document.body.appendChild(h("dialog", { "aria-label": "Help" }));
    if (dialog.open) return dialog.close();
    const keys = new Map([
      ...listShortcuts().map((entry) => [entry.key, entry.help]),
      ["Esc", "Close, or stop generating"],
    ]);
    put(
      dialog,
      h(
        ".row.apart",
        h("h2", "Help"),
        h("button.quiet.square", { "aria-label": "Close", onclick: () => dialog.close() }, icon("close")),
      ),
      h("h3", "Tours"),
      h("p.small.muted", "Each tour points at parts of the pages, and continues when you have done a step."),
      h(
        ".row",
        Object.entries(TOURS).map(([name, title]) =>
          h("button", { dataset: { tour: name }, onclick: () => dialog.close() ?? startTour(name) }, title),
        ),
      ),
      h("h3", "Shortcuts"),
      definitionList([...keys].map(([key, words]) => [h("kbd", key), words])),
      h(
        "label.check",
        h("input", {
          type: "checkbox",
          checked: shortcutsEnabled(),
          onchange: (event) => enableShortcuts(event.target.checked),
        }),
        "Enable keyboard shortcuts",
      ),
      h("h3", "Glossary"),
      definitionList(Object.entries(GLOSSARY)),
      h("p.muted.small", "Every error has a code, and every code has a help page."),
    );
    dialog.showModal();
  };
  shortcut("?", "This help", open);
  document.addEventListener("help", open);
  resumeTour();
}
