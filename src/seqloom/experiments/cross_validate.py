"""Cross-validation and repeated training: `seqloom train --folds K --repeat N`.

One recipe is trained on each of K folds, from N random seeds, or both, and the metrics are averaged
with corrected t intervals. All runs are in one folder, and an interrupted one can be resumed:

folds.json           the plan
recipes/NAME.toml    the recipe of each run
NAME/                each run: fold-1, seed-1, or seed-1-fold-1; test results in judged.safetensors
table.json           the results
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..errors import UsageError
from ..recipe import Recipe
from ..runs.names import RUNS, model_stem, run_name
from ..runs.run import EVENTS
from ..runs.splits import FILES, Parts, count_repeats, read_parts
from ..runs.train import recipe_by_name
from ..task import Task
from ..tasks import TASKS
from ..training.events import read_events
from ..training.files import locked, write_whole
from .queue import QueueCallback, QueueOutcome, RunQueue, queue_folder, whole_or_none
from .results import CrossValidationResult

PLAN, TABLE, RECIPES = "folds.json", "table.json", "recipes"


@dataclass(frozen=True)
class Repetitions:
    """The number of folds and of random seeds, and how folds are cut.

    Args:
        folds: Number of folds (k-fold cross-validation); 0 disables it.
        repeat: Number of random seeds. The folds are different for each.
        group: A column of the file; rows with equal values stay in one fold.
        in_time: Rows are in time order: a fold is predicted from the rows before it.
    """

    folds: int = 0
    repeat: int = 1
    group: str = ""
    in_time: bool = False

    def __bool__(self) -> bool:
        return self != Repetitions()

    def recipes(self, recipe: Recipe) -> dict[str, Recipe]:
        """The recipe of each run, by name; seeds count up from those of the recipe."""
        training, data = recipe.build_training(), recipe.build_data()
        given = {"folds": self.folds, "group": self.group, "in_time": self.in_time}
        base: dict[str, Any] = {f"data.{name}": value for name, value in given.items() if value}
        found = {}
        for number in range(self.repeat):
            seed = training.seed + number
            again: dict[str, Any] = {"training.seed": seed}
            if self.folds:
                again["data.split_seed"] = data.split_seed + number
            for fold in range(1, self.folds + 1) if self.folds > 0 else [0]:
                words = [f"seed-{seed}"] * (self.repeat > 1) + [f"fold-{fold}"] * bool(fold)
                held = {"data.fold": fold} if fold else {}
                found["-".join(words)] = recipe.with_settings(base | again | held).checked()
        return found


@dataclass(frozen=True)
class CrossValidationPlan:
    """The plan of a cross-validation, saved in its folder so that it can be resumed."""

    task: str
    model: str
    metric: str
    folds: int
    repeat: int
    runs: list[str]
    notes: list[str] = field(default_factory=list)

    def queue(self, folder: Path) -> RunQueue:
        """The queue of runs, with equal weights."""
        return RunQueue(folder, RECIPES, self.metric, dict.fromkeys(self.runs, 1.0))


def cross_validate(  # noqa: PLR0913 - keyword-only but for the first two
    what: Recipe | str | Path,
    file: str | Path = "",
    *,
    folds: int = 5,
    repeat: int = 1,
    group: str = "",
    in_time: bool = False,
    model: str = "",
    name: str = "",
    runs: str | Path = RUNS,
    settings: Mapping[str, Any] | None = None,
    callback: QueueCallback | None = None,
) -> CrossValidationResult:
    """Cross-validation: train a recipe on each fold, from several seeds, or both, and average.

    `what`, `file`, `model` and `settings` are those of `train`. With `folds=0` there are no folds:
    all runs are evaluated on the same test set. Rows with equal values in the column `group` stay
    in one fold; with `in_time`, each fold is predicted from the rows before it.
    """
    run_name(name)  # a wrong one is refused before a file is read
    recipe = what if isinstance(what, Recipe) else recipe_by_name(str(what), str(file), settings)
    recipe = recipe.with_model(model) if model else recipe
    recipe = recipe.with_settings(settings or {}).checked()
    folder = prepare(recipe, Repetitions(folds, repeat, group, in_time), name, Path(runs))
    return run_folds(folder, callback or QueueCallback())


def prepare(recipe: Recipe, repetitions: Repetitions, name: str, runs: Path) -> Path:
    """Create the folder with the plan and all recipes, which are checked before training."""
    if repetitions.repeat < 1:
        raise UsageError(
            "U107",
            f"--repeat {repetitions.repeat}: there is nothing to train",
            help=["--repeat 5   trains with five random seeds"],
        )
    stem, kind = model_stem(recipe.model_name), "folds" if repetitions.folds else "seeds"
    folder = queue_folder(
        name, f"{stem}-{kind}", runs, word=f"a folder of {kind}", resume="seqloom train --resume"
    )
    recipes = {
        # recipes are saved in another folder
        run: one.with_files(lambda path: Path(path).resolve()).with_code(Path.resolve)
        for run, one in repetitions.recipes(recipe).items()
    }
    task = recipe.build_task()
    # Raises an error if the file cannot be split. The last fold in time has all that came before.
    whole = list(recipes.values())[-1 if repetitions.in_time else 0]
    parts = read_parts(task, whole.build_data())
    if not parts.test:
        raise _no_test_part()
    if "" in recipes and not repetitions.folds:
        raise UsageError(
            "U107",
            "a single run cannot be averaged: set folds or repeat",
            help=["--folds 5   or --repeat 5", "leave both out to train once"],
        )
    task_name, runs_of_plan = str(recipe.task["name"]), list(recipes)
    metric, counts = task.primary_metric, (repetitions.folds, repetitions.repeat)
    in_time = repetitions.in_time
    notes = _repeats_note(task, recipe, parts, in_time) if repetitions.folds else []
    plan = CrossValidationPlan(task_name, recipe.model_name, metric, *counts, runs_of_plan, notes)
    with whole_or_none(folder):
        for run, one in recipes.items():
            write_whole(folder / RECIPES / f"{run}.toml", one.to_toml().encode())
        write_whole(folder / PLAN, json.dumps(vars(plan), ensure_ascii=False).encode())
    return folder


def run_folds(folder: Path, callback: QueueCallback) -> CrossValidationResult:
    """Train and evaluate every run that is not done yet; finished runs are kept on any error."""
    plan, outcome = _read_plan(folder), QueueOutcome()
    with locked(folder):
        try:
            outcome = plan.queue(folder).train(callback)
        finally:
            result = _result(folder, plan, outcome)
            write_whole(folder / TABLE, json.dumps(result.as_dict(), ensure_ascii=False).encode())
    return result


def folder_of_folds(name: str, runs: Path) -> Path | None:
    """The folder of folds or repeats with this path or name, if there is one."""
    found = (folder for folder in (Path(name), runs / name) if (folder / PLAN).is_file())
    return next(found, None) if name else None


def newest_folds(runs: Path) -> Path | None:
    """The newest folder of folds or repeats."""
    known = sorted(runs.glob(f"*/{PLAN}"), key=lambda path: path.stat().st_mtime)
    return known[-1].parent if known else None


def _result(
    folder: Path, plan: CrossValidationPlan, outcome: QueueOutcome
) -> CrossValidationResult:
    """The results so far."""
    done = plan.queue(folder).done()
    left = [name for name in plan.runs if name not in done and name not in outcome.failed]
    return CrossValidationResult(
        folder, plan.task, plan.model, plan.metric, plan.folds, plan.repeat, list(done.values()),
        _test_ratio(folder, plan, list(done)), outcome.failed, left, outcome.is_stopped, plan.notes,
    )  # fmt: skip


def _test_ratio(folder: Path, plan: CrossValidationPlan, done: list[str]) -> float:
    """The ratio of test to training examples, for the corrected t interval; 0 without folds."""
    if not plan.folds or not done:
        return 0.0
    if TASKS[plan.task].splits_in_time:  # K + 1 blocks; on average half of them precede the fold
        return 2 / (plan.folds + 1)
    starts = [read_events(folder / name / EVENTS)[0]["examples"] for name in done]
    train, valid, test = (sum(start[part] for start in starts) for part in FILES)
    return float(test / max(1, train + valid))


def _repeats_note(task: Task, recipe: Recipe, parts: Parts, in_time: bool) -> list[str]:
    """How many examples repeat another one, and whether folds part them.

    Folds in time without overlap have left repeats out of training, and say so themselves.
    """
    is_allowed = recipe.build_data().allow_overlap
    if task.splits_in_time or (in_time and not is_allowed):
        return []
    repeats, total = count_repeats(task, parts)
    where = (
        "test folds may have what was trained on (data.allow_overlap)"
        if is_allowed
        else "equal ones are not both in training and test"
        " (--set data.allow_overlap=true parts them as published folds often do)"
    )
    return [f"{repeats:,} of {total:,} examples repeat another one: {where}"] * bool(repeats)


def _no_test_part() -> UsageError:
    return UsageError(
        "U108",
        "there is no test set to evaluate the runs on",
        help=["--folds 5", "--set data.test_fraction=0.1, or --test FILE"],
    )


def _read_plan(folder: Path) -> CrossValidationPlan:
    try:
        return CrossValidationPlan(**json.loads((folder / PLAN).read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError) as error:
        raise UsageError(
            "U109", f"{folder / PLAN} is damaged", notes=[str(error)], help=["begin anew"]
        ) from error
