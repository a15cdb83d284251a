"""One recipe trained several times, on folds or from several seeds: `train --folds --repeat`.

All runs are in one folder, and what is done in it stays done:

folds.json           what is to be done
recipes/NAME.toml    the recipe of each run
NAME/                each run: fold-1, seed-1, or seed-1-fold-1; judged.safetensors in it
table.json           what came of it
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..errors import UsageError
from ..recipe import Recipe
from ..runs.run import EVENTS, RUNS
from ..runs.splits import FILES, read_parts
from ..runs.train import named
from ..tasks import TASKS
from ..training.checkpoints import locked, write_whole
from ..training.events import read_events
from .queue import Ending, Onlooker, Series, series_folder
from .results import Folded

PLAN, TABLE, RECIPES = "folds.json", "table.json", "recipes"


@dataclass(frozen=True)
class Times:
    """How often a recipe is trained, and what differs.

    Args:
        folds: Into how many folds the file is cut, each held out once; 0 holds none out.
        repeat: From how many seeds it is trained. Folds are cut anew for each.
        group: A column of the file: rows with the same in it are never on both sides.
        in_time: The file is in the order of time: a fold is learned from what came before it.
    """

    folds: int = 0
    repeat: int = 1
    group: str = ""
    in_time: bool = False

    def __bool__(self) -> bool:
        return self != Times()

    def recipes(self, recipe: Recipe) -> dict[str, Recipe]:
        """The recipe of each run, by its name; every seed follows from those of the recipe."""
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
class Plan:
    """What is to be done; kept in the folder, so that it can go on."""

    task: str
    model: str
    metric: str
    folds: int
    repeat: int
    runs: list[str]

    def series(self, folder: Path) -> Series:
        """The runs, all alike."""
        return Series(folder, RECIPES, self.metric, dict.fromkeys(self.runs, 1.0))


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
    onlooker: Onlooker | None = None,
) -> Folded:
    """Train a recipe on folds of its file, or from several seeds, or both, and average.

    `what`, `file`, `model` and `settings` are those of `train`. With `folds=0` nothing is folded:
    all runs are judged on the same test part. `group` is a column whose equal rows stay together;
    `in_time` trains each fold on what stands before it in the file.
    """
    recipe = what if isinstance(what, Recipe) else named(str(what), str(file), settings)
    recipe = recipe.with_model(model) if model else recipe
    recipe = recipe.with_settings(settings or {}).checked()
    folder = prepare(recipe, Times(folds, repeat, group, in_time), name, Path(runs))
    return fold(folder, onlooker or Onlooker())


def prepare(recipe: Recipe, times: Times, name: str, runs: Path) -> Path:
    """A folder with everything that is to be done, checked before the first run begins."""
    if times.repeat < 1:
        raise UsageError(
            "U107",
            f"--repeat {times.repeat}: there is nothing to train",
            help=["--repeat 5   trains from five seeds"],
        )
    recipes = {
        run: one.with_files(lambda path: Path(path).resolve())  # they are kept in another folder
        for run, one in times.recipes(recipe).items()
    }
    task = recipe.build_task()
    first = next(iter(recipes.values()))
    if not read_parts(task, first.build_data()).test:  # a file that cannot be folded is told first
        raise _nothing_to_judge()
    if "" in recipes and not times.folds:
        raise UsageError(
            "U107",
            "one run is no average: neither folds nor repeats were asked for",
            help=["--folds 5   or --repeat 5", "leave both out to train once"],
        )
    model = str(recipe.model["name"])
    kind = "folds" if times.folds else "seeds"
    stem = re.sub(r"[^a-z0-9]+", "-", Path(model).stem.lower()).strip("-")
    folder = series_folder(
        name, f"{stem}-{kind}", runs, word=f"a folder of {kind}", resume="seqloom train --resume"
    )
    for run, one in recipes.items():
        write_whole(folder / RECIPES / f"{run}.toml", one.to_toml().encode())
    plan = Plan(str(recipe.task["name"]), model, task.headline, times.folds, times.repeat,
                list(recipes))  # fmt: skip
    write_whole(folder / PLAN, json.dumps(vars(plan), ensure_ascii=False).encode())
    return folder


def fold(folder: Path, onlooker: Onlooker) -> Folded:
    """Train and judge every run that is not done yet; what is done is kept whatever happens."""
    plan, ending = _read_plan(folder), Ending()
    with locked(folder):
        try:
            ending = plan.series(folder).train(onlooker)
        finally:
            came = _came(folder, plan, ending)
            write_whole(folder / TABLE, json.dumps(came.as_dict(), ensure_ascii=False).encode())
    return came


def folder_of_folds(name: str, runs: Path) -> Path | None:
    """The folder of folds or repeats that a path or a name means, if there is one."""
    found = (folder for folder in (Path(name), runs / name) if (folder / PLAN).is_file())
    return next(found, None) if name else None


def newest_folds(runs: Path) -> Path | None:
    """The folder of folds or repeats that was begun last."""
    known = sorted(runs.glob(f"*/{PLAN}"), key=lambda path: path.stat().st_mtime)
    return known[-1].parent if known else None


def _came(folder: Path, plan: Plan, ending: Ending) -> Folded:
    """What there is so far."""
    done = plan.series(folder).done()
    left = [name for name in plan.runs if name not in done and name not in ending.failed]
    return Folded(
        folder, plan.task, plan.model, plan.metric, plan.folds, plan.repeat, list(done.values()),
        _shared(folder, plan, list(done)), ending.failed, left, ending.is_stopped,
    )  # fmt: skip


def _shared(folder: Path, plan: Plan, done: list[str]) -> float:
    """How large what is held out is beside the rest; 0 where all runs learn from the same."""
    if not plan.folds or not done:
        return 0.0
    if TASKS[plan.task].in_time:  # a block is held out, of which 1, 2, … come before
        return 2 / (plan.folds + 1)
    starts = [read_events(folder / name / EVENTS)[0]["examples"] for name in done]
    train, valid, test = (sum(start[part] for start in starts) for part in FILES)
    return float(test / max(1, train + valid))


def _nothing_to_judge() -> UsageError:
    return UsageError(
        "U108",
        "there is no test part to judge the runs on",
        help=["--folds 5", "--set data.test_fraction=0.1, or --test FILE"],
    )


def _read_plan(folder: Path) -> Plan:
    try:
        return Plan(**json.loads((folder / PLAN).read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError) as error:
        raise UsageError(
            "U109", f"{folder / PLAN} is damaged", notes=[str(error)], help=["begin anew"]
        ) from error
