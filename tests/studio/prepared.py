"""Small real runs, each trained once for all workers, and copied where a test wants one."""

import fcntl
import random
import shutil
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import seqloom
from tests.conftest import write_data


@dataclass(frozen=True)
class Plan:
    """How a run is trained: seconds at most, so few steps of small models."""

    task: str
    file: str
    model: str
    settings: dict[str, Any] = field(default_factory=dict)


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
        return write_data(folder)

    def _train(self, name: str) -> Path:
        plan = PLANS[name]
        settings = {"training.probes": 2, **plan.settings} if _has_probes() else plan.settings
        seqloom.train(
            plan.task,
            self.data(plan.file),
            model=plan.model,
            name=name,
            runs=self.folder / "runs",
            settings=settings,
        )
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


def _has_probes() -> bool:
    from seqloom.training.settings import Training

    return "probes" in Training.__dataclass_fields__
