"""Accuracies of the recipes for labels, on the test parts that everyone uses.

Each row trains one recipe, or one model with the settings below, and evaluates it on its test part.
Files are brought into a form that every version reads (CSV, CoNLL columns) in a folder of its own
that is thrown away. MR has no test part: ten folds, the mean and the spread of their accuracies.

    python benchmarks/labels.py --only trec            one row; may be given several times
    python benchmarks/labels.py                        all: hours
"""

import csv
import gzip
import json
import statistics
import tempfile
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from surroundings import arguments, data_set, in_words, machine, report, say, table

import seqloom
from seqloom.models import MODELS
from seqloom.options import options
from seqloom.run import Run
from seqloom.tasks import TASKS

Pair = tuple[str, str]
Files = dict[str, Path]
FOLDS = 10


@dataclass(frozen=True)
class Row:
    """What is trained on what, and what it should come to."""

    name: str
    data: str
    aim: str
    prepare: Callable[[Path], list[Files]]
    recipe: str
    model: str = ""
    settings: dict[str, Any] = field(default_factory=dict)


def labelled(path: Path, encoding: str = "utf-8") -> list[Pair]:
    """Lines of a label and a text; only a line feed ends a line."""
    lines = path.read_bytes().decode(encoding).split("\n")
    parts = [line.strip().partition(" ") for line in lines if line.strip()]
    return [(text.strip(), label) for label, _, text in parts]


def written(folder: Path, name: str, pairs: Iterable[Pair]) -> Path:
    """A table with a text and a label column."""
    path = folder / f"{name}.csv"
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([("text", "label"), *pairs])
    return path


def trec(folder: Path) -> list[Files]:
    names = ("train", "test")
    paths = data_set(*(f"trec/TREC.{name}.all" for name in names))
    parts = zip(names, paths, strict=True)
    return [{name: written(folder, name, labelled(path, "latin-1")) for name, path in parts}]


def sst(folder: Path) -> list[Files]:
    names = {"train": "train", "valid": "dev", "test": "test"}
    paths = data_set(*(f"sst/stsa.binary.{name}" for name in names.values()))
    parts = zip(names, paths, strict=True)
    return [{name: written(folder, name, labelled(path)) for name, path in parts}]


def mr(folder: Path) -> list[Files]:
    (path,) = data_set("mr/rt-polarity.all")
    pairs = labelled(path, "latin-1")
    order = torch.randperm(len(pairs), generator=torch.Generator().manual_seed(1)).tolist()
    folds = []
    for number in range(FOLDS):
        chosen = set(order[number::FOLDS])
        train = [pair for place, pair in enumerate(pairs) if place not in chosen]
        test = [pairs[place] for place in sorted(chosen)]
        names = f"train-{number}", f"test-{number}"
        found = [written(folder, *part) for part in zip(names, (train, test), strict=True)]
        folds.append(dict(zip(("train", "test"), found, strict=True)))
    return folds


def imdb(folder: Path) -> list[Files]:
    found = {}
    names = ("train", "test")
    for name, path in zip(names, data_set(*(f"imdb/{n}.jsonl.gz" for n in names)), strict=True):
        with gzip.open(path, "rt", encoding="utf-8") as file:
            rows = [json.loads(line) for line in file]
        found[name] = written(folder, name, [(row["text"], str(row["label"])) for row in rows])
    return [found]


def spam(folder: Path) -> list[Files]:
    (path,) = data_set("sms-spam/spam.csv")
    with path.open(encoding="latin-1", newline="") as file:
        rows = list(csv.reader(file))[1:]
    return [{"train": written(folder, "spam", [(row[1], row[0]) for row in rows])}]


def surnames(folder: Path) -> list[Files]:
    (path,) = data_set("names-by-language")
    files = sorted(path.glob("*.txt"))
    lines = [(f.stem, f.read_text(encoding="utf-8").split("\n")) for f in files]
    pairs = [(name.strip(), label) for label, names in lines for name in names if name.strip()]
    return [{"train": written(folder, "names", pairs)}]


def columns(word: int, tag: int, names: dict[str, str]) -> Callable[[Path], list[Files]]:
    """Two columns of CoNLL files; comments, empty nodes and joined words are left out."""

    def prepare(folder: Path) -> list[Files]:
        found = {}
        for (part, _), path in zip(names.items(), data_set(*names.values()), strict=True):
            lines = []
            for line in path.read_text(encoding="utf-8").split("\n"):
                cells = line.strip("\r").split("\t")
                if not line.strip():
                    lines.append("")
                elif len(cells) > tag and (word == 0 or cells[0].isdigit()):
                    lines.append(f"{cells[word]}\t{cells[tag]}")
            found[part] = folder / f"{part}.conll"
            found[part].write_text("\n".join(lines) + "\n", encoding="utf-8")
        return [found]

    return prepare


EWT = {
    "train": "ud-en-ewt/en_ewt-ud-train.conllu",
    "valid": "ud-en-ewt/en_ewt-ud-dev.conllu",
    "test": "ud-en-ewt/en_ewt-ud-test.conllu",
}
WNUT = {
    "train": "wnut17/wnut17train.conll",
    "valid": "wnut17/emerging.dev.conll",
    "test": "wnut17/emerging.test.annotated",
}
TAGGER = {
    "model.directions": "both",
    "model.width": 150,
    "model.hidden": 256,
    "model.dropout": 0.4,
    "model.symbol_dropout": 0.1,
    "model.letters": "convolution",
    "model.spread": 0.1,
    "training.epochs": 10,
    "training.batch_size": 32,
    "training.average": 0.99,
    "training.max_time": "18m",
}
ROWS = [
    Row("trec", "TREC", "88 %", trec, "trec"),
    Row("mr", "MR, ten folds", "75.9 ± 1.5 %", mr, "mr"),
    Row("sst", "SST, binary", "80 %", sst, "sst"),
    Row("imdb-bag", "IMDB", "87 %", imdb, "imdb"),
    Row("imdb-recurrent", "IMDB", "87 %", imdb, "imdb-recurrent"),
    Row("imdb-hierarchical", "IMDB", "87 %", imdb, "imdb-hierarchical"),
    Row("spam", "SMS spam", "2 minutes", spam, "sms-spam"),
    Row("surnames", "surnames", "2 minutes", surnames, "surnames"),
    Row("ewt-hmm", "UD EWT, UPOS", "90 %", columns(1, 3, EWT), "tag", "hidden-markov"),
    Row("ewt-recurrent", "UD EWT, UPOS", "94 %", columns(1, 3, EWT), "tag", "recurrent", TAGGER),
    Row("wnut17-hmm", "WNUT17", "-", columns(0, 1, WNUT), "tag", "hidden-markov"),
    Row("wnut17-recurrent", "WNUT17", "-", columns(0, 1, WNUT), "tag", "recurrent", TAGGER),
]


def settings_of(row: Row, files: Files) -> dict[str, Any]:
    """The files, what the row sets, and sentences where the task can cut documents into them."""
    found: dict[str, Any] = {f"data.{part}": str(path) for part, path in files.items()}
    if "test" in files:
        found["data.test_fraction"] = 0.0
    if "valid" in files:
        found["data.valid_fraction"] = 0.0
    known = {option.name for option in options(TASKS["classify"])}
    if "hierarchical" in row.recipe and "sentences" in known:
        found["task.sentences"] = True
    return found | row.settings


def trained(row: Row, files: Files, folder: Path) -> tuple[Run, float]:
    """A run, and how many seconds it learned."""
    began = time.perf_counter()
    named = {"model": row.model} if row.model else {}
    run = seqloom.train(row.recipe, runs=folder, settings=settings_of(row, files), **named)
    return run, time.perf_counter() - began


def measured(row: Row, folder: Path) -> dict[str, Any]:
    """What a row comes to: of several folds the mean of each metric and its spread."""
    found: list[dict[str, float]] = []
    seconds = 0.0
    for files in row.prepare(folder):
        run, took = trained(row, files, folder)
        seconds += took
        found.append(run.evaluate().values())
        say(f"{row.name}: {found[-1]}, {took:.0f} s")
    means = {name: statistics.fmean(one[name] for one in found) for name in found[0]}
    spread = {n: statistics.stdev(one[n] for one in found) if found[1:] else 0.0 for n in means}
    return {"row": row.name, "values": means, "spread": spread, "seconds": seconds}


def shown(row: Row, result: dict[str, Any]) -> list[str]:
    """A line of the table: the task's own first metric."""
    name, value = next(iter(result["values"].items()))
    spread = f" ± {100 * result['spread'][name]:.1f}" if result["spread"][name] else ""
    figure = f"{name} {100 * value:.2f}{spread} %"
    what = row.model or row.recipe
    return [row.data, what, row.aim, figure, f"{result['seconds'] / 60:.1f}"]


def main() -> None:
    """The rows that were asked for, or all."""
    parser = arguments(__doc__ or "")
    names = [row.name for row in ROWS]
    parser.add_argument("--only", action="append", choices=names, metavar="ROW", help=str(names))
    given = parser.parse_args()
    torch.set_num_threads(given.threads)
    facts, lines, results = machine(given.threads), [], []
    for row in ROWS:
        if row.name not in (given.only or names):
            continue
        if row.model and row.model not in MODELS:
            say(f"{row.name}: there is no model {row.model!r}")
            continue
        with tempfile.TemporaryDirectory() as folder:
            results.append(measured(row, Path(folder)))
        lines.append(shown(row, results[-1]))
    text = table(["data", "recipe or model", "aim", "test", "minutes"], lines, words=3)
    report(f"{text}\n\n{in_words(facts)}", {"machine": facts, "results": results}, given.json)


if __name__ == "__main__":
    main()
