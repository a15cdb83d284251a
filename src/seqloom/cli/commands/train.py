"""seqloom train: train a recipe, or models on a file, or resume a run."""

import argparse
import sys
from pathlib import Path
from typing import Any

from ...config import with_defaults
from ...data.formats.parallel_names import name_of
from ...data.text.files import is_file
from ...errors import UsageError, nearest
from ...experiments.cross_validate import PLAN, folder_of_folds, newest_folds
from ...metrics import METRICS
from ...recipe import Recipe, shipped
from ...runs.code import run_recipe
from ...runs.names import RECIPE, file_argument, model_stem, refuse_taken
from ...runs.record import to_json
from ...runs.run import find, run_folders
from ...runs.train import recipe_by_name
from ...tasks import TASKS
from ..arguments import (
    add_data_options,
    add_file,
    add_name,
    add_split_files,
    data_settings,
    split_settings,
)
from ..loading import say_notes
from ..session import Outcome, Session, shown_interval
from ..suggestions import folder_arguments, prediction_command
from ..terminal import count, duration, heading, plural, say, show, table
from .train_folds import add_repetitions, repetitions_from, resume_repeatedly, train_repeatedly

EXAMPLES = 20  # of the test set, of which the shortest is suggested as an input
MOST_METRICS = 2  # so that the names of runs fit


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of the command."""
    parser.usage = (
        "seqloom train TASK [FILE] [-m MODEL]... [options]\n"
        "       seqloom train RECIPE [FILE] [options]\n"
        "       seqloom train TASK | RECIPE [FILE] --folds K | --repeat N [options]\n"
        "       seqloom train --resume [RUN] [options]"
    )
    parser.add_argument(
        "what",
        nargs="?",
        metavar="TASK | RECIPE",
        help="a task, a recipe file, or a recipe that comes with Seqloom",
    )
    add_file(parser, "the training file")
    parser.add_argument(
        "-m",
        "--model",
        action="append",
        default=[],
        metavar="MODEL",
        help="model to train (seqloom models lists them); may be repeated",
    )
    add_name(parser, "name of the run", "-n")
    parser.add_argument("-s", "--seed", type=int, help="random seed")
    parser.add_argument("--max-time", metavar="TIME", help="time limit, as 90s, 10m or 2h")
    add_repetitions(parser)
    add_split_files(parser, "the result")
    add_data_options(parser)
    parser.add_argument("--dry-run", action="store_true", help="print the whole recipe and exit")
    parser.add_argument(
        "--estimate",
        action="store_true",
        help="train for two seconds, print the estimated training time, and exit",
    )
    parser.add_argument(
        "--resume",
        nargs="?",
        const="",
        metavar="RUN",
        help="resume a run; the newest if none is named",
    )
    parser.add_argument(
        "--data-changed", action="store_true", help="resume even if a data file has changed"
    )


def run(args: argparse.Namespace) -> int:
    """Train every model, and print the results."""
    if args.resume is not None:
        return _resume(args)
    recipes = [recipe.with_settings(_settings(args)).checked() for recipe in _recipes(args)]
    if args.estimate:
        return _estimate(recipes, args)
    if times := repetitions_from(args):
        return train_repeatedly(recipes, times, args)
    if args.dry_run:
        show("\n".join(recipe.to_toml() for recipe in recipes).rstrip())
        return 0
    outcomes = _train_all(recipes, args)
    if outcomes[-1].exit_code:
        return outcomes[-1].exit_code
    if not (args.json or args.quiet):
        if len(outcomes) > 1:
            show("\n".join(["", *_compared(outcomes)]))
        _say_next(outcomes)
    return 0


def _train_all(recipes: list[Recipe], args: argparse.Namespace) -> list[Outcome]:
    """Train one run after another, up to the first that is stopped."""
    session = Session(args.runs_dir, quiet=args.quiet)
    outcomes: list[Outcome] = []
    for number, recipe in enumerate(recipes, start=1):
        model = recipe.model_name
        if len(recipes) > 1 and not args.quiet:
            say(heading(f"{number}/{len(recipes)} {model}", sys.stderr))
        outcome = session.train(recipe, _name(args.name, model, len(recipes)))
        outcomes.append(outcome)
        _show(outcome, args)
        if outcome.exit_code:
            session.say_saved(outcome)
            if left := len(recipes) - number:
                say(f"{plural(left, 'model')} not trained.")
            break
    return outcomes


def _estimate(recipes: list[Recipe], args: argparse.Namespace) -> int:
    """Print the estimated training time of each recipe on this machine."""
    from ...experiments.estimate import estimate

    if repetitions_from(args):
        raise UsageError("U001", "--estimate is for a single run: leave out --folds and --repeat")
    room = max(len(recipe.model_name) for recipe in recipes)
    for recipe in recipes:
        estimated, model = estimate(recipe), recipe.model_name
        facts = {"model": model, **estimated.as_dict()}
        show(to_json(facts) if args.json else f"{model:<{room}}  {estimated.words()}")
        sys.stdout.flush()
    return 0


def _resume(args: argparse.Namespace) -> int:
    if args.estimate:
        raise UsageError("U001", "--estimate is for a new run, not for --resume")
    if args.what or args.file or args.model or args.name:
        raise UsageError(
            "U001",
            "--resume continues a run as it is: it takes no task, file, model or name",
            help=["seqloom train --resume RUN", "seqloom train TASK FILE   starts a new run"],
        )
    if repetitions_from(args):
        raise UsageError(
            "U001",
            "--resume keeps the folds: it takes no --folds, --repeat, --group or --in-time",
            help=["seqloom train --resume RUN"],
        )
    settings = _settings(args)
    if (repeated := _folds(args)) is not None:
        return resume_repeatedly(repeated, settings, args)
    folder = find(args.resume, args.runs_dir) if args.resume else _newest(args.runs_dir)
    if args.dry_run:
        recipe = run_recipe(folder)
        show(recipe.with_settings(settings).checked().to_toml().rstrip())
        return 0
    session = Session(args.runs_dir, quiet=args.quiet)
    outcome = session.resume(folder, settings, data_changed=args.data_changed)
    _show(outcome, args)
    if outcome.exit_code:
        session.say_saved(outcome)
    elif not (args.json or args.quiet):
        _say_next([outcome])
    return outcome.exit_code


def _recipes(args: argparse.Namespace) -> list[Recipe]:
    """One recipe for each model of the command line."""
    if args.name:  # refused before a file is read
        refuse_taken(args.runs_dir / args.name)
    if args.what is None:
        raise UsageError(
            "U001",
            "no task and no recipe",
            help=[
                "seqloom train TASK FILE   TASK is one of: " + ", ".join(TASKS),
                "seqloom train RECIPE      RECIPE is a .toml file" + _or_shipped(),
            ],
        )
    if args.what in TASKS:
        if not args.file and TASKS[args.what].roles:
            raise UsageError(
                "U001",
                f"no training file for {args.what!r}",
                help=[f"seqloom train {args.what} FILE", "seqloom demo   has its own data"],
            )
        first = args.model[0] if args.model else ""
        base = recipe_by_name(args.what, name_of(args.file), _settings(args), first)
        _say_suited(base, args)
    else:
        base = _known_recipe(args.what, name_of(args.file))
    return [base.with_model(name) for name in args.model] or [base]


def _say_suited(base: Recipe, args: argparse.Namespace) -> None:
    """Say which options of the task follow from the file; `--quiet` and `--json` do without."""
    usual, given = with_defaults(TASKS[args.what], {}), _settings(args)
    for name, value in base.task.items():
        if name in usual and value != usual[name] and f"task.{name}" not in given:
            notes = [
                f"{name} = {value}, as texts rarely have blanks (--set task.{name}={usual[name]})"
            ]
            say_notes(notes, args.quiet or args.json)


def _known_recipe(name: str, file: str) -> Recipe:
    if name in shipped() or name.endswith(".toml"):
        return recipe_by_name(name, file)
    if is_file(name):
        raise UsageError(
            "U001",
            f"{name} is not a recipe: give the task first",
            help=[
                f"seqloom train TASK {file_argument(name)}   TASK is one of: {', '.join(TASKS)}",
                f"seqloom check {file_argument(name)}   suggests a task",
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


def _settings(args: argparse.Namespace) -> dict[str, Any]:
    """Settings of the recipe from the options of the command line, --set last."""
    paths = {
        "training.seed": args.seed,
        "training.max_time": args.max_time,
        "training.clock": args.max_time and "wall",  # whatever the recipe measures its own by
    }
    settings = {path: value for path, value in paths.items() if value is not None}
    return settings | split_settings(args) | data_settings(args)


def _name(name: str, model: str, models: int) -> str:
    """The name of a run; with several models the name of the model is appended."""
    return f"{name}-{model_stem(model)}" if name and models > 1 else name


def _folds(args: argparse.Namespace) -> Path | None:
    """The folder of folds or repeated runs to resume; None for a single run."""
    if args.resume:
        return folder_of_folds(args.resume, args.runs_dir)
    folds, single = newest_folds(args.runs_dir), run_folders(args.runs_dir)[-1:]
    if folds is None or not single:
        return folds
    return folds if _changed(folds / PLAN) > _changed(single[0] / RECIPE) else None


def _changed(path: Path) -> float:
    return path.stat().st_mtime


def _newest(runs: Path) -> Path:
    folders = run_folders(runs)
    if not folders:
        raise UsageError(
            "U008", f"there is no run in {runs} to resume", help=["seqloom train TASK FILE"]
        )
    return folders[-1]


def _show(outcome: Outcome, args: argparse.Namespace) -> None:
    """Print the result of one run; of a stopped one only for --json and --quiet."""
    if args.json:
        show(to_json(outcome.facts()))
    elif args.quiet:
        show(str(outcome.run.folder))
    elif not outcome.exit_code:
        show("\n".join(outcome.lines()))
    sys.stdout.flush()


def _compared(outcomes: list[Outcome]) -> list[str]:
    """A table of the runs with their first metrics."""
    measured = [outcome.test.with_intervals() if outcome.test else {} for outcome in outcomes]
    names = list(measured[0])[:MOST_METRICS]
    rows = [["run", *(METRICS[name].title for name in names), "parameters", "time"]]
    for outcome, test in zip(outcomes, measured, strict=True):
        shown = [shown_interval(name, test[name]) if name in test else "-" for name in names]
        size = count(outcome.run.model.num_parameters())
        rows.append([outcome.run.name, *shown, size, duration(outcome.record.seconds())])
    return table(rows, "lr")


def _say_next(outcomes: list[Outcome]) -> None:
    """Print the commands to try next."""
    last, folders = outcomes[-1], [outcome.run.folder for outcome in outcomes]
    tested = last.test.examples[:EXAMPLES] if last.test else ()
    say(f"Next: {prediction_command(last.run.folder, last.run.recipe, last.run.task, tested)}")
    what = "compare" if len(folders) > 1 else "show"
    say(f"      seqloom {what} {folder_arguments(folders)}")
