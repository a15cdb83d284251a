"""The run store: every run folder, cached and read again only when its files change.

Run ids from requests are looked up in the directory listing and never joined into a path. Names of
tasks and models are looked up in their registries only: the command line also takes a class in a
Python file (`model.py:Model`) and runs that file, which a web page must never be able to do.
"""

import json
import re
import threading
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

from ..errors import UsageError, nearest, unknown
from ..metrics import METRICS
from ..recipe import Recipe
from ..runs.names import RECIPE
from ..runs.record import SEPARATOR, Record, all_runs, is_locked, read_record, state_of
from ..runs.run import EVENTS, WEIGHTS
from .jobs import Jobs, JobStep


def check_listed(what: str, name: object, names: Iterable[str]) -> None:
    """Refuse an unregistered name without indexing the registry, which could run a file."""
    if not isinstance(name, str) or name not in list(names):
        raise unknown(what, str(name)[:200], names)


RunState = Literal[
    "running",
    "finished",
    "stopped",
    "diverged",
    "crashed",
    "vanished",
    "damaged",
    "waiting",
]
LOCK, SNAPSHOTS = "lock", "probes"
CURVE_POINTS = 60  # of the sparkline in a list
STOPPED = (129, 130, 143)  # exit codes after SIGHUP, SIGINT and SIGTERM

Stamp = tuple[int, ...]


class RunStore:
    """The runs of a folder, and the runs that are queued in a job."""

    def __init__(self, runs: Path, jobs: Jobs) -> None:
        self.runs, self.jobs = runs, jobs
        self._records: dict[Path, tuple[Stamp, Record]] = {}
        self._lock = threading.Lock()

    def folders(self) -> dict[str, Path]:
        """The folders of all runs that have started, by id, oldest first."""
        return all_runs(self.runs)

    def ids(self) -> list[str]:
        """The ids of all runs, queued ones included, newest first."""
        started = self.folders()
        return [name for name in self.jobs.steps() if name not in started] + list(started)[::-1]

    def folder(self, name: str) -> Path:
        """The folder of a run that has started."""
        folders = self.folders()
        if name not in folders:
            raise self.not_found(name)
        return folders[name]

    def find(self, name: str) -> tuple[Path | None, JobStep | None]:
        """The folder of a run and its step in a job; one of them may be missing."""
        folder, step = self.folders().get(name), self.jobs.steps().get(name)
        if folder is None and step is None:
            raise self.not_found(name)
        return folder, step

    def not_found(self, name: str) -> UsageError:
        """The error for an unknown id, with the nearest one as a suggestion."""
        near = nearest(name[:100], self.ids())
        hints = [f"did you mean {near!r}?"] if near else []
        return UsageError("U008", f"there is no run called {name[:100]!r}", help=hints)

    def record(self, folder: Path) -> Record:
        """The metadata of a run, cached until one of its files changes."""
        with self._lock:
            stamp, (before, record) = _stamp(folder), self._records.get(folder, ((), None))
            if record is None or before != stamp:
                record = read_record(folder)
            elif record.state == "running" and not is_locked(folder):
                record = replace(record, state=state_of(folder, record.events))
            self._records[folder] = stamp, record
            return record

    def state(self, name: str) -> RunState:
        """The state of a run, from its files and from its job."""
        folder, step = self.find(name)
        return run_state(self.record(folder) if folder else None, step)

    def rows(self) -> list[dict[str, Any]]:
        """A summary of each run, newest first."""
        started, steps = self.folders(), self.jobs.steps()
        waiting = [waiting_row(name, step) for name, step in steps.items() if name not in started]
        newest = list(started.items())[::-1]
        return waiting + [self.row(name, folder, steps.get(name)) for name, folder in newest]

    def row(self, name: str, folder: Path, step: JobStep | None) -> dict[str, Any]:
        """The summary of one run; whatever is in its folder, it takes no other run off the list."""
        try:
            record = self.record(folder)
            return self._row(name, record, run_state(record, step))
        except Exception:  # a folder that nobody thought of
            return self._row(name, Record(folder, Recipe(), [], "damaged"), "damaged")

    def _row(self, name: str, record: Record, state: RunState) -> dict[str, Any]:
        metric, value = record.primary_metric, record.best_value
        return {
            "id": name,
            "name": name.replace(SEPARATOR, "/"),
            "task": record.task,
            "model": record.model,
            "state": state,
            "progress": record.progress(),
            "metric": metric,
            "metric_title": METRICS[metric].title if metric else None,
            "best": value,
            "best_shown": METRICS[metric].show(value) if metric and value is not None else None,
            "curve": _downsample(record.curve),
            "age": _value_or(record.age, 0.0),
            "seconds": record.seconds(),
            "learned": record.num_parameters(),
            "has_weights": (record.folder / WEIGHTS).is_file(),
        }


def waiting_row(name: str, step: JobStep) -> dict[str, Any]:
    """The summary of a run that has no folder yet."""
    nothing = dict.fromkeys(("progress", "metric", "metric_title", "best", "best_shown", "learned"))
    return {
        "id": name,
        "name": name,
        "task": step.task,
        "model": step.model,
        "state": run_state(None, step),
        **nothing,
        "curve": [],
        "age": step.age(),
        "seconds": 0.0,
        "has_weights": False,
    }


def run_state(record: Record | None, step: JobStep | None) -> RunState:
    """The state of a run from its files, corrected by the exit code of its job."""
    kept: RunState = record.state if record is not None else "vanished"
    if step is None or kept in ("running", "damaged"):
        return kept
    if step.exit_code is None and step.is_alive:
        # Its process begins before it has the lock of the run, and evaluates after it has given it
        # back: it is neither waiting nor over.
        return "waiting" if step.pid is None else "running"
    if step.exit_code is None or kept != "vanished":
        return kept
    if step.exit_code in STOPPED:
        return "stopped"
    is_newer = record is None or step.ended >= _locked_at(record.folder)
    return "crashed" if step.exit_code > 0 and is_newer else "vanished"


def snapshots_of(folder: Path) -> dict[str, Any]:
    """The training snapshots of a run: their steps, inputs and views."""
    files = sorted((folder / SNAPSHOTS).glob("step-*.json"))
    steps = [int(file.stem[5:]) for file in files if re.fullmatch("[0-9]{1,16}", file.stem[5:])]
    inputs: list[str] = []
    views: list[str] = []
    if files:
        try:
            last = json.loads(files[-1].read_text(encoding="utf-8"))
            inputs = [str(one["text"]) for one in last["inputs"]]
            views = sorted({view for one in last["inputs"] for view in one["views"]})
        except (OSError, ValueError, KeyError, TypeError, RecursionError):
            steps = []
    return {"steps": steps, "inputs": inputs, "views": views}


def _stamp(folder: Path) -> Stamp:
    """Modification times and sizes of the files that a record is read from."""
    stamp: list[int] = []
    for name in (RECIPE, EVENTS, LOCK, WEIGHTS):
        try:
            status = (folder / name).stat()
        except OSError:
            stamp += (0, 0)
        else:
            stamp += (status.st_mtime_ns, status.st_size)
    return tuple(stamp)


def _locked_at(folder: Path) -> float:
    """When a process last took the lock of the folder."""
    return _value_or(lambda: (folder / LOCK).stat().st_mtime, 0.0)


def _value_or(read: Callable[[], float], default: float) -> float:
    """A number read from a file; the default where the file has been deleted meanwhile."""
    try:
        return read()
    except OSError:
        return default


def _downsample(values: list[float]) -> list[float]:
    """At most CURVE_POINTS of the values, evenly spaced, the last one included."""
    if len(values) <= CURVE_POINTS:
        return values
    return [values[(i + 1) * len(values) // CURVE_POINTS - 1] for i in range(CURVE_POINTS)]
