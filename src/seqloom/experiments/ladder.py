"""The rungs of a ladder one after another, under one budget of time: the work behind `ladder`.

A ladder is a folder, and what is done in it stays done:

ladder.json          the task, the rungs, the time, and how it was shared out
rungs/NAME.toml      the recipe of each rung
NAME/                the run of each rung; judged.safetensors in it once it was judged
table.json           what came of it

The rungs of a task's ladder, from simple to large: a table of data, no code.

recipes/ladder/TASK.toml holds, beside [task] and [training] for all rungs, a table for each:

[rungs.NAME]
model     its [model] table
training  its [training] table, over that of all; left out: nothing more
share     of the time that is left once the rungs without a share are done; left out: none

Where it begins with `against = NAME`, the others are measured by that rung, and with
`beside = { METRIC = HEADING }` the table shows these metrics, too.
"""

import json
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from ..errors import UsageError, nearest, unknown
from ..models import MODELS
from ..recipe import SHIPPED, Recipe, Table
from ..runs.run import RUNS
from ..runs.splits import read_parts
from ..training.checkpoints import locked, write_whole
from ..training.options import Training
from .queue import Ending, Onlooker, Series, series_folder
from .results import Climb, read_climbed

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


PLAN, TABLE, RECIPES = "ladder.json", "table.json", "rungs"
STEPS_SHARE = 0.85  # of the time, for the steps; the rest is reading and judging
LEAST_SHARE = 0.1  # of the time is left to those who share it, however long counting took
EVALUATIONS = 8  # of each rung that shares the time


@dataclass
class Plan:
    """What a ladder is to do; kept in its folder, so that it can go on."""

    task: str
    metric: str
    budget: float
    shares: dict[str, float]
    notes: list[str] = field(default_factory=list)
    seconds: dict[str, float] = field(default_factory=dict)  # of those who share, once known
    against: str = ""  # the rung that others are measured by
    simple: list[str] = field(default_factory=list)  # the rungs that must be beaten to be worth it
    beside: dict[str, str] = field(default_factory=dict)  # metrics that are shown, with headings

    def series(self, folder: Path) -> Series:
        """The rungs in order, by the shares of time.

        Those who take what they take come first: what they leave is shared.
        """
        order = sorted(self.shares, key=lambda name: self.shares[name] > 0)
        weights = {name: self.shares[name] or 0.01 for name in order}
        return Series(folder, RECIPES, self.metric, weights)


def ladder(  # noqa: PLR0913 - keyword-only but for the first two
    task: str,
    file: str | Path,
    *,
    max_time: str = "15m",
    models: Iterable[str] = (),
    name: str = "",
    runs: str | Path = RUNS,
    settings: Mapping[str, Any] | None = None,
    onlooker: Onlooker | None = None,
) -> Climb:
    """Train the rungs of a task's ladder on the same text, split and measure, and compare them.

    `models` are names of rungs, or of models; `settings` are for all rungs.
    """
    folder = prepare(task, file, max_time, models, name, Path(runs), settings or {})
    return climb(folder, onlooker or Onlooker())


def prepare(  # noqa: PLR0913, PLR0917 - all that a ladder is
    task: str,
    file: str | Path,
    max_time: str,
    models: Iterable[str],
    name: str,
    runs: Path,
    settings: Mapping[str, Any],
) -> Path:
    """A folder with everything that is to be done, checked before the first rung begins."""
    budget = Training(max_time=max_time).seconds()
    if not 0 < budget < float("inf"):
        raise UsageError("U042", f"--max-time {max_time}: a ladder needs more than no time")
    found, missing = without_missing(ladder_of(task))
    found = found.of(models)
    recipes = {
        rung.name: found.recipe(rung, {"train": str(file)}, settings).with_files(
            lambda path: Path(path).resolve()  # they are kept in another folder
        )
        for rung in found.rungs
    }
    lowest = next(iter(recipes.values()))
    first = lowest.build_task()
    parts = read_parts(first, lowest.build_data())  # a file that no rung could read is told once
    first.prepare(parts.train)  # what answers are judged by may follow from the data
    notes = [f"left out, as their models are not here: {', '.join(missing)}"] if missing else []
    shares = {rung.name: rung.share for rung in found.rungs}
    plan = Plan(task, first.headline, budget, shares, notes)
    plan.against, plan.simple, plan.beside = found.against, found.simple(), dict(found.beside)
    resume = "seqloom ladder --resume"
    folder = series_folder(name, "ladder", runs, word="a ladder", resume=resume)
    for rung, recipe in recipes.items():
        write_whole(folder / RECIPES / f"{rung}.toml", recipe.to_toml().encode())
    _write_plan(folder, plan)
    return folder


def climb(folder: Path, onlooker: Onlooker) -> Climb:
    """Train and judge every rung that is not done yet; what is done is kept whatever happens."""
    plan, ending = _read_plan(folder), Ending()
    series = plan.series(folder)
    with locked(folder):
        try:
            ending = series.train(onlooker, lambda rung: _share_out(folder, plan, rung))
        finally:
            came = _came(folder, plan, ending)
            write_whole(folder / TABLE, json.dumps(came.as_dict(), ensure_ascii=False).encode())
    return came


def find_ladder(name: str, runs: Path = RUNS) -> Path:
    """The folder of a ladder: a path, a name in the runs folder, or else the newest."""
    known = sorted(runs.glob(f"*/{PLAN}"), key=lambda path: path.stat().st_mtime)
    for folder in (Path(name), runs / name) if name else [path.parent for path in known[-1:]]:
        if (folder / PLAN).is_file():
            return folder
    names = [path.parent.name for path in known]
    near = nearest(name, names)
    hints = [f"did you mean {near!r}?"] if near else []
    hints += (
        [f"you have: {', '.join(names)}"] if names else ["seqloom ladder TASK FILE   makes one"]
    )
    what = f"there is no ladder called {name!r}" if name else f"there is no ladder in {runs}"
    raise UsageError("U043", what, help=hints)


def _share_out(folder: Path, plan: Plan, rung: str) -> None:
    """Before the first rung with a share, what is left of the time is given out once and for all.

    It is written into their recipes, so that a ladder that was stopped goes on as it began.
    """
    sharing = {name: share for name, share in plan.shares.items() if share > 0}
    if plan.seconds or not sharing or plan.shares[rung] == 0:
        return
    others = [read_climbed(folder / name) for name in plan.shares if name not in sharing]
    spent = sum(climbed.wall for climbed in others if climbed is not None)
    rest = max(plan.budget - spent, LEAST_SHARE * plan.budget) * STEPS_SHARE
    for name, share in sharing.items():
        seconds = rest * share / sum(sharing.values())
        path = folder / RECIPES / f"{name}.toml"
        given = Recipe.read(path).with_settings(
            {
                "training.max_time": f"{seconds:.1f}s",
                "training.evaluate_seconds": round(max(0.5, seconds / EVALUATIONS), 1),
            }
        )
        write_whole(path, given.to_toml().encode())
        plan.seconds[name] = seconds
    _write_plan(folder, plan)


def _came(folder: Path, plan: Plan, ending: Ending) -> Climb:
    """What there is so far, in the order of the ladder."""
    found = {name: read_climbed(folder / name) for name in plan.shares}
    done = [climbed for climbed in found.values() if climbed is not None]
    failed, stopped = ending.failed, ending.is_stopped
    left = [name for name, climbed in found.items() if climbed is None and name not in failed]
    came = Climb(
        folder, plan.task, plan.metric, plan.budget, done, failed, left, plan.notes, stopped
    )
    return replace(came, against=plan.against, simple=plan.simple, beside=plan.beside)


def _write_plan(folder: Path, plan: Plan) -> None:
    write_whole(folder / PLAN, json.dumps(vars(plan), ensure_ascii=False).encode())


def _read_plan(folder: Path) -> Plan:
    try:
        return Plan(**json.loads((folder / PLAN).read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError) as error:
        raise UsageError(
            "U043", f"{folder / PLAN} is damaged", notes=[str(error)], help=["begin a new ladder"]
        ) from error
