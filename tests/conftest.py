"""What all tests share: one thread, fixed seeds, and a few lines of every kind of data."""

import json
import math
import os
import random
import signal
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before torch: tests run side by side

import pytest
import torch

from . import suggestions
from .shapes import Calls

suggestions.watch()
torch.set_num_threads(1)
# The whole stack is written down for every accelerator that is not there: milliseconds, every time.
torch.manual_seed = torch.default_generator.manual_seed

# A shell lets what it starts in the background ignore Ctrl-C, and so would all that the tests start.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(autouse=True)
def seeded():
    Calls.test += 1
    torch.manual_seed(0)
    random.seed(0)


@pytest.fixture(autouse=True)
def works_as_printed():
    """Every command that a message suggests is one that the command line accepts."""
    suggestions.heard.clear()
    yield
    wrong = [found for one in [*suggestions.heard] if (found := suggestions.complaint(one))]
    assert not wrong, "suggested, but not accepted: " + "; ".join(wrong)


def sentences(count: int = 60) -> list[list[str]]:
    chance = random.Random(0)
    nouns, verbs = ["cat", "dog", "bird", "fish"], ["sees", "hears", "likes"]
    return [
        [
            chance.choice(["the", "a"]),
            chance.choice(nouns),
            chance.choice(verbs),
            chance.choice(["the", "a"]),
            chance.choice(nouns),
        ][: chance.choice([3, 5])]
        for _ in range(count)
    ]


def tunes(count: int = 28) -> list[list[list[int]]]:
    """Short pieces: a chord that moves up or down a few keys, held now and then, and a rest."""
    chance, made = random.Random(0), []
    for _ in range(count):
        root, way, piece = chance.randrange(48, 60), chance.choice([-2, 1, 3]), []
        for step in range(chance.choice([5, 7])):
            place = root + way * step
            piece.append([] if step == 4 else [place, place + 4, place + 7])
            piece += [piece[-1]] * chance.choice([0, 1])
        made.append(piece)
    return made


TAG = {
    **dict.fromkeys(["cat", "dog", "bird", "fish"], "N"),
    **dict.fromkeys(["sees", "hears", "likes"], "V"),
    "the": "D",
    "a": "D",
}


def sold(months: int = 120) -> str:
    """A season of twelve months, a slow rise, and some noise; one month is missing."""
    chance = random.Random(0)
    wave = [
        40 + 10 * math.sin(math.pi * i / 6) + i / 10 + chance.gauss(0, 1) for i in range(months)
    ]
    numbers = ["" if i == 7 else f"{number:.2f}" for i, number in enumerate(wave)]
    return "".join(f"{2010 + i // 12}-{i % 12 + 1:02},{n}\n" for i, n in enumerate(numbers))


def waves(count: int = 60) -> str:
    """Series that rise or fall; each step is low or high."""
    chance, lines = random.Random(0), []
    for number in range(count):
        length = chance.randrange(6, 10)
        slope = 1 if number % 2 else -1
        rows = [[slope * (i - length / 2) + chance.gauss(0, 0.3), i % 2] for i in range(length)]
        labels = ["high" if row[0] > 0 else "low" for row in rows]
        label = "rising" if slope > 0 else "falling"
        lines.append(json.dumps({"values": rows, "label": label, "labels": labels}))
    return "\n".join(lines) + "\n"


def write_data(folder: Path) -> Path:
    """A file for each task: text.txt, tags.conll, labels.csv, pairs.tsv, series.csv, waves.jsonl
    and pieces.json.

    names.conll has entities.
    """
    made = sentences()
    text = "\n".join(" ".join(sentence) for sentence in made) + "\n"
    (folder / "text.txt").write_text(text)
    tagged = "\n\n".join("\n".join(f"{word}\t{TAG[word]}" for word in s) for s in made)
    (folder / "tags.conll").write_text(tagged + "\n")
    named = tagged.replace("\tN", "\tB-animal").replace("\tV", "\tO").replace("\tD", "\tO")
    (folder / "names.conll").write_text(named + "\n")
    labels = "".join(f"{' '.join(s)},{'long' if len(s) > 3 else 'short'}\n" for s in made)
    (folder / "labels.csv").write_text("text,label\n" + labels)
    pairs = "".join(f"{' '.join(s)}\t{' '.join(reversed(s))}\n" for s in made)
    (folder / "pairs.tsv").write_text(pairs)
    (folder / "pieces.json").write_text(json.dumps(tunes()))
    (folder / "series.csv").write_text("month,sold\n" + sold())
    (folder / "waves.jsonl").write_text(waves())
    return folder


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return write_data(tmp_path)


@pytest.fixture
def in_process(monkeypatch):
    """Runs of a series are trained here; tests/experiments/test_ladder.py looks at processes of their own."""
    from seqloom.experiments import queue
    from seqloom.experiments.worker import STOPPED, StopSignal, train_and_evaluate
    from seqloom.recipe import Recipe

    trained = []

    class Never(StopSignal):
        def __init__(self):
            """No signal is listened to."""

        def should_stop(self):
            return False

        def on_event(self, event):
            return

    def run(self):
        if self.callback.should_stop():
            return STOPPED, []
        train_and_evaluate(self.folder, Recipe.read(self.queue.recipe(self.name)), Never())
        trained.append(self.name)
        self._report(result=queue.read_result(self.folder))
        return 0, []

    monkeypatch.setattr(queue._RunProcess, "run", run)
    return trained
