"""The rungs of a task's ladder, from simple to large: a table of data, no code.

recipes/ladder/TASK.toml holds, beside [task] and [training] for all rungs, a table for each:

[rungs.NAME]
model     its [model] table
training  its [training] table, over that of all; left out: nothing more
share     of the time that is left once the rungs without a share are done; left out: none

Where it begins with `against = NAME`, the others are measured by that rung, and with
`beside = { METRIC = HEADING }` the table shows these metrics, too.
"""

import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from .errors import UsageError, unknown
from .models import MODELS
from .recipe import SHIPPED, Recipe, Table

LADDERS = SHIPPED / "ladder"
KEYS = {"model", "training", "share"}
SETTABLE = ("data", "task", "training")
CLOCK = "training.max_time"


@dataclass(frozen=True)
class Rung:
    """One model of a ladder, how it learns, and its share of the time; 0: what it takes."""

    name: str
    model: Table
    training: Table = field(default_factory=dict)
    share: float = 0.0


@dataclass(frozen=True)
class Ladder:
    """The rungs of a task, what they have in common, and which one others are measured by."""

    task: Table
    rungs: tuple[Rung, ...]
    against: str = ""
    beside: Mapping[str, str] = field(default_factory=dict)  # metrics, and their headings

    def of(self, wanted: Iterable[str]) -> "Ladder":
        """Only the rungs of these names, or of the models of these names; all where none is."""
        names = list(wanted)
        known = {word for rung in self.rungs for word in (rung.name, str(rung.model["name"]))}
        for name in names:
            if name not in known:
                raise unknown("rung", name, [rung.name for rung in self.rungs])
        chosen = [r for r in self.rungs if not names or {r.name, r.model["name"]} & set(names)]
        return replace(self, rungs=tuple(chosen))

    def simple(self) -> list[str]:
        """The rungs that must be beaten to be worth it, where one is there to measure others by."""
        if not self.against:
            return []
        return [r.name for r in self.rungs if MODELS.find(str(r.model["name"])).is_baseline]

    def recipe(self, rung: Rung, data: Table, settings: Mapping[str, Any]) -> Recipe:
        """What a rung trains, with what the user set for all of them."""
        for path in settings:
            if path.partition(".")[0] not in SETTABLE or path == CLOCK:
                raise UsageError(
                    "U041",
                    f"--set {path}: a ladder sets this for each rung by itself",
                    help=[
                        f"{', '.join(SETTABLE)} can be set for all rungs; the time by --max-time"
                    ],
                )
        recipe = Recipe(data=data, task=self.task, model=rung.model, training=rung.training)
        return recipe.with_settings(settings).checked()


def ladder_of(task: str) -> Ladder:
    """The ladder of a task."""
    known = ladders()
    if task not in known:
        raise UsageError(
            "U040",
            f"there is no ladder for {task!r}",
            help=[f"tasks with a ladder: {', '.join(known)}", f"seqloom train {task} FILE"],
        )
    return read_ladder(known[task])


def ladders() -> dict[str, Path]:
    """The files of the ladders, by task."""
    return {path.stem: path for path in sorted(LADDERS.glob("*.toml"))}


def read_ladder(path: Path) -> Ladder:
    """The ladder in a file; its name is the task's."""
    tables = tomllib.loads(path.read_text(encoding="utf-8"))
    common = tables.get("training", {})
    rungs = []
    for name, table in tables["rungs"].items():
        if table.keys() - KEYS:
            raise ValueError(f"{path}: [rungs.{name}] takes {', '.join(sorted(KEYS))}")
        training = common | table.get("training", {})
        rungs.append(Rung(name, table["model"], training, float(table.get("share", 0.0))))
    against = str(tables.get("against", ""))
    if against and against not in tables["rungs"]:
        raise ValueError(f"{path}: there is no rung {against!r} to measure others by")
    task = {"name": path.stem, **tables.get("task", {})}
    return Ladder(task, tuple(rungs), against, tables.get("beside", {}))


def without_missing(ladder: Ladder) -> tuple[Ladder, list[str]]:
    """The rungs whose models are there, and the names of the others."""
    known = set(MODELS)
    missing = [
        rung.name
        for rung in ladder.rungs
        if rung.model["name"] not in known and ".py:" not in rung.model["name"]
    ]
    kept = tuple(rung for rung in ladder.rungs if rung.name not in missing)
    return replace(ladder, rungs=kept), missing
