"""Model ladder: train models from simple to large on one task under one time budget.

Used by `seqloom ladder`. The models of a ladder are its rungs. A ladder is a folder, and an
interrupted one can be resumed:

ladder.json          the plan: task, rungs, time budget and how it is divided
rungs/NAME.toml      the recipe of each rung
NAME/                the run of each rung; its test results in judged.safetensors
table.json           the results

The rungs of each task are data, in recipes/ladder/TASK.toml. Beside [task] and [training] for all
rungs, it has a table for each:

[rungs.NAME]
model     its [model] table
training  its [training] table, which overrides that of all rungs; optional
share     its share of the time that the rungs without a share leave; optional

With `against = NAME` at the top, skill scores are relative to that rung; with
`beside = { METRIC = HEADING }` the table shows these metrics too.
"""

import json
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from ..config import as_strings
from ..errors import UsageError, nearest, unknown
from ..models import MODELS
from ..recipe import SHIPPED, Recipe, Table
from ..runs.names import RUNS
from ..runs.splits import read_parts
from ..training.files import locked, write_whole
from ..training.options import Training
from .queue import QueueCallback, QueueOutcome, RunQueue, queue_folder, whole_or_none
from .results import LadderResult, read_result

LADDERS = SHIPPED / "ladder"
KEYS = {"model", "training", "share"}
SETTABLE = ("data", "task", "training")
CLOCK = "training.max_time"


@dataclass(frozen=True)
class Rung:
    """A model of a ladder, its training settings and its share of the time; 0: no limit."""

    name: str
    model: Table
    training: Table = field(default_factory=dict)
    share: float = 0.0


@dataclass(frozen=True)
class Ladder:
    """The rungs of a task, their common settings, and the reference rung of the skill score."""

    task: Table
    rungs: tuple[Rung, ...]
    against: str = ""
    beside: Mapping[str, str] = field(default_factory=dict)  # additional metrics and their headings

    def select(self, wanted: Iterable[str]) -> "Ladder":
        """The ladder with only the rungs of these names or model names; all if there are none."""
        names = as_strings(wanted or ())
        known = {word for rung in self.rungs for word in (rung.name, str(rung.model["name"]))}
        for name in names:
            if name not in known:
                raise unknown("rung", name, [rung.name for rung in self.rungs])
        chosen = [r for r in self.rungs if not names or {r.name, r.model["name"]} & set(names)]
        return replace(self, rungs=tuple(chosen))

    def baselines(self) -> list[str]:
        """The baseline rungs, if the ladder has a reference rung."""
        if not self.against:
            return []
        return [r.name for r in self.rungs if MODELS.find(str(r.model["name"])).is_baseline]

    def recipe(self, rung: Rung, data: Table, settings: Mapping[str, Any]) -> Recipe:
        """The recipe of a rung, with the user's settings for all rungs."""
        for path in settings:
            if path.partition(".")[0] not in SETTABLE or path == CLOCK:
                raise UsageError(
                    "U041",
                    f"--set {path}: a ladder sets this for each rung",
                    help=[
                        f"{', '.join(SETTABLE)} can be set for all rungs, the time by --max-time"
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
    """The ladder in a file, whose name is that of the task."""
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
        raise ValueError(f"{path}: there is no rung {against!r} for against")
    task = {"name": path.stem, **tables.get("task", {})}
    return Ladder(task, tuple(rungs), against, tables.get("beside", {}))


def without_missing(ladder: Ladder) -> tuple[Ladder, list[str]]:
    """The ladder without rungs whose models are not installed, and the names of those."""
    known = set(MODELS)
    missing = [
        rung.name
        for rung in ladder.rungs
        if rung.model["name"] not in known and ".py:" not in rung.model["name"]
    ]
    kept = tuple(rung for rung in ladder.rungs if rung.name not in missing)
    return replace(ladder, rungs=kept), missing


PLAN, TABLE, RECIPES = "ladder.json", "table.json", "rungs"
STEPS_SHARE = 0.85  # fraction of the time for training steps; the rest is reading and evaluation
LEAST_SHARE = 0.1  # least fraction of the time for the rungs with shares
EVALUATIONS = 8  # of each rung with a share
START_SECONDS = 30.0  # beyond its time, in which a rung may start, read its data and be evaluated


@dataclass
class LadderPlan:
    """The plan of a ladder, saved in its folder so that it can be resumed."""

    task: str
    metric: str
    budget: float
    shares: dict[str, float]
    notes: list[str] = field(default_factory=list)
    seconds: dict[str, float] = field(default_factory=dict)  # of the rungs with shares, once known
    late: dict[str, float] = field(default_factory=dict)  # seconds of rungs that were stopped
    against: str = ""  # the reference rung of the skill score
    simple: list[str] = field(default_factory=list)  # the baseline rungs
    beside: dict[str, str] = field(default_factory=dict)  # additional metrics and their headings

    def queue(self, folder: Path) -> RunQueue:
        """The queue of rungs: first those without a share, since the others divide the rest."""
        order = sorted(self.shares, key=lambda name: self.shares[name] > 0)
        weights = {name: self.shares[name] or 0.01 for name in order}
        return RunQueue(folder, RECIPES, self.metric, weights)


def ladder(  # noqa: PLR0913 - keyword-only but for the first two
    task: str,
    file: str | Path,
    *,
    max_time: str = "15m",
    models: Iterable[str] = (),
    name: str = "",
    runs: str | Path = RUNS,
    settings: Mapping[str, Any] | None = None,
    callback: QueueCallback | None = None,
) -> LadderResult:
    """Train the models of a task's ladder on the same data and compare them on the test set.

    `models` are names of rungs or of models; `settings` are for all rungs.
    """
    folder = prepare(task, file, max_time, models, name, Path(runs), settings or {})
    return train_ladder(folder, callback or QueueCallback())


def prepare(  # noqa: PLR0913, PLR0917 - the options of a ladder
    task: str,
    file: str | Path,
    max_time: str,
    models: Iterable[str],
    name: str,
    runs: Path,
    settings: Mapping[str, Any],
) -> Path:
    """Create the folder with the plan and all recipes, which are checked before training."""
    budget = Training(max_time=max_time).seconds()
    if not 0 < budget < float("inf"):
        raise UsageError("U042", f"--max-time {max_time}: a ladder needs a time above 0")
    resume = "seqloom ladder --resume"
    folder = queue_folder(name, "ladder", runs, word="a ladder", resume=resume)
    found, missing = without_missing(ladder_of(task))
    found = found.select(models)
    recipes = {
        rung.name: found.recipe(rung, {"train": str(file)}, settings)
        .with_files(
            lambda path: Path(path).resolve()  # recipes are saved in another folder
        )
        .with_code(Path.resolve)
        for rung in found.rungs
    }
    lowest = next(iter(recipes.values()))
    first = lowest.build_task()
    parts = read_parts(first, lowest.build_data())  # an unreadable file is reported before training
    first.prepare(parts.train)  # the metrics may depend on the data
    notes = (
        [f"left out, as their models are not installed: {', '.join(missing)}"] if missing else []
    )
    shares = {rung.name: rung.share for rung in found.rungs}
    plan = LadderPlan(task, first.primary_metric, budget, shares, notes)
    plan.against, plan.simple, plan.beside = found.against, found.baselines(), dict(found.beside)
    with whole_or_none(folder):
        for rung, recipe in recipes.items():
            write_whole(folder / RECIPES / f"{rung}.toml", recipe.to_toml().encode())
        _write_plan(folder, plan)
    return folder


def train_ladder(folder: Path, callback: QueueCallback) -> LadderResult:
    """Train and evaluate every rung that is not done yet; finished rungs are kept on any error."""
    plan, outcome = _read_plan(folder), QueueOutcome()
    queue = plan.queue(folder)
    with locked(folder):
        try:
            outcome = queue.train(
                callback,
                lambda rung: _allocate_time(folder, plan, rung),
                lambda rung, seconds: _note_late(folder, plan, rung, seconds),
            )
        finally:
            result = _result(folder, plan, outcome)
            write_whole(folder / TABLE, json.dumps(result.as_dict(), ensure_ascii=False).encode())
    return result


def find_ladder(name: str, runs: Path = RUNS) -> Path:
    """The folder of a ladder: a path, a name in the runs folder, or the newest ladder."""
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


def _allocate_time(folder: Path, plan: LadderPlan, rung: str) -> float:
    """The most seconds that the process of a rung may take.

    Before the first rung with a share, the remaining time is divided by the shares. The times are
    written into the recipes, so that a resumed ladder uses the same. Such a rung ends training by
    itself when its time is over. One without a share may take what is left, but for a little.
    """
    sharing = {name: share for name, share in plan.shares.items() if share > 0}
    others = {name: read_result(folder / name) for name in plan.shares if name not in sharing}
    spent = sum(result.wall for result in others.values() if result is not None)
    spent += sum(plan.late.get(name, 0.0) for name, result in others.items() if result is None)
    least = LEAST_SHARE * plan.budget
    if plan.shares[rung] == 0:
        return max(plan.budget - spent - least, least) + START_SECONDS
    if not plan.seconds:
        rest = max(plan.budget - spent, least) * STEPS_SHARE
        _divide(folder, plan, sharing, rest)
    return plan.budget + START_SECONDS


def _divide(folder: Path, plan: LadderPlan, sharing: Mapping[str, float], rest: float) -> None:
    """Divide the rest of the time by the shares, and write it into the recipes."""
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


def _note_late(folder: Path, plan: LadderPlan, rung: str, seconds: float) -> None:
    """Note that a rung was stopped because its time was over."""
    plan.late[rung] = seconds
    _write_plan(folder, plan)


def _result(folder: Path, plan: LadderPlan, outcome: QueueOutcome) -> LadderResult:
    """The results so far, in the order of the ladder."""
    found = {name: read_result(folder / name) for name in plan.shares}
    done = [result for result in found.values() if result is not None]
    failed, stopped = outcome.failed, outcome.is_stopped
    left = [name for name, result in found.items() if result is None and name not in failed]
    notes = plan.notes + [
        f"{name} was stopped after {seconds:.0f} s: its part of the time was over"
        for name, seconds in plan.late.items()
        if name in left
    ]
    result = LadderResult(
        folder, plan.task, plan.metric, plan.budget, done, failed, left, notes, stopped
    )
    return replace(result, against=plan.against, simple=plan.simple, beside=plan.beside)


def _write_plan(folder: Path, plan: LadderPlan) -> None:
    write_whole(folder / PLAN, json.dumps(vars(plan), ensure_ascii=False).encode())


def _read_plan(folder: Path) -> LadderPlan:
    try:
        return LadderPlan(**json.loads((folder / PLAN).read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError) as error:
        raise UsageError(
            "U043", f"{folder / PLAN} is damaged", notes=[str(error)], help=["begin a new ladder"]
        ) from error
