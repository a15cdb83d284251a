"""One rung, or one fold, in a process of its own: trained, judged on the test part, measured.

python -m seqloom.experiments.worker FOLDER RECIPE PARENT

A process of its own tells how much memory a rung needs, and a rung that fails takes no other down.
A signal, or the end of the parent, stops it after the step; what is learned is kept.
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
from ..runs.run import EVENTS, RECIPE, WEIGHTS, Run, load
from ..runs.splits import read_parts, with_known_labels
from ..runs.train import Watcher, resume, train
from ..training.checkpoints import save_arrays
from ..training.events import Event, read_events
from .results import RESULT

STOPPED = 130


class Stop:
    """Whether to stop: after a signal, or because nobody waits any more."""

    def __init__(self, parent: int) -> None:
        self.parent, self._heard, self._began = parent, False, False
        for kind in (signal.SIGINT, signal.SIGTERM):
            signal.signal(kind, self._hear)

    def asked(self) -> bool:
        """After each step of training, and each batch of judging."""
        return self._heard or os.getppid() != self.parent

    def tell(self, event: Event) -> None:
        """Until training has begun there is nothing to save."""
        self._began = self._began or event.kind in ("start", "resume")

    def check(self, done: int) -> None:
        """Stop in the middle of judging: it is soon done again."""
        if self.asked():
            raise KeyboardInterrupt

    def _hear(self, number: int, frame: FrameType | None) -> None:
        self._heard = True
        if not self._began:
            raise KeyboardInterrupt


def climb(folder: Path, recipe: Recipe, stop: Stop) -> bool:
    """Train the rung, or go on with it, and judge it; false where it was stopped before the end."""
    began = time.monotonic()
    watcher = Watcher(stop.tell, stop.asked)
    if is_trained(folder):
        run = load(folder)
    elif (folder / RECIPE).exists():
        run = resume(folder, watcher=watcher)
    else:
        run = train(recipe, name=folder.name, runs=folder.parent, watcher=watcher)
    if not is_trained(folder):
        return False
    judge(run, stop, began)
    return True


def judge(run: Run, stop: Stop, began: float) -> None:
    """Write down all that the ladder tells of a rung."""
    parts = run.parts or read_parts(run.task, run.recipe.build_data())
    examples = with_known_labels(run.task, parts.test)
    if not examples:
        raise DataError(
            "D022",
            "there is no test part to judge the runs on",
            help=["--set data.test_fraction=0.05, or --test FILE"],
        )
    found = evaluate(run.model, run.task, examples, Search(), stop.check)
    symbols = sum(len(run.task.encode(example).source) for example in found.examples)
    events = run.events()
    facts: dict[str, Any] = {
        "measured": {name: vars(value) for name, value in found.measured().items()},
        "examples": len(found.examples),
        "left_out": len(parts.test) - len(examples),
        "seconds": events[-1].get("seconds", 0.0),
        "wall": time.monotonic() - began,
        "memory": peak_memory(),
        "learned": run.model.size(),
        "bytes": (run.folder / WEIGHTS).stat().st_size,
        "symbols_per_second": symbols / max(found.seconds, 1e-9),
        "curve": list(_curve(events, run.task.headline)),
    }
    arrays = {name: np.array(tallies, dtype=np.float64) for name, tallies in found.tallies.items()}
    save_arrays(run.folder / RESULT, arrays, facts)


def is_trained(folder: Path) -> bool:
    """Whether training came to its end, and was not stopped on the way."""
    events = read_events(folder / EVENTS)
    return bool(events) and events[-1]["kind"] == "end" and "seconds" in events[-1]


def peak_memory() -> int:
    """The most memory this process has held, in bytes.

    What getrusage says counts the parent's memory too, where a process was begun by fork.
    """
    status = Path("/proc/self/status")
    if status.exists():
        for line in status.read_text().splitlines():
            if line.startswith("VmHWM:"):
                return 1024 * int(line.split()[1])
    unit = 1 if platform.system() == "Darwin" else 1024
    return unit * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def _curve(events: list[dict[str, Any]], metric: str) -> Iterator[tuple[float, float]]:
    """Seconds of training and the metric on validation, at every evaluation."""
    seconds, before = 0.0, None
    for event in events:
        if before is not None and event["kind"] != "resume":
            seconds += event["t"] - before
        before = event["t"]
        if event["kind"] == "eval" and metric in event:
            yield round(seconds, 3), event[metric]


def main(folder: str, recipe: str, parent: str) -> int:
    """The exit code: 0 done, 130 stopped; what went wrong is told on stderr."""
    try:
        return 0 if climb(Path(folder), Recipe.read(Path(recipe)), Stop(int(parent))) else STOPPED
    except KeyboardInterrupt:
        return STOPPED
    except SeqloomError as error:
        sys.stderr.write(f"{error.text()}\n")
        return error.exit_code


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
