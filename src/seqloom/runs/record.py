"""What the files of a run tell without loading its model: no torch, no weights.

A process that crashed and one that was killed leave the same files behind, so both have vanished
here; who has started the process may know better.
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
from ..recipe import TABLES, Recipe
from ..training.events import read_events
from .card import best_evaluation, metrics_in
from .run import EVENTS, RECIPE, WEIGHTS

State = Literal["running", "finished", "stopped", "diverged", "vanished", "damaged"]
_STATES: dict[str, State] = {"stopped": "stopped", "diverged": "diverged"}
INSIDE = "~"  # between a ladder, or folds, and a run in it: no run has it in its name


@dataclass(frozen=True)
class Record:
    """A run folder as a reader sees it; `recipe` is empty where it cannot be read."""

    folder: Path
    recipe: Recipe
    events: list[dict[str, Any]]
    state: State

    @property
    def name(self) -> str:
        """What the run is called."""
        return self.folder.name

    @property
    def task(self) -> str:
        """The name of its task."""
        return str(self.recipe.task.get("name", "?"))

    @property
    def model(self) -> str:
        """The name of its model."""
        return str(self.recipe.model.get("name", "?"))

    @cached_property
    def start(self) -> dict[str, Any]:
        """What was said at the start: sizes of the data and of the model."""
        return next((event for event in self.events if event["kind"] == "start"), {})

    @cached_property
    def evaluations(self) -> list[dict[str, Any]]:
        """Every evaluation, in order."""
        return [event for event in self.events if event["kind"] == "eval" and metrics_in(event)]

    @cached_property
    def best(self) -> dict[str, Any] | None:
        """The evaluation whose weights were kept."""
        return best_evaluation(self.evaluations)

    @cached_property
    def headline(self) -> str | None:
        """The most telling metric: evaluations name it first."""
        return next(iter(metrics_in(self.evaluations[0]))) if self.evaluations else None

    @property
    def curve(self) -> list[float]:
        """The headline at every evaluation where it is a number."""
        values = [float(event.get(self.headline or "", math.nan)) for event in self.evaluations]
        return [value for value in values if math.isfinite(value)]

    def age(self) -> float:
        """Seconds since anything last happened."""
        if self.events and "t" in self.events[-1]:
            return max(0.0, time.time() - float(self.events[-1]["t"]))
        return max(0.0, time.time() - _time_of(self.folder / RECIPE))

    def seconds(self) -> float:
        """How long training took: what the end says, else the time between events."""
        if self.events and "seconds" in self.events[-1]:
            return float(self.events[-1]["seconds"])
        pairs = zip(self.events, self.events[1:], strict=False)
        return sum(b["t"] - a["t"] for a, b in pairs if b["kind"] != "resume" and "t" in a)

    def progress(self) -> float | None:
        """The share of training that is done, where training has said so."""
        told = [event["progress"] for event in self.events if "progress" in event]
        return float(told[-1]) if told else None

    def learned(self) -> int | None:
        """How many numbers were learned; a model that counts has none before it has counted."""
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
        """The run for machines, as `seqloom runs --json` prints it."""
        return {
            "name": self.name,
            "folder": str(self.folder),
            "task": self.task,
            "model": self.model,
            "state": self.state,
            "progress": self.progress(),
            "metric": self.headline,
            "best": self.best[self.headline] if self.best and self.headline else None,
            "curve": self.curve,
            "age": self.age(),
        }


def all_runs(runs: Path) -> dict[str, Path]:
    """Every run folder by its id, oldest first; 5-gram in the ladder climb is climb~5-gram."""
    written = [*runs.glob(f"*/{RECIPE}"), *runs.glob(f"*/*/{RECIPE}")]
    folders = [path.parent for path in sorted(written, key=_time_of)]
    names = [folder.relative_to(runs).parts for folder in folders]
    found = zip(names, folders, strict=True)
    return {INSIDE.join(parts): folder for parts, folder in found if parts[0][0] != "."}


def read_record(folder: Path) -> Record:
    """The record of a run; a damaged recipe spoils only its own line."""
    events = read_events(folder / EVENTS)
    try:
        return Record(folder, Recipe.read(folder / RECIPE), events, state_of(folder, events))
    except SeqloomError:
        return Record(folder, Recipe(), events, "damaged")


def shown_metric(name: str, value: float) -> str:
    """A metric's value as people read it."""
    return METRICS[name].show(value)


def shown_bytes(number: int) -> str:
    """A size on disk: 812 B, 38 kB, 9.1 MB."""
    for limit, name in ((10**9, "GB"), (10**6, "MB"), (10**3, "kB")):
        if number >= limit:
            value = number / limit
            return f"{value:.1f} {name}" if value < 9.95 else f"{value:,.0f} {name}"
    return f"{number} B"


def to_json(thing: Any) -> str:
    """One line of JSON; what is not a number is null, as JSON has no word for it."""
    return json.dumps(_plain(thing), ensure_ascii=False, allow_nan=False)


def state_of(folder: Path, events: list[dict[str, Any]]) -> State:
    """How training stands; a process that died left neither an end nor a lock."""
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
    """When a file was written; one that is deleted meanwhile is the oldest."""
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
