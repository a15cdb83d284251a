"""Bag of words against scikit-learn: accuracy of the defaults, and a training of newsgroup size.

Accuracy: `bag-of-words` as `seqloom train classify` has it by default, against TfidfVectorizer with
LogisticRegression, with their defaults and with word pairs and C = 20 (`ours` in the table).
Over folds of the training files, and on the test sets where there are some; a difference has an
interval over texts, from pairs of right and wrong.

Size: 20,000 synthetic documents of 20 classes, words by Zipf's law, read and trained by the whole
command, in a process of its own: CPU seconds and peak memory. scikit-learn has the same file.

    python benchmarks/bag_of_words.py --only size
    python benchmarks/bag_of_words.py --only mr --only trec
"""

import csv
import gzip
import io
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from surroundings import arguments, data_set, in_words, machine, report, say, table

from seqloom.batch import Sequences
from seqloom.model import Search
from seqloom.models.bag_of_words import BagOfWords
from seqloom.tasks.classify import Classify
from seqloom.training.closed_form import ClosedForm

FOLDS = 4
REVIEWS = 2000
DOCUMENTS, CLASSES, VOCABULARY = 20_000, 20, 130_000
Pairs = list[tuple[str, str]]  # text and label


@dataclass(frozen=True)
class Corpus:
    """Texts to learn from, and a test set or folds."""

    title: str
    train: Callable[[], Pairs]
    test: Callable[[], Pairs] | None = None


def labelled_lines(name: str, encoding: str = "utf-8") -> Pairs:
    """A label and a text on each line."""
    (path,) = data_set(name)
    lines = path.read_text(encoding=encoding).split("\n")
    found = [line.split(None, 1) for line in lines if line.strip()]
    return [(text, label) for label, text in found]


def messages() -> Pairs:
    (path,) = data_set("sms-spam/spam.csv")
    rows = list(csv.reader(io.StringIO(path.read_text(encoding="latin-1"))))[1:]
    return [(row[1], row[0]) for row in rows]


def reviews(part: str, count: int = 0) -> Pairs:
    """Reviews of IMDB, all or so many at random."""
    (path,) = data_set(f"imdb/{part}.jsonl.gz")
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    chosen = np.random.default_rng(0).permutation(len(rows))[: count or None]
    return [(rows[i]["text"], rows[i]["label"]) for i in chosen]


CORPORA = {
    "mr": Corpus("MR, folds", lambda: labelled_lines("mr/rt-polarity.all", "latin-1")),
    "sst": Corpus(
        "SST, test set",
        lambda: labelled_lines("sst/stsa.binary.train"),
        lambda: labelled_lines("sst/stsa.binary.test"),
    ),
    "trec": Corpus(
        "TREC, test set",
        lambda: labelled_lines("trec/TREC.train.all", "latin-1"),
        lambda: labelled_lines("trec/TREC.test.all", "latin-1"),
    ),
    "spam": Corpus("SMS spam, folds", messages),
    "reviews": Corpus("2,000 reviews of IMDB, folds", lambda: reviews("train", REVIEWS)),
    "imdb": Corpus("IMDB, test set", lambda: reviews("train"), lambda: reviews("test")),
}


def parts_of(corpus: Corpus) -> Iterator[tuple[Pairs, Pairs]]:
    """What is learned from and judged on, in turn."""
    pairs = corpus.train()
    if corpus.test is not None:
        yield pairs, corpus.test()
        return
    places = np.random.default_rng(1).permutation(len(pairs))
    for fold in range(FOLDS):
        held = set(places[fold::FOLDS].tolist())
        yield (
            [pair for place, pair in enumerate(pairs) if place not in held],
            [pair for place, pair in enumerate(pairs) if place in held],
        )


def ours(train: Pairs, test: Pairs) -> list[bool]:
    """Which test texts Seqloom gets right, with its defaults."""
    task = Classify()
    examples = [task.with_target(task.question(text), label) for text, label in train]
    task.prepare(examples)
    model = BagOfWords(task.signature())
    for _ in ClosedForm(model, [task.encode(example) for example in examples]).steps():
        pass
    found: list[bool] = []
    with model.inference_mode():
        for start in range(0, len(test), 200):
            some = test[start : start + 200]
            read = Sequences.pad([task.encode(task.question(text)).source for text, _ in some])
            rows = model.predict(read, Search()).target.rows()
            answers = [task.decode(row) for row in rows]
            found += [one == label for one, (_, label) in zip(answers, some, strict=True)]
    return found


def theirs(train: Pairs, test: Pairs, order: int, strength: float) -> list[bool]:
    """The same of scikit-learn."""
    from sklearn.feature_extraction.text import TfidfVectorizer  # noqa: PLC0415 - an optional rival
    from sklearn.linear_model import LogisticRegression  # noqa: PLC0415

    reader = TfidfVectorizer(ngram_range=(1, order))
    features = reader.fit_transform(text for text, _ in train)
    model = LogisticRegression(C=strength, max_iter=1000).fit(features, [y for _, y in train])
    answers = model.predict(reader.transform(text for text, _ in test))
    return [one == label for one, (_, label) in zip(answers, test, strict=True)]


RIVALS: dict[str, Callable[[Pairs, Pairs], list[bool]]] = {
    "Seqloom": ours,
    "defaults": lambda train, test: theirs(train, test, 1, 1.0),
    "ours": lambda train, test: theirs(train, test, 2, 20.0),
}


def accuracy(name: str) -> dict[str, Any]:
    """Shares that are right, of all texts that were judged, and paired differences."""
    right: dict[str, list[bool]] = {rival: [] for rival in RIVALS}
    for train, test in parts_of(CORPORA[name]):
        for rival, judge in RIVALS.items():
            right[rival] += judge(train, test)
    row: dict[str, Any] = {"corpus": CORPORA[name].title, "texts": len(right["Seqloom"])}
    for rival, found in right.items():
        apart = np.subtract(right["Seqloom"], found, dtype=float)
        half = 1.96 * apart.std() / np.sqrt(len(apart))
        row[rival] = {"accuracy": float(np.mean(found)), "ahead": float(apart.mean())}
        row[rival]["half"] = float(half)
    say(f"{name}: {row}")
    return row


SKLEARN = """
import csv, sys
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
rows = list(csv.DictReader(open(sys.argv[1], encoding="utf-8")))
features = TfidfVectorizer().fit_transform(row["text"] for row in rows)
LogisticRegression().fit(features, [row["label"] for row in rows])
"""


def size() -> list[dict[str, Any]]:
    """CPU seconds and memory of trainings of newsgroup size."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "documents.csv"
        write_documents(file)
        command = [sys.executable, "-m", "seqloom", "train", "classify", str(file)]
        command += ["-m", "bag-of-words", "--set", "data.max_length=100000"]
        command += ["--runs-dir", folder, "--quiet"]
        rows = []
        for what, typed in {
            "Seqloom, words and pairs": command,
            "Seqloom, words alone": [*command, "--set", "model.order=1"],
            "scikit-learn's defaults, words alone": [sys.executable, "-c", SKLEARN, str(file)],
        }.items():
            rows.append({"what": what, **used_by(typed)})
            say(str(rows[-1]))
    return rows


def used_by(typed: list[str]) -> dict[str, float]:
    """CPU seconds and the peak of memory, in MiB, of a process and its children."""
    process = subprocess.Popen(typed, stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{' '.join(typed)}: {process.returncode}")
    return {"seconds": used.ru_utime + used.ru_stime, "memory": used.ru_maxrss / 1024}


def write_documents(file: Path) -> None:
    """Words by Zipf's law, five in a hundred from the 800 of the document's class."""
    chance = np.random.default_rng(0)
    weights = 1 / (np.arange(VOCABULARY) + 2.7) ** 1.05
    reached = np.cumsum(weights / weights.sum())
    topics = [chance.choice(np.arange(200, 30_000), 800, replace=False) for _ in range(CLASSES)]
    with file.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(["text", "label"])
        for _ in range(DOCUMENTS):
            label = int(chance.integers(CLASSES))
            length = int(np.clip(chance.lognormal(5.1, 0.9), 20, 3000))
            words = np.minimum(np.searchsorted(reached, chance.random(length)), VOCABULARY - 1)
            is_topical = chance.random(length) < 0.05
            words[is_topical] = chance.choice(topics[label], int(is_topical.sum()))
            writer.writerow([" ".join(f"w{word}" for word in words), f"group{label}"])


def main() -> None:
    """What was asked for, or all."""
    parser = arguments(__doc__ or "")
    names = [*CORPORA, "size"]
    parser.add_argument("--only", action="append", choices=names, help=str(names))
    given = parser.parse_args()
    facts, chosen = machine(given.threads), given.only or names
    rows = [accuracy(name) for name in CORPORA if name in chosen]
    sizes = size() if "size" in chosen else []
    lines = [
        [row["corpus"], f"{row['texts']:,}"]
        + [f"{100 * row[rival]['accuracy']:.2f}" for rival in RIVALS]
        + [f"{100 * row['defaults']['ahead']:+.2f} ± {100 * row['defaults']['half']:.2f}"]
        for row in rows
    ]
    head = ["data", "texts", "Seqloom", "sklearn's defaults", "sklearn with ours", "to defaults"]
    parts = [table(head, lines)] if rows else []
    if sizes:
        lines = [[r["what"], f"{r['seconds']:.0f}", f"{r['memory']:,.0f}"] for r in sizes]
        parts.append(table(["20,000 documents", "CPU seconds", "peak memory, MiB"], lines))
    text = "\n\n".join([*parts, in_words(facts)])
    report(text, {"machine": facts, "accuracy": rows, "size": sizes}, given.json)


if __name__ == "__main__":
    main()
