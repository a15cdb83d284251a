// The help: shortcuts of this page, and words that are used here, in one sentence each.

import { facts, h, icon, put } from "../dom.js";
import { areOn, listShortcuts, shortcut, turn } from "../keys.js";
import { beginTour, resumeTour, TOURS } from "./touring.js";

const GLOSSARY = {
  Symbol: "One piece of a sequence: a character, a word, a sound, a note.",
  Step: "One update of the weights, from one batch of sequences.",
  Pass: "Once through all training data (an epoch).",
  Loss: "How surprised the model is by the right answer, on average; lower is better.",
  "Bits per character": "The loss of a text model, in bits: 1 bit is a fair coin toss per character.",
  Perplexity: "Among how many equally likely symbols the model seems to choose.",
  Validation: "Data kept away from training, to see whether what is learned holds elsewhere.",
  Test: "Data touched once, at the end, to say how good the model is.",
  Baseline: "A simple model that a larger one must beat to be worth its cost.",
  "Learning rate": "How far each step moves the weights.",
  "Gradient norm": "How strongly the data pull at the weights; above a limit it is clipped.",
  Diverged: "The loss became infinite or not a number: the steps were too large.",
  "Early stopping": "Training ends when validation has not improved for a while.",
  Checkpoint: "The weights as they were at one step; the best and the last are kept.",
  "Forget gate": "The part of an LSTM that decides how much of each memory cell is kept.",
  Attention: "Weights that say which inputs the model looks at for an output; they sum to 1.",
  Beam: "The number of half-finished answers kept while searching for the best whole one.",
  BLEU: "Share of short word groups of an answer that are also in the right answer; 0 to 100.",
  F1: "One number for finding all of what is there and nothing else; 1 is perfect.",
  Unknown: "A symbol that was not in the training data; shown hatched.",
};

/** The dialog behind “?”. */
export function offerHelp() {
  let dialog = null;
  const open = () => {
    dialog ??= document.body.appendChild(h("dialog", { "aria-label": "Help" }));
    if (dialog.open) return dialog.close();
    const keys = new Map([
      ...listShortcuts().map((entry) => [entry.key, entry.help]),
      ["Esc", "Close, or stop what is being written"],
    ]);
    put(
      dialog,
      h(
        ".row.apart",
        h("h2", "Help"),
        h("button.quiet.square", { "aria-label": "Close", onclick: () => dialog.close() }, icon("close")),
      ),
      h("h3", "Tours"),
      h("p.small.muted", "Each points at things on the pages, and goes on when you have done what it says."),
      h(
        ".row",
        Object.entries(TOURS).map(([name, words]) =>
          h("button", { dataset: { tour: name }, onclick: () => dialog.close() ?? beginTour(name) }, words),
        ),
      ),
      h("h3", "Shortcuts"),
      facts([...keys].map(([key, words]) => [h("kbd", key), words])),
      h(
        "label.check",
        h("input", { type: "checkbox", checked: areOn(), onchange: (event) => turn(event.target.checked) }),
        "Shortcuts of one key are on",
      ),
      h("h3", "Words"),
      facts(Object.entries(GLOSSARY)),
      h("p.muted.small", "Every error has a code, and every code a page."),
    );
    dialog.showModal();
  };
  shortcut("?", "This help", open);
  document.addEventListener("help", open);
  resumeTour();
}
