"""Run queue: trains runs one after another, each in a subprocess; for ladders, folds and repeats.

NAME/                    a run; its results on the test set in judged.safetensors
RECIPES/NAME.toml        its recipe
RECIPES/NAME.log         the standard error of its process
"""

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from math import inf
from pathlib import Path
from typing import Any

from ..errors import SeqloomError, UsageError
from ..runs.names import run_argument, run_name
from ..runs.run import EVENTS
from ..training.events import read_events
from .results import RunResult, read_result
from .worker import STOPPED

POLL_SECONDS, LAST_SECONDS = 0.1, 60.0


@dataclass(frozen=True)
class QueueProgress:
    """Progress of a queue: the current run, the fraction done, and its latest validation metric."""

    name: str
    number: int
    count: int
    progress: float  # of the whole queue
    value: float | None = None  # of the primary metric on validation
    result: RunResult | None = None  # if the run has just finished
    problem: str = ""  # if it has just failed


@dataclass(frozen=True)
class QueueCallback:
    """Callbacks of a queue: `on_progress` for each change, `should_stop` to stop it."""

    on_progress: Callable[[QueueProgress], None] = lambda moment: None
    should_stop: Callable[[], bool] = lambda: False


@dataclass(frozen=True)
class QueueOutcome:
    """How a queue ended: the failed runs with the end of their logs, and whether it was stopped.

    `late` are the runs that were stopped because their time was over, with their seconds.
    """

    failed: dict[str, list[str]] = field(default_factory=dict)
    late: dict[str, float] = field(default_factory=dict)
    is_stopped: bool = False


@dataclass(frozen=True)
class RunQueue:
    """Runs in training order, weighted by their part of the total time."""

    folder: Path
    recipes: str  # the folder of the recipes
    metric: str
    weights: dict[str, float]

    def recipe(self, name: str) -> Path:
        """The recipe file of a run."""
        return self.folder / self.recipes / f"{name}.toml"

    def done(self) -> dict[str, RunResult]:
        """The results of finished runs."""
        found = {name: read_result(self.folder / name) for name in self.weights}
        return {name: result for name, result in found.items() if result is not None}

    def progress(self, done: Iterable[str], name: str = "", share: float = 0.0) -> float:
        """The fraction of the queue that is done."""
        finished = sum(self.weights[other] for other in done) + self.weights.get(name, 0.0) * share
        return finished / sum(self.weights.values())

    def train(
        self,
        callback: QueueCallback,
        before: Callable[[str], float] = lambda name: inf,
        after: Callable[[str, float], None] = lambda name, seconds: None,
    ) -> QueueOutcome:
        """Train and evaluate every run that is not done yet.

        `before` tells how many seconds a run may take at most; `after` is called with the seconds
        of one that was stopped because it took longer.
        """
        failed: dict[str, list[str]] = {}
        late: dict[str, float] = {}
        for name in self.weights:
            if read_result(self.folder / name) is not None:
                continue
            process = _RunProcess(self, name, callback, before(name))
            began = time.monotonic()
            code, words = process.run()
            if process.is_late and code:
                late[name] = time.monotonic() - began
                after(name, late[name])
            elif code == STOPPED:
                return QueueOutcome(failed, late, is_stopped=True)
            elif code:
                failed[name] = words
        return QueueOutcome(failed, late)


class _RunProcess:
    """A run in a subprocess, followed through its event log."""

    def __init__(self, queue: RunQueue, name: str, callback: QueueCallback, seconds: float) -> None:
        self.queue, self.name, self.callback = queue, name, callback
        self.seconds, self.is_late = seconds, False
        self.folder, self.done = queue.folder / name, list(queue.done())

    def run(self) -> tuple[int, list[str]]:
        """Run to the end; the exit code and the last lines of its log."""
        recipe = self.queue.recipe(self.name)
        log = recipe.with_suffix(".log")
        with log.open("wb") as errors:
            process = subprocess.Popen(
                [sys.executable, "-m", "seqloom.experiments.worker"]
                + [str(self.folder), str(recipe), str(os.getpid())],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=errors,
                start_new_session=True,  # so that Ctrl-C reaches it only through `_watch`
            )
        try:
            self._watch(process)
        finally:
            _end(process)
        code = process.returncode
        result = read_result(self.folder)
        words = log.read_text(encoding="utf-8", errors="replace").strip().split("\n")[-6:]
        if code and code != STOPPED and not self.is_late:
            self._report(problem=words[0] or f"it ended with exit code {code}")
        elif result is not None:
            self._report(result=result)
        return code, words

    def _watch(self, process: "subprocess.Popen[bytes]") -> None:
        """Report progress, and forward a request to stop; stop the run when its time is over."""
        stopping, last_size, deadline = False, -1, inf
        over = time.monotonic() + self.seconds
        while process.poll() is None:
            is_late = time.monotonic() > over
            if not stopping and (is_late or self.callback.should_stop()):
                process.send_signal(signal.SIGINT)
                stopping, deadline = True, time.monotonic() + LAST_SECONDS
                self.is_late = is_late
            if time.monotonic() > deadline:
                return
            path = self.folder / EVENTS
            if (size := path.stat().st_size if path.exists() else 0) != last_size:
                last_size = size
                self._report_events(read_events(path))
            time.sleep(POLL_SECONDS)

    def _report_events(self, events: list[dict[str, Any]]) -> None:
        """Report the latest progress and metric."""
        metric = self.queue.metric
        shares = [event["progress"] for event in events if "progress" in event]
        values = [event[metric] for event in events if metric in event]
        self._report(min(1.0, shares[-1]) if shares else 0.0, values[-1] if values else None)

    def _report(self, share: float = 1.0, value: float | None = None, **facts: Any) -> None:
        names = list(self.queue.weights)
        whole = self.queue.progress(self.done, self.name, share)
        number = names.index(self.name) + 1
        self.callback.on_progress(
            QueueProgress(self.name, number, len(names), whole, value, **facts)
        )


def _end(process: "subprocess.Popen[bytes]") -> None:
    """Interrupt the process once more, then kill it."""
    if process.poll() is None:
        process.send_signal(signal.SIGINT)
        try:
            process.wait(timeout=LAST_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


@contextmanager
def whole_or_none(folder: Path) -> Iterator[None]:
    """What is written into a new folder within this block; on an error it is removed again."""
    try:
        yield
    except SeqloomError:
        shutil.rmtree(folder, ignore_errors=True)
        raise


def queue_folder(name: str, stem: str, runs: Path, *, word: str, resume: str) -> Path:
    """The folder of a new queue: `name`, or the stem with the next free number."""
    if run_name(name):
        if (runs / name).exists():
            raise UsageError(
                "U009",
                f"there is a folder called {name!r} already",
                help=[f"{resume} {run_argument(runs / name)}   resume {word}", "--name ANOTHER"],
            )
        return runs / name
    number = 1
    while (runs / f"{stem}-{number}").exists():
        number += 1
    return runs / f"{stem}-{number}"
