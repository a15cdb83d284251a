"""Words tagged per second, against spaCy's tagger.

The sentences are those of the test set of UD English EWT, with given words for both. The recipes
are trained for a few steps only, because speed does not depend on the weights. spaCy's tagger has
the architecture of its small English pipeline (hash embeddings of size 96, four convolutional
layers); the trained pipeline is not on the package index. If spaCy is not installed, its rows are
left out.

    python benchmarks/tagging_throughput.py
"""

import importlib.util
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import torch
from surroundings import arguments, data_set, in_words, machine, positive, report, say, table

import seqloom
from seqloom.evaluation.evaluate import predict
from seqloom.model import Search

PARTS = {"train": "train", "valid": "dev", "test": "test"}
RECIPES = {"hmm-tagger": "parts-of-speech-hmm", "BiLSTM with letters": "parts-of-speech"}
RIVAL = "spaCy, tagger of the small pipeline"
Tagger = Callable[[], Any]


def main() -> None:
    """Everyone tags the same sentences by turns."""
    parser = arguments(__doc__ or "")
    parser.add_argument("--rounds", type=positive, default=5, metavar="N", help="(default: 5)")
    given = parser.parse_args()
    torch.set_num_threads(given.threads)
    files = data_set(*(f"ud-en-ewt/en_ewt-ud-{part}.conllu" for part in PARTS.values()))
    settings: dict[str, Any] = {
        f"data.{part}": str(file) for part, file in zip(PARTS, files, strict=True)
    }
    with tempfile.TemporaryDirectory() as folder:
        taggers, words, tags = of_seqloom(settings, Path(folder))
    if importlib.util.find_spec("spacy") is None:
        say("spaCy is not installed: its line is left out")
    else:
        taggers[RIVAL] = of_spacy(words, tags)
    rates = in_turns(taggers, sum(map(len, words)), given.rounds)
    facts = machine(given.threads)
    results = {"words_per_second": rates, "machine": facts}
    report(f"{shown(rates)}\n\n{in_words(facts)}", results, given.json)


def of_seqloom(
    settings: dict[str, Any], folder: Path
) -> tuple[dict[str, Tagger], list[list[str]], list[str]]:
    """A tagger for each recipe, the sentences, and the tags there are."""
    taggers: dict[str, Tagger] = {}
    for title, recipe in RECIPES.items():
        brief = {"training.max_steps": 20} if recipe == "parts-of-speech" else {}
        run = seqloom.train(recipe, runs=folder, settings=settings | brief)
        examples = run.task.read(Path(settings["data.test"]), run.recipe.build_data())
        taggers[title] = lambda run=run, examples=examples: predict(
            run.model, run.task, examples, Search()
        )
    words = [example.words for example in examples]
    return taggers, words, sorted({tag for example in examples for tag in example.tags})


def of_spacy(words: list[list[str]], tags: list[str]) -> Tagger:
    """spaCy's tagger with these tags, its weights as they begin."""
    import spacy  # noqa: PLC0415 - it may be missing
    from spacy.tokens import Doc  # noqa: PLC0415

    pipeline = spacy.blank("en")
    tagger = pipeline.add_pipe("tagger")
    for tag in tags:
        tagger.add_label(tag)
    pipeline.initialize()

    def tag_all() -> None:
        docs = (Doc(pipeline.vocab, words=sentence) for sentence in words)
        for _ in pipeline.pipe(docs, batch_size=256):
            pass

    return tag_all


def in_turns(taggers: dict[str, Tagger], words: int, rounds: int) -> dict[str, list[float]]:
    """Words a second of each, in every round; the first round of all is not counted."""
    rates: dict[str, list[float]] = {title: [] for title in taggers}
    for number in range(rounds + 1):
        for title, tag in taggers.items():
            began = time.perf_counter()
            tag()
            if number:
                rates[title].append(words / (time.perf_counter() - began))
    return rates


def shown(rates: dict[str, list[float]]) -> str:
    """The table: medians, and what they are beside the rival's."""
    lines = []
    for title, found in rates.items():
        turns = [ours / theirs for ours, theirs in zip(found, rates.get(RIVAL, []), strict=False)]
        beside = f"{median(turns):.2f}×" if turns and title != RIVAL else ""
        lines.append([title, f"{median(found):,.0f}", beside])
    return table(["tagger", "words/s", "beside spaCy"], lines)


if __name__ == "__main__":
    main()
