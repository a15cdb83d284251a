"""Every run in the folder, read again only where its files have changed.

Ids are looked up here and never joined into a path: what is not in the listing is not there.

Names that come through the web are names in a list.

On the command line the name of a task or a model may be a class in a Python file of one's own,
which is run to find it. A web page must never have that: here no name is looked up but in the list.
"""

import json
import threading
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

from ..errors import UsageError, nearest, unknown
from ..metrics import METRICS
from ..runs.record import INSIDE, Record, all_runs, is_locked, read_record, state_of
from ..runs.run import EVENTS, RECIPE, WEIGHTS
from .jobs import Jobs, Step


def must_be_listed(what: str, name: object, names: Iterable[str]) -> None:
    """Refuse what is not in the list, without asking the list for it: that could run a file."""
    if not isinstance(name, str) or name not in list(names):
        raise unknown(what, str(name)[:200], names)


State = Literal[
    "running",
    "finished",
    "stopped",
    "diverged",
    "crashed",
    "vanished",
    "damaged",
    "waiting",
]
LOCK, PROBES = "lock", "probes"
CURVE = 60  # points of the small curve in a list
STOPPED = (129, 130, 143)  # exit codes of a training that a signal has ended in order

Stamp = tuple[int, ...]


class Shelf:
    """The runs of a folder, and those that a job is still to begin."""

    def __init__(self, runs: Path, jobs: Jobs) -> None:
        self.runs, self.jobs = runs, jobs
        self._records: dict[Path, tuple[Stamp, Record]] = {}
        self._lock = threading.Lock()

    def folders(self) -> dict[str, Path]:
        """Every run that has begun, oldest first."""
        return all_runs(self.runs)

    def ids(self) -> list[str]:
        """Every run, also those that wait; the newest first."""
        begun = self.folders()
        return [name for name in self.jobs.steps() if name not in begun] + list(begun)[::-1]

    def folder(self, name: str) -> Path:
        """The folder of a run that has begun."""
        found = self.folders()
        if name not in found:
            raise self.missing(name)
        return found[name]

    def known(self, name: str) -> tuple[Path | None, Step | None]:
        """The folder of a run and the job that works on it; one of them may be missing."""
        folder, step = self.folders().get(name), self.jobs.steps().get(name)
        if folder is None and step is None:
            raise self.missing(name)
        return folder, step

    def missing(self, name: str) -> UsageError:
        """There is no such run; perhaps another was meant."""
        near = nearest(name[:100], self.ids())
        hints = [f"did you mean {near!r}?"] if near else []
        return UsageError("U008", f"there is no run called {name[:100]!r}", help=hints)

    def record(self, folder: Path) -> Record:
        """What the files of a run tell."""
        with self._lock:
            stamp, (before, record) = _stamp(folder), self._records.get(folder, ((), None))
            if record is None or before != stamp:
                record = read_record(folder)
            elif record.state == "running" and not is_locked(folder):
                record = replace(record, state=state_of(folder, record.events))
            self._records[folder] = stamp, record
            return record

    def state(self, name: str) -> State:
        """How a run stands, by its files and by what the job says that works on it."""
        folder, step = self.known(name)
        return stands(self.record(folder) if folder else None, step)

    def rows(self) -> list[dict[str, Any]]:
        """A line for each run, the newest first."""
        begun, steps = self.folders(), self.jobs.steps()
        waiting = [waiting_row(name, step) for name, step in steps.items() if name not in begun]
        newest = list(begun.items())[::-1]
        return waiting + [self.row(name, folder, steps.get(name)) for name, folder in newest]

    def row(self, name: str, folder: Path, step: Step | None) -> dict[str, Any]:
        """A line of the list of runs."""
        record = self.record(folder)
        metric, best = record.headline, record.best
        value = best[metric] if best and metric else None
        return {
            "id": name,
            "name": name.replace(INSIDE, "/"),
            "task": record.task,
            "model": record.model,
            "state": stands(record, step),
            "progress": record.progress(),
            "metric": metric,
            "metric_title": METRICS[metric].title if metric else None,
            "best": value,
            "best_shown": METRICS[metric].show(value) if metric and value is not None else None,
            "curve": _thinned(record.curve),
            "age": _or(record.age, 0.0),
            "seconds": record.seconds(),
            "learned": record.learned(),
            "has_weights": (folder / WEIGHTS).is_file(),
        }


def waiting_row(name: str, step: Step) -> dict[str, Any]:
    """The line of a run that has no folder yet."""
    nothing = dict.fromkeys(("progress", "metric", "metric_title", "best", "best_shown", "learned"))
    told = {"id": name, "name": name, "task": step.task, "model": step.model}
    return {
        **told,
        "state": stands(None, step),
        **nothing,
        "curve": [],
        "age": step.age(),
        "seconds": 0.0,
        "has_weights": False,
    }


def stands(record: Record | None, step: Step | None) -> State:
    """The state of a run from its files, corrected by the job where that knows better."""
    if record is not None and (step is None or record.state in ("running", "damaged")):
        return record.state
    if step is None:
        return "vanished"
    if step.exit_code is None:
        return "waiting" if step.is_alive else (record.state if record else "vanished")
    if record is not None and record.state != "vanished":
        return record.state
    if step.exit_code in STOPPED:
        return "stopped"
    is_newer = record is None or step.ended >= _began(record.folder)
    return "crashed" if step.exit_code > 0 and is_newer else "vanished"


def probes_of(folder: Path) -> dict[str, Any]:
    """The steps at which probes were kept, the inputs that were asked, and the views of them."""
    files = sorted((folder / PROBES).glob("step-*.json"))
    steps = [int(file.stem.removeprefix("step-")) for file in files if file.stem[5:].isdigit()]
    inputs: list[str] = []
    views: list[str] = []
    if files:
        try:
            kept = json.loads(files[-1].read_text(encoding="utf-8"))
            inputs = [str(one["text"]) for one in kept["inputs"]]
            views = sorted({view for one in kept["inputs"] for view in one["views"]})
        except (OSError, ValueError, KeyError, TypeError):
            steps = []
    return {"steps": steps, "inputs": inputs, "views": views}


def _stamp(folder: Path) -> Stamp:
    """Changes whenever a file changes that a record is read from."""
    found: list[int] = []
    for name in (RECIPE, EVENTS, LOCK, WEIGHTS):
        try:
            status = (folder / name).stat()
        except OSError:
            found += (0, 0)
        else:
            found += (status.st_mtime_ns, status.st_size)
    return tuple(found)


def _began(folder: Path) -> float:
    """When a process last took the folder."""
    return _or(lambda: (folder / LOCK).stat().st_mtime, 0.0)


def _or(ask: Callable[[], float], otherwise: float) -> float:
    """A number that comes from a file, which may be gone meanwhile."""
    try:
        return ask()
    except OSError:
        return otherwise


def _thinned(values: list[float]) -> list[float]:
    """At most so many of the values, evenly taken, the last one kept."""
    if len(values) <= CURVE:
        return values
    return [values[(place + 1) * len(values) // CURVE - 1] for place in range(CURVE)]
