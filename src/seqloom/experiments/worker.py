"""Worker process of a run queue: trains one run, evaluates it on the test set, measures its memory.

python -m seqloom.experiments.worker FOLDER RECIPE PARENT

In a process of its own a run has a peak memory of its own, and its failure ends no other run.
A signal, or the end of the parent, stops it after the current step; the checkpoint is kept.
"""

import os
import platform
import resource
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np

from ..errors import DataError, SeqloomError
from ..evaluation.evaluate import evaluate
from ..model import Search
from ..recipe import Recipe
from ..runs.card import write_card
from ..runs.names import RECIPE
from ..runs.run import EVENTS, WEIGHTS, Run, load
from ..runs.splits import with_known_labels
from ..runs.train import Callback, resume, train
from ..training.checkpoints import save_arrays
from ..training.events import Event, read_events
from .results import RESULT

STOPPED = 130


class StopSignal:
    """Stops training after SIGINT or SIGTERM, or when the parent process has ended."""

    def __init__(self, parent: int) -> None:
        self.parent, self._signalled, self._began = parent, False, False
        for kind in (signal.SIGINT, signal.SIGTERM):
            signal.signal(kind, self._handle)

    def should_stop(self) -> bool:
        """Whether to stop; called after each training step and each evaluation batch."""
        return self._signalled or os.getppid() != self.parent

    def on_event(self, event: Event) -> None:
        """Note that training has begun: before that, a signal stops the process at once."""
        self._began = self._began or event.kind in ("start", "resume")

    def check(self, done: int) -> None:
        """Interrupt an evaluation, which is cheap to repeat."""
        if self.should_stop():
            raise KeyboardInterrupt

    def _handle(self, number: int, frame: FrameType | None) -> None:
        self._signalled = True
        if not self._began:
            raise KeyboardInterrupt


def train_and_evaluate(folder: Path, recipe: Recipe, stop: StopSignal) -> bool:
    """Train or resume the run and evaluate it; False if it was stopped before the end."""
    began = time.monotonic()
    callback = Callback(stop.on_event, stop.should_stop)
    if is_trained(folder):
        run = load(folder)
    elif (folder / RECIPE).exists():
        run = resume(folder, callback=callback)
    else:
        run = train(recipe, name=folder.name, runs=folder.parent, callback=callback)
    if not is_trained(folder):
        return False
    evaluate_run(run, stop, began)
    return True


def evaluate_run(run: Run, stop: StopSignal, began: float) -> None:
    """Evaluate the run on its test set and save the result."""
    parts = run.own_parts()
    examples = with_known_labels(run.task, parts.test)
    if not examples:
        raise DataError(
            "D022",
            "there is no test set to evaluate the runs on",
            help=["--set data.test_fraction=0.05, or --test FILE"],
        )
    found = evaluate(run.model, run.task, examples, Search(), stop.check)
    tokens = sum(len(run.task.encode(example).source) for example in found.examples)
    events, measured = run.events(), found.with_intervals()
    facts: dict[str, Any] = {
        "measured": {name: vars(value) for name, value in measured.items()},
        "examples": len(found.examples),
        "left_out": len(parts.test) - len(examples),
        "seconds": events[-1].get("seconds", 0.0),
        "wall": time.monotonic() - began,
        "memory": peak_memory(),
        "learned": run.model.num_parameters(),
        "bytes": (run.folder / WEIGHTS).stat().st_size,
        "symbols_per_second": tokens / max(found.seconds, 1e-9),
        "curve": list(_curve(events, run.task.primary_metric)),
    }
    arrays = {name: np.array(tallies, dtype=np.float64) for name, tallies in found.tallies.items()}
    save_arrays(run.folder / RESULT, arrays, facts)
    write_card(run, parts, measured, len(found.examples))


def is_trained(folder: Path) -> bool:
    """Whether training has finished and was not stopped before."""
    events = read_events(folder / EVENTS)
    return bool(events) and events[-1]["kind"] == "end" and "seconds" in events[-1]


def peak_memory() -> int:
    """Peak memory of this process, in bytes.

    VmHWM rather than getrusage, whose peak includes that of the parent after a fork.
    """
    status = Path("/proc/self/status")
    if status.exists():
        for line in status.read_text().splitlines():
            if line.startswith("VmHWM:"):
                return 1024 * int(line.split()[1])
    unit = 1 if platform.system() == "Darwin" else 1024
    return unit * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def _curve(events: list[dict[str, Any]], metric: str) -> Iterator[tuple[float, float]]:
    """Seconds of training and the validation metric, at every evaluation."""
    seconds, before = 0.0, None
    for event in events:
        if "t" not in event:
            continue
        if before is not None and event["kind"] != "resume":
            seconds += event["t"] - before
        before = event["t"]
        if event["kind"] == "eval" and metric in event:
            yield round(seconds, 3), event[metric]


def main(folder: str, recipe: str, parent: str) -> int:
    """The exit code: 0 done, 130 stopped, or that of the error, which is printed on stderr."""
    try:
        return (
            0
            if train_and_evaluate(Path(folder), Recipe.read(Path(recipe)), StopSignal(int(parent)))
            else STOPPED
        )
    except KeyboardInterrupt:
        return STOPPED
    except SeqloomError as error:
        sys.stderr.write(f"{error.text()}\n")
        return error.exit_code


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
