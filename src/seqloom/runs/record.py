"""Run records: state, metrics and sizes of a run, read from its files without loading the model.

A training process that crashed and one that was killed leave the same files behind, so the state of
both is "vanished"; the program that started the process may know more.
"""

import fcntl
import json
import math
import time
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

from safetensors import SafetensorError, safe_open

from ..errors import SeqloomError
from ..metrics import METRICS
from ..recipe import TABLES, Recipe, without_folder
from ..training.events import read_events
from .card import best_evaluation, metrics_in
from .names import RECIPE
from .run import EVENTS, WEIGHTS

State = Literal["running", "finished", "stopped", "diverged", "vanished", "damaged"]
_STATES: dict[str, State] = {"stopped": "stopped", "diverged": "diverged"}
SEPARATOR = "~"  # between the name of a ladder or folds and that of a run in it; not in run names


@dataclass(frozen=True)
class Record:
    """The recipe, events and state of a run folder; `recipe` is empty if it cannot be read."""

    folder: Path
    recipe: Recipe
    events: list[dict[str, Any]]
    state: State

    @property
    def name(self) -> str:
        """The name of the run."""
        return self.folder.name

    @property
    def task(self) -> str:
        """The name of its task."""
        return without_folder(str(self.recipe.task.get("name", "?")))

    @property
    def model(self) -> str:
        """The name of its model."""
        return without_folder(str(self.recipe.model.get("name", "?")))

    @cached_property
    def start(self) -> dict[str, Any]:
        """The start event: sizes of the data and of the model."""
        return next((event for event in self.events if event["kind"] == "start"), {})

    @cached_property
    def evaluations(self) -> list[dict[str, Any]]:
        """The evaluation events, in order."""
        return [event for event in self.events if event["kind"] == "eval" and metrics_in(event)]

    @cached_property
    def best(self) -> dict[str, Any] | None:
        """The evaluation event whose weights were saved as the best."""
        return best_evaluation(self.evaluations)

    @cached_property
    def primary_metric(self) -> str | None:
        """The primary metric, which comes first in evaluation events."""
        return next(iter(metrics_in(self.evaluations[0]))) if self.evaluations else None

    @property
    def curve(self) -> list[float]:
        """The primary metric at every evaluation where it is finite."""
        values = [event.get(self.primary_metric or "", math.nan) for event in self.evaluations]
        return [float(value) for value in values if math.isfinite(value)]

    @property
    def best_value(self) -> float | None:
        """The primary metric of the best evaluation."""
        return self.best.get(self.primary_metric or "") if self.best else None

    def age(self) -> float:
        """Seconds since the last event."""
        if self.events and "t" in self.events[-1]:
            return max(0.0, time.time() - float(self.events[-1]["t"]))
        return max(0.0, time.time() - _time_of(self.folder / RECIPE))

    def seconds(self) -> float:
        """Training time in seconds: that of the end event, or else the time between events."""
        if self.events and "seconds" in self.events[-1]:
            return float(self.events[-1]["seconds"])
        timed = [event for event in self.events if "t" in event]
        pairs = zip(timed, timed[1:], strict=False)
        return float(sum(b["t"] - a["t"] for a, b in pairs if b["kind"] != "resume"))

    def progress(self) -> float | None:
        """The fraction of training that is done; None if unknown."""
        values = [event["progress"] for event in self.events if "progress" in event]
        return float(values[-1]) if values else None

    def num_parameters(self) -> int | None:
        """The number of parameters; a closed-form model has none before it is trained.

        That of the end event, which runs of long ago do not have: of those the numbers in the file.
        """
        if self.events and self.events[-1]["kind"] == "end" and "size" in self.events[-1]:
            return int(self.events[-1]["size"])
        if not (self.folder / WEIGHTS).is_file():
            return self.start.get("size")
        try:
            with safe_open(self.folder / WEIGHTS, framework="numpy") as file:
                shapes = [file.get_slice(name).get_shape() for name in file.keys()]  # noqa: SIM118
        except (OSError, SafetensorError):
            return self.start.get("size")
        return sum(math.prod(shape) for shape in shapes)

    def weights_bytes(self) -> int:
        """The size of the weights on disk."""
        path = self.folder / WEIGHTS
        return path.stat().st_size if path.exists() else 0

    def folder_bytes(self) -> int:
        """The size of everything in the folder."""
        return sum(path.stat().st_size for path in self.folder.rglob("*") if path.is_file())

    def settings(self) -> dict[str, Any]:
        """Every setting of the recipe as `table.key`."""
        return {
            f"{table}.{key}": value
            for table in TABLES
            for key, value in getattr(self.recipe, table).items()
        }

    def as_dict(self) -> dict[str, Any]:
        """The record as JSON, as `seqloom runs --json` prints it."""
        return {
            "name": self.name,
            "folder": str(self.folder),
            "task": self.task,
            "model": self.model,
            "state": self.state,
            "progress": self.progress(),
            "metric": self.primary_metric,
            "best": self.best_value,
            "curve": self.curve,
            "age": self.age(),
        }


def all_runs(runs: Path) -> dict[str, Path]:
    """Every run folder by id, oldest first; `5-gram` in the ladder `climb` is `climb~5-gram`."""
    written = [*runs.glob(f"*/{RECIPE}"), *runs.glob(f"*/*/{RECIPE}")]
    folders = [path.parent for path in sorted(written, key=_time_of)]
    names = [folder.relative_to(runs).parts for folder in folders]
    found = zip(names, folders, strict=True)
    return {SEPARATOR.join(parts): folder for parts, folder in found if parts[0][0] != "."}


def read_record(folder: Path) -> Record:
    """The record of a run; if a file of it cannot be read, its state is "damaged"."""
    try:
        events = read_events(folder / EVENTS)
    except OSError:
        return Record(folder, Recipe(), [], "damaged")
    for file in (folder / RECIPE, folder / EVENTS):
        if file.exists() and not file.is_file():  # a pipe would be read for ever
            return Record(folder, Recipe(), events, "damaged")
    try:
        return Record(folder, Recipe.read(folder / RECIPE), events, state_of(folder, events))
    except SeqloomError:
        return Record(folder, Recipe(), events, "damaged")


def shown_metric(name: str, value: float) -> str:
    """A metric's value, formatted."""
    return METRICS[name].show(value)


def shown_bytes(number: int) -> str:
    """A size on disk: 812 B, 38 kB, 9.1 MB."""
    for limit, name in ((10**9, "GB"), (10**6, "MB"), (10**3, "kB")):
        if number >= limit:
            value = number / limit
            return f"{value:.1f} {name}" if value < 9.95 else f"{value:,.0f} {name}"
    return f"{number} B"


def to_json(thing: Any) -> str:
    """One line of JSON; NaN and infinity become null."""
    return json.dumps(_plain(thing), ensure_ascii=False, allow_nan=False)


def state_of(folder: Path, events: list[dict[str, Any]]) -> State:
    """The state of training; a process that died left neither an end event nor a lock."""
    if is_locked(folder):
        return "running"
    if not events or events[-1]["kind"] != "end":
        return "vanished"
    return _STATES.get(str(events[-1].get("reason")), "finished")


def is_locked(folder: Path) -> bool:
    """Whether a training process holds the folder."""
    try:
        with (folder / "lock").open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
            fcntl.flock(file, fcntl.LOCK_UN)
    except BlockingIOError:
        return True
    except OSError:
        return False
    return False


def _time_of(path: Path) -> float:
    """The modification time of a file; 0 if it has been deleted meanwhile."""
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0


def _plain(thing: Any) -> Any:
    if isinstance(thing, dict):
        return {str(key): _plain(value) for key, value in thing.items()}
    if isinstance(thing, list | tuple):
        return [_plain(value) for value in thing]
    if isinstance(thing, float) and not math.isfinite(thing):
        return None
    return thing
