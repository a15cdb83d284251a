"""Small real runs, each trained once for all workers, and copied where a test wants one.

They are trained in a process of their own, because here every shape is checked, which takes long.
The process stays and trains one run after another: to import torch takes longer than to train.
"""

import atexit
import contextlib
import fcntl
import functools
import json
import os
import shutil
import subprocess
import sys
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest


@dataclass(frozen=True)
class Plan:
    """How a run is trained: seconds at most, so few steps of small models."""

    task: str
    file: str
    model: str
    settings: dict[str, Any] = field(default_factory=dict)
    diverges: bool = False


class Workshop:
    """A folder that all workers share, with the runs that were asked for so far."""

    def __init__(
        self, folder: Path, plans: Mapping[str, Plan], write: Callable[[Path], Any], **always: Any
    ) -> None:
        self.folder, self._plans, self._write, self._always = folder, plans, write, always
        folder.mkdir(parents=True, exist_ok=True)

    def run(self, name: str) -> Path:
        """The folder of a prepared run, trained now if nobody has asked for it before."""
        return self._once(name, lambda: self._train(name))

    def data(self, name: str) -> Path:
        """A file of data."""
        return self._once("data", self._write_data) / name

    def copy(self, name: str, runs: Path) -> str:
        """A prepared run in another folder of runs; its name."""
        if not (runs / name).exists():
            shutil.copytree(self.run(name), runs / name)
        return name

    def _write_data(self) -> Path:
        folder = self.folder / "data"
        folder.mkdir(exist_ok=True)
        self._write(folder)
        return folder

    def _train(self, name: str) -> Path:
        plan = self._plans[name]
        what = [plan.task, str(self.data(plan.file)), plan.model, name, str(self.folder / "runs")]
        trainer().train(*what, {**self._always, **plan.settings}, plan.diverges)
        return self.folder / "runs" / name

    def _once(self, name: str, make: Callable[[], Path]) -> Path:
        """Make something under a lock; a second worker waits, then finds it made."""
        mark = self.folder / f"{name}.made"
        with (self.folder / f"{name}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not mark.exists():
                mark.write_text(str(make()))
        return Path(mark.read_text())


def shared(factory: pytest.TempPathFactory, worker: str) -> Path:
    """A folder for all workers; pytest-xdist gives each of them one inside of it."""
    base = factory.getbasetemp()
    return base if worker == "master" else base.parent


class Trainer:
    """A process that trains what it is told to, one run after another."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, __file__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "OMP_NUM_THREADS": "1"},
        )

    def train(self, *what: Any) -> None:
        """Train; what went wrong there is raised here."""
        self._process.stdin.write(json.dumps(what) + "\n")
        self._process.stdin.flush()
        answer = self._process.stdout.readline()
        assert answer == "null\n", f"{what}: {json.loads(answer) if answer else 'it has ended'}"

    def end(self) -> None:
        """Let it end."""
        self._process.stdin.close()
        self._process.stdout.close()
        self._process.wait()


@functools.cache
def trainer() -> Trainer:
    """The trainer of this process, begun when the first run is asked for."""
    begun = Trainer()
    atexit.register(begun.end)
    return begun


def _train_what_is_asked_for() -> None:
    """Read what to train from standard input; answer null, or how it failed."""
    import seqloom
    from seqloom.errors import TrainingError

    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what training says is no answer
    for line in sys.stdin:
        task, file, model, name, runs, settings, diverges = json.loads(line)
        failed = None
        try:
            with contextlib.suppress(*[TrainingError] if diverges else []):
                seqloom.train(task, file, model=model, name=name, runs=runs, settings=settings)
        except Exception:
            failed = traceback.format_exc()
        print(json.dumps(failed), file=answers, flush=True)


if __name__ == "__main__":
    _train_what_is_asked_for()
