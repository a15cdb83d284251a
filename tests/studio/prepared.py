"""The runs that the tests of the studio look at."""

import random
from pathlib import Path

from tests.conftest import write_data
from tests.workshop import Plan

SMALL = {"model.embedding_size": 16, "model.hidden_size": 24}
PLANS: dict[str, Plan] = {
    "reverse": Plan(
        "translate",
        "pairs.tsv",
        "encoder-decoder",
        {**SMALL, "training.epochs": 6, "training.batch_size": 16},
    ),
    "writer-3-gram": Plan("language", "text.txt", "ngram", {"model.order": 3}),
    "writer": Plan(
        "language",
        "text.txt",
        "recurrent",
        {**SMALL, "training.epochs": 4, "training.batch_size": 4, "training.bptt": 16},
    ),
    # Learns to reverse letters in two seconds, so its attention has a shape that can be asked for.
    "backwards": Plan(
        "translate",
        "backwards.tsv",
        "encoder-decoder",
        {
            "model.embedding_size": 24,
            "model.hidden_size": 32,
            "model.attention": "additive",
            "training.epochs": 8,
            "training.batch_size": 16,
            "training.learning_rate": 0.02,
        },
    ),
    "reverse-transformer": Plan(
        "translate",
        "pairs.tsv",
        "transformer-encoder-decoder",
        {
            "model.hidden_size": 16,
            "model.num_heads": 2,
            "training.epochs": 3,
            "training.batch_size": 16,
        },
    ),
    "writer-transformer": Plan(
        "language",
        "text.txt",
        "transformer",
        {
            "model.hidden_size": 16,
            "model.num_heads": 2,
            "training.epochs": 2,
            "training.batch_size": 4,
        },
    ),
    "quoter": Plan(
        "language",
        "quotes.txt",
        "recurrent",
        {**SMALL, "training.epochs": 4, "training.batch_size": 8, "training.learning_rate": 0.01},
    ),
    # A continuous text has no end of its own, so a draft of it goes on until it is stopped.
    "endless": Plan(
        "language",
        "quotes.txt",
        "recurrent",
        {**SMALL, "task.layout": "stream", "training.epochs": 1, "training.batch_size": 8},
    ),
    "tagger": Plan("tag", "names.conll", "recurrent", {**SMALL, "training.epochs": 3}),
    "tagger-hmm": Plan("tag", "tags.conll", "hmm-tagger"),
    "documents": Plan(
        "classify", "labels.csv", "hierarchical-attention", {**SMALL, "training.epochs": 2}
    ),
    "classifier": Plan("classify", "labels.csv", "bag-of-words", {"training.epochs": 3}),
    "sales": Plan("forecast", "series.csv", "kalman"),
    "sales-lstm": Plan(
        "forecast",
        "series.csv",
        "recurrent",
        {**SMALL, "model.look_back": 24, "model.num_layers": 2, "training.epochs": 12},
    ),
    "sales-transformer": Plan(
        "forecast",
        "series.csv",
        "transformer",
        {
            "model.hidden_size": 16,
            "model.num_heads": 2,
            "model.look_back": 20,
            "training.epochs": 4,
        },
    ),
    # Its steps are far too large.
    "too-fast": Plan(
        "language",
        "text.txt",
        "recurrent",
        {
            **SMALL,
            "training.learning_rate": 3.0,
            "training.optimizer": "sgd",
            "training.max_grad_norm": 0.0,
            "training.epochs": 30,
            "training.batch_size": 4,
            "training.bptt": 16,
            "model.cell": "elman",
            "model.activation": "relu",
        },
        diverges=True,
    ),
    "tunes": Plan("music", "pieces.json", "recurrent", {**SMALL, "training.epochs": 1}),
}


def write(folder: Path) -> None:
    """The data of the plans: a file for each task, letters backwards, and quotations."""
    random.seed(0)
    (folder / "backwards.tsv").write_text("".join(_backwards() for _ in range(500)))
    (folder / "quotes.txt").write_text("\n".join(_quoted() for _ in range(400)) + "\n")
    write_data(folder)


def _quoted() -> str:
    """A line where what is said in quotation marks is other than what is around it."""
    said = "".join(random.choice("aeiou") for _ in range(random.randint(4, 12)))
    around = ["".join(random.choice("bcdfg") for _ in range(random.randint(3, 8))) for _ in "ab"]
    return f'{around[0]} "{said}" {around[1]}'


def _backwards() -> str:
    """Letters, and the same from the last to the first."""
    letters = [random.choice("abcdefgh") for _ in range(random.randint(4, 6))]
    return f"{' '.join(letters)}\t{' '.join(reversed(letters))}\n"
