"""seqloom train: train a recipe, or a model on a file, or go on with a run."""

import argparse
import sys
from pathlib import Path
from shlex import quote
from typing import Any

from ...data.formats.parallel_names import name_of
from ...errors import UsageError, nearest
from ...experiments.cross_validate import PLAN, folder_of_folds, newest_folds
from ...metrics import METRICS
from ...recipe import Recipe, shipped
from ...runs.record import to_json
from ...runs.run import RECIPE, find, run_folders
from ...runs.train import named
from ...signature import Form
from ...task import Task
from ...tasks import TASKS
from ..arguments import add_file, add_parts, add_reading, parts_of, reading_of
from ..session import Outcome, Session, call, shown_interval
from ..terminal import count, duration, heading, say, several, show, table, visible
from .train_folds import add_times, resume_times, times_of, train_times

LONGEST_EXAMPLE = 40
MOST_METRICS = 2  # more would leave the names of runs no room


def add(parser: argparse.ArgumentParser) -> None:
    """The arguments of the command."""
    parser.usage = (
        "seqloom train TASK [FILE] [-m MODEL]... [options]\n"
        "       seqloom train RECIPE [FILE] [options]\n"
        "       seqloom train TASK | RECIPE [FILE] --folds K | --repeat N [options]\n"
        "       seqloom train --resume [RUN] [options]"
    )
    parser.add_argument(
        "what", nargs="?", metavar="TASK | RECIPE", help="a task, a recipe file or a shipped recipe"
    )
    add_file(parser, "the file to learn from")
    parser.add_argument(
        "-m", "--model", action="append", default=[], metavar="MODEL", help="may be repeated"
    )
    parser.add_argument("-n", "--name", default="", help="what to call the run")
    parser.add_argument("-s", "--seed", type=int, help="where randomness starts")
    parser.add_argument("--max-time", metavar="TIME", help="stop after, as 90s, 10m or 2h")
    add_times(parser)
    add_parts(parser, "the result")
    add_reading(parser)
    parser.add_argument(
        "--dry-run", action="store_true", help="print the whole recipe and stop there"
    )
    parser.add_argument(
        "--estimate",
        action="store_true",
        help="learn for two seconds, print how long training would take here, and stop there",
    )
    parser.add_argument(
        "--resume", nargs="?", const="", metavar="RUN", help="go on with a run, or the newest"
    )
    parser.add_argument(
        "--data-changed", action="store_true", help="resume though a data file has changed"
    )


def run(given: argparse.Namespace) -> int:
    """Train, and say what came of it."""
    if given.resume is not None:
        return _resume(given)
    recipes = [recipe.with_settings(_settings(given)).checked() for recipe in _recipes(given)]
    if given.estimate:
        return _estimate(recipes, given)
    if times := times_of(given):
        return train_times(recipes, times, given)
    if given.dry_run:
        show("\n".join(recipe.to_toml() for recipe in recipes).rstrip())
        return 0
    outcomes = _train_all(recipes, given)
    if outcomes[-1].exit_code:
        return outcomes[-1].exit_code
    if not (given.json or given.quiet):
        if len(outcomes) > 1:
            show("\n".join(["", *_compared(outcomes)]))
        _say_next(outcomes)
    return 0


def _train_all(recipes: list[Recipe], given: argparse.Namespace) -> list[Outcome]:
    """One run after another, up to the first that is stopped."""
    session = Session(given.runs_dir, quiet=given.quiet)
    outcomes: list[Outcome] = []
    for number, recipe in enumerate(recipes, start=1):
        model = str(recipe.model["name"])
        if len(recipes) > 1 and not given.quiet:
            say(heading(f"{number}/{len(recipes)} {model}", sys.stderr))
        outcome = session.train(recipe, _name(given.name, model, len(recipes)))
        outcomes.append(outcome)
        _show(outcome, given)
        if outcome.exit_code:
            session.say_saved(outcome)
            if left := len(recipes) - number:
                say(f"{several(left, 'model')} not begun.")
            break
    return outcomes


def _estimate(recipes: list[Recipe], given: argparse.Namespace) -> int:
    """How long each training would take on this machine."""
    from ...experiments.estimate import estimate

    if times_of(given):
        raise UsageError("U001", "--estimate is for one training: leave --folds, --repeat out")
    room = max(len(str(recipe.model["name"])) for recipe in recipes)
    for recipe in recipes:
        found, model = estimate(recipe), str(recipe.model["name"])
        told = {"model": model, **found.as_dict()}
        show(to_json(told) if given.json else f"{model:<{room}}  {found.words()}")
        sys.stdout.flush()
    return 0


def _resume(given: argparse.Namespace) -> int:
    if given.estimate:
        raise UsageError("U001", "--estimate is for trainings that have not begun")
    if given.what or given.file or given.model or given.name:
        raise UsageError(
            "U001",
            "--resume goes on with a run as it is: it takes no task, file, model or name",
            help=["seqloom train --resume RUN", "seqloom train TASK FILE   begins a new run"],
        )
    if times_of(given):
        raise UsageError(
            "U001",
            "--resume goes on as it began: it takes no --folds, --repeat, --group or --in-time",
            help=["seqloom train --resume RUN"],
        )
    settings = _settings(given)
    if (several := _folds(given)) is not None:
        return resume_times(several, settings, given)
    folder = find(given.resume, given.runs_dir) if given.resume else _newest(given.runs_dir)
    if given.dry_run:
        recipe = Recipe.read(folder / "recipe.toml")
        show(recipe.with_settings(settings).checked().to_toml().rstrip())
        return 0
    session = Session(given.runs_dir, quiet=given.quiet)
    outcome = session.resume(folder, settings, data_changed=given.data_changed)
    _show(outcome, given)
    if outcome.exit_code:
        session.say_saved(outcome)
    elif not (given.json or given.quiet):
        _say_next([outcome])
    return outcome.exit_code


def _recipes(given: argparse.Namespace) -> list[Recipe]:
    """One recipe for each model that was asked for."""
    if given.what is None:
        raise UsageError(
            "U001",
            "what should be trained?",
            help=[
                "seqloom train TASK FILE   a task is one of: " + ", ".join(TASKS),
                "seqloom train RECIPE      a .toml file" + _or_shipped(),
            ],
        )
    if given.what in TASKS:
        if not given.file and TASKS[given.what].roles:
            raise UsageError(
                "U001",
                f"which file should {given.what!r} learn from?",
                help=[f"seqloom train {given.what} FILE", "seqloom demo   brings its own data"],
            )
        first = given.model[0] if given.model else ""
        base = named(given.what, name_of(given.file), _settings(given), first)
    else:
        base = _known_recipe(given.what, name_of(given.file))
    return [base.with_model(name) for name in given.model] or [base]


def _known_recipe(name: str, file: str) -> Recipe:
    if name in shipped() or name.endswith(".toml"):
        return named(name, file)
    if Path(name).is_file():
        raise UsageError(
            "U001",
            f"{name} is not a recipe: say the task first",
            help=[
                f"seqloom train TASK {quote(name)}   a task is one of: {', '.join(TASKS)}",
                f"seqloom check {quote(name)}   says which task fits",
            ],
        )
    near = nearest(name, [*TASKS, *shipped()])
    hints = [f"did you mean {near!r}?"] if near else []
    raise UsageError(
        "U002",
        f"there is no task and no recipe called {name!r}",
        help=[*hints, f"tasks: {', '.join(TASKS)}", f"recipes: a .toml file{_or_shipped()}"],
    )


def _or_shipped() -> str:
    return f", or one of: {', '.join(shipped())}" if shipped() else ""


def _settings(given: argparse.Namespace) -> dict[str, Any]:
    """What the options of the command line set in a recipe, --set last."""
    paths = {
        "training.seed": given.seed,
        "training.max_time": given.max_time,
    }
    settings = {path: value for path, value in paths.items() if value is not None}
    return settings | parts_of(given) | reading_of(given)


def _name(name: str, model: str, models: int) -> str:
    """Several models cannot share a name."""
    return f"{name}-{model}" if name and models > 1 else name


def _folds(given: argparse.Namespace) -> Path | None:
    """The folds or repeats to go on with; None where it is a single run."""
    if given.resume:
        return folder_of_folds(given.resume, given.runs_dir)
    found, alone = newest_folds(given.runs_dir), run_folders(given.runs_dir)[-1:]
    if found is None or not alone:
        return found
    return found if _changed(found / PLAN) > _changed(alone[0] / RECIPE) else None


def _changed(path: Path) -> float:
    return path.stat().st_mtime


def _newest(runs: Path) -> Path:
    folders = run_folders(runs)
    if not folders:
        raise UsageError(
            "U008", f"there is no run in {runs} to go on with", help=["seqloom train TASK FILE"]
        )
    return folders[-1]


def _show(outcome: Outcome, given: argparse.Namespace) -> None:
    """The result of one run, on stdout; of a stopped one only where something reads it."""
    if given.json:
        show(to_json(outcome.facts()))
    elif given.quiet:
        show(str(outcome.run.folder))
    elif not outcome.exit_code:
        show("\n".join(outcome.lines()))
    sys.stdout.flush()


def _compared(outcomes: list[Outcome]) -> list[str]:
    """The runs side by side, a row each, by the most telling metrics."""
    judged = [outcome.test.measured() if outcome.test else {} for outcome in outcomes]
    names = list(judged[0])[:MOST_METRICS]
    rows = [["run", *(METRICS[name].title for name in names), "parameters", "time"]]
    for outcome, test in zip(outcomes, judged, strict=True):
        shown = [shown_interval(name, test[name]) if name in test else "-" for name in names]
        size = count(outcome.run.model.size())
        rows.append([outcome.run.name, *shown, size, duration(outcome.record.seconds())])
    return table(rows, "lr")


def _say_next(outcomes: list[Outcome]) -> None:
    """What to type next."""
    calls = [call(outcome.run.folder) for outcome in outcomes]
    say(f"Next: seqloom {outcomes[-1].run.task.verb} {calls[-1]}{_question(outcomes[-1])}")
    if len(outcomes) > 1:
        say(f"      seqloom compare {' '.join(calls)}")
    else:
        say(f"      seqloom show {calls[-1]}")


def _question(outcome: Outcome) -> str:
    """A short example to ask, from the test part."""
    task: Task = outcome.run.task
    if task.form is Form.FORECAST:
        return f" {quote(str(outcome.run.recipe.data['train']))}"
    if task.form is Form.NEXT or outcome.test is None:
        return "" if task.form is Form.NEXT else ' "…"'
    shown = [task.shown_question(example) for example in outcome.test.examples[:20]]
    shortest = min(shown, key=len)
    is_handy = len(shortest) <= LONGEST_EXAMPLE and visible(shortest) == shortest
    return f" {quote(shortest)}" if is_handy else ' "…"'
