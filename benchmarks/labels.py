"""Accuracies of the recipes for classification and tagging, on the standard test sets.

Each row trains a shipped recipe on the original files and evaluates it on the test set. MR has no
test set: it is evaluated by ten-fold cross-validation. Minutes are CPU time.

    python benchmarks/labels.py --only trec            one row; may be given several times
    python benchmarks/labels.py                        all: more than an hour
"""

import gzip
import shutil
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from surroundings import arguments, data_set, in_words, machine, report, say, table

import seqloom
from seqloom.metrics import METRICS

FOLDS = 10
EWT = {part: f"ud-en-ewt/en_ewt-ud-{part}.conllu" for part in ("train", "dev", "test")}
WNUT = {
    "train": "wnut17/wnut17train.conll",
    "dev": "wnut17/emerging.dev.conll",
    "test": "wnut17/emerging.test.annotated",
}
SST = {part: f"sst/stsa.binary.{part}" for part in ("train", "dev", "test")}
TREC = {part: f"trec/TREC.{part}.all" for part in ("train", "test")}
IMDB = {part: f"imdb/{part}.jsonl.gz" for part in ("train", "test")}
NAMES = {"train": "train", "dev": "valid", "test": "test"}  # of parts, as recipes call them


@dataclass(frozen=True)
class Row:
    """Which recipe is trained on what, and what it should come to."""

    name: str
    data: str
    aim: str
    recipe: str
    files: dict[str, str]
    settings: dict[str, Any] = field(default_factory=dict)


LATIN = {"data.encoding": "latin-1"}
ROWS = [
    Row("trec", "TREC", "88 %", "trec", TREC, LATIN),
    Row("mr", "MR, ten folds", "75.9 ± 1.5 %", "mr", {"train": "mr/rt-polarity.all"}, LATIN),
    Row("sst", "SST, binary", "80 %", "sst", SST),
    Row("imdb-bag", "IMDB", "87 %", "imdb", IMDB),
    Row("imdb-recurrent", "IMDB", "87 %", "imdb-recurrent", IMDB),
    Row("imdb-hierarchical", "IMDB", "87 %", "imdb-hierarchical", IMDB),
    Row(
        "spam",
        "SMS spam, a part held out",
        "2 minutes",
        "sms-spam",
        {"train": "sms-spam/spam.csv"},
        LATIN | {"data.columns": "text=v2,label=v1"},
    ),
    Row(
        "surnames",
        "surnames, a part held out",
        "2 minutes",
        "surnames",
        {"train": "names-by-language"},
    ),
    Row("ewt-hmm", "UD EWT, UPOS", "90 %", "parts-of-speech-hmm", EWT),
    Row("ewt-recurrent", "UD EWT, UPOS", "94 %", "parts-of-speech", EWT),
    Row("wnut17", "WNUT17", "-", "entities", WNUT),
]


def settings_of(row: Row, folder: Path) -> dict[str, Any]:
    """The files, unpacked where they need it, and what the row sets."""
    found: dict[str, Any] = {}
    for part, path in zip(row.files, data_set(*row.files.values()), strict=True):
        file = path
        if path.suffix == ".gz":
            file = folder / path.stem
            with gzip.open(path) as packed, file.open("wb") as plain:
                shutil.copyfileobj(packed, plain)
        found[f"data.{NAMES[part]}"] = str(file)
    return found | row.settings


def measured(row: Row, folder: Path) -> dict[str, Any]:
    """What a row comes to: its first metric, with its interval."""
    settings, began = settings_of(row, folder), time.process_time()
    if row.name == "mr":
        file = settings.pop("data.train")
        folded = seqloom.cross_validate(
            row.recipe, file, folds=FOLDS, runs=folder, settings=settings
        )
        means = folded.means()
        # Folds are processes of their own, so their time is what the clock says of each.
        seconds = sum(one.seconds for one in folded.runs)
    else:
        run = seqloom.train(row.recipe, runs=folder, settings=settings)
        seconds = time.process_time() - began
        means = run.evaluate().with_intervals()
    values = {name: vars(one) for name, one in means.items()}
    say(f"{row.name}: {values}, {seconds:.0f} s")
    return {"row": row.name, "values": values, "seconds": seconds}


def shown(row: Row, result: dict[str, Any]) -> list[str]:
    """A line of the table: the task's own first metric."""
    name, found = next(iter(result["values"].items()))
    value, low, high = (100 * found[key] for key in ("value", "low", "high"))
    figure = f"{METRICS[name].title} {value:.2f} ({low:.2f}-{high:.2f}) %"
    return [row.data, row.recipe, row.aim, figure, f"{result['seconds'] / 60:.1f}"]


def main() -> None:
    """The rows that were asked for, or all."""
    parser = arguments(__doc__ or "")
    names = [row.name for row in ROWS]
    parser.add_argument("--only", action="append", choices=names, metavar="ROW", help=str(names))
    given = parser.parse_args()
    torch.set_num_threads(given.threads)
    facts, lines, results = machine(given.threads), [], []
    for row in ROWS:
        if row.name in (given.only or names):
            with tempfile.TemporaryDirectory() as folder:
                results.append(measured(row, Path(folder)))
            lines.append(shown(row, results[-1]))
    text = table(["data", "recipe", "aim", "test", "minutes"], lines, words=3)
    report(f"{text}\n\n{in_words(facts)}", {"machine": facts, "results": results}, given.json)


if __name__ == "__main__":
    main()
