"""Small real runs, each trained once for all workers, and copied where a test wants one."""

import fcntl
import json
import os
import random
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.conftest import write_data


@dataclass(frozen=True)
class Plan:
    """How a run is trained: seconds at most, so few steps of small models."""

    task: str
    file: str
    model: str
    settings: dict[str, Any] = field(default_factory=dict)


TRAIN = """
import json, sys, seqloom
task, file, model, name, runs, settings = json.loads(sys.argv[1])
seqloom.train(task, file, model=model, name=name, runs=runs, settings=settings)
"""
SMALL = {"model.width": 16, "model.hidden": 24}
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
        {**SMALL, "training.epochs": 4, "training.batch_size": 4, "training.window": 16},
    ),
    # Learns to reverse letters in two seconds, so its attention has a shape that can be asked for.
    "backwards": Plan(
        "translate",
        "backwards.tsv",
        "encoder-decoder",
        {
            "model.width": 24,
            "model.hidden": 32,
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
        {"model.width": 16, "model.heads": 2, "training.epochs": 3, "training.batch_size": 16},
    ),
    "writer-transformer": Plan(
        "language",
        "text.txt",
        "transformer",
        {"model.width": 16, "model.heads": 2, "training.epochs": 2, "training.batch_size": 4},
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
    "tagger-hmm": Plan("tag", "tags.conll", "hidden-markov"),
    "documents": Plan(
        "classify", "labels.csv", "hierarchical-attention", {**SMALL, "training.epochs": 2}
    ),
    "classifier": Plan("classify", "labels.csv", "bag", {"training.epochs": 3}),
    "sales": Plan("forecast", "series.csv", "kalman"),
    "sales-lstm": Plan(
        "forecast",
        "series.csv",
        "recurrent",
        {**SMALL, "model.look_back": 24, "model.layers": 2, "training.epochs": 12},
    ),
    "sales-transformer": Plan(
        "forecast",
        "series.csv",
        "transformer",
        {"model.width": 16, "model.heads": 2, "model.look_back": 20, "training.epochs": 4},
    ),
    "tunes": Plan("music", "pieces.json", "recurrent", {**SMALL, "training.epochs": 1}),
}


class Workshop:
    """A folder that all workers share, with the runs that were asked for so far."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)

    def run(self, name: str) -> Path:
        """The folder of a prepared run, trained now if nobody has asked for it before."""
        return self._once(name, lambda: self._train(name))

    def data(self, name: str) -> Path:
        """A data file of tests/conftest.py."""
        return self._once("data", self._write_data) / name

    def _write_data(self) -> Path:
        folder = self.folder / "data"
        folder.mkdir(exist_ok=True)
        random.seed(0)
        (folder / "backwards.tsv").write_text("".join(_backwards() for _ in range(500)))
        (folder / "quotes.txt").write_text("\n".join(_quoted() for _ in range(400)) + "\n")
        return write_data(folder)

    def _train(self, name: str) -> Path:
        """Trained in a process of its own: here every shape is checked, which takes long."""
        plan = PLANS[name]
        given = {"training.probes": 2, **plan.settings}
        what = [plan.task, str(self.data(plan.file)), plan.model, name, str(self.folder / "runs")]
        environment = {**os.environ, "OMP_NUM_THREADS": "1"}
        command = [sys.executable, "-c", TRAIN, json.dumps([*what, given])]
        subprocess.run(command, check=True, capture_output=True, env=environment)
        return self.folder / "runs" / name

    def _once(self, name: str, make: Callable[[], Path]) -> Path:
        """Make something under a lock; a second worker waits, then finds it made."""
        mark = self.folder / f"{name}.made"
        with (self.folder / f"{name}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not mark.exists():
                mark.write_text(str(make()))
        return Path(mark.read_text())

    def copy(self, name: str, runs: Path) -> str:
        """A prepared run in another folder of runs; its name."""
        if not (runs / name).exists():
            shutil.copytree(self.run(name), runs / name)
        return name


def _quoted() -> str:
    """A line where what is said in quotation marks is other than what is around it."""
    said = "".join(random.choice("aeiou") for _ in range(random.randint(4, 12)))
    around = ["".join(random.choice("bcdfg") for _ in range(random.randint(3, 8))) for _ in "ab"]
    return f'{around[0]} "{said}" {around[1]}'


def _backwards() -> str:
    """Letters, and the same from the last to the first."""
    letters = [random.choice("abcdefgh") for _ in range(random.randint(4, 6))]
    return f"{' '.join(letters)}\t{' '.join(reversed(letters))}\n"
