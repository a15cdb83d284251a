"""seqloom train --folds, --repeat: K-fold cross-validation, and training from several seeds."""

import argparse
import sys
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from ...errors import UsageError
from ...evaluation.error_analysis import mistake_metric
from ...experiments.cross_validate import Repetitions, prepare, run_folds
from ...experiments.queue import QueueCallback
from ...experiments.results import CrossValidationResult, RunResult
from ...metrics import METRICS, MetricValue
from ...metrics.intervals import Mean
from ...recipe import Recipe
from ...runs.code import run_task
from ...runs.names import model_stem, run_argument
from ...runs.record import to_json
from ...training.events import Event
from ..loading import say_notes
from ..progress_ladder import progress_for
from ..session import SignalStop, shown_interval, training_failed
from ..suggestions import prediction_with
from ..terminal import duration, heading, plural, say, show, table

STOPPING = "Stopping after this step… (Ctrl-C again to quit at once)"
AT_ONCE = "Stopped at once. The current run saves a checkpoint."


def add_repetitions(parser: argparse.ArgumentParser) -> None:
    """Add the options of cross-validation and of repeated runs."""
    group = parser.add_argument_group("cross-validation and repeated runs")
    group.add_argument("--folds", type=int, metavar="K", help="K-fold cross-validation on FILE")
    group.add_argument(
        "--group",
        default="",
        metavar="COLUMN",
        help="group K-fold: rows with the same value in COLUMN stay in one fold",
    )
    group.add_argument(
        "--in-time",
        action="store_true",
        help="time-series split: rows are in order of time, folds are trained on earlier rows",
    )
    group.add_argument("--repeat", type=int, metavar="N", help="train from N random seeds")


def repetitions_from(args: argparse.Namespace) -> Repetitions:
    """The settings of the options of `add_repetitions`; falsy without any of them."""
    folds = -1 if args.folds == 0 else args.folds or 0  # 0 is a wrong number, not a missing one
    repeat = 1 if args.repeat is None else args.repeat
    return Repetitions(folds, repeat, args.group, args.in_time)


def train_repeatedly(recipes: list[Recipe], times: Repetitions, args: argparse.Namespace) -> int:
    """Cross-validate each recipe, up to the first that is stopped."""
    if args.dry_run:
        runs = [one for recipe in recipes for one in times.recipes(recipe).values()]
        show("\n".join(recipe.to_toml() for recipe in runs).rstrip())
        return 0
    names = [args.name and f"{args.name}-{model_stem(recipe.model_name)}" for recipe in recipes]
    for number, recipe in enumerate(recipes, start=1):
        if len(recipes) > 1 and not args.quiet:
            say(heading(f"{number}/{len(recipes)} {recipe.model['name']}", sys.stderr))
        name = names[number - 1] if len(recipes) > 1 else args.name
        code = _fold(prepare(recipe, times, name, args.runs_dir), args)
        if code:
            if left := len(recipes) - number:
                say(f"{plural(left, 'model')} not trained.")
            return code
    return 0


def resume_repeatedly(folder: Path, settings: dict[str, Any], args: argparse.Namespace) -> int:
    """Resume folds or repeated runs with their settings unchanged."""
    if settings or args.dry_run or args.data_changed:
        raise UsageError(
            "U001",
            f"{folder} is resumed as it is: all its runs must have the same settings",
            help=[
                f"seqloom train --resume {run_argument(folder)}",
                "start a new cross-validation for other settings",
            ],
        )
    return _fold(folder, args)


def _fold(folder: Path, args: argparse.Namespace) -> int:
    """Train the remaining runs, and print the table."""
    with closing(_progress(folder, args.quiet)) as progress:
        stop = SignalStop(progress.announce, STOPPING, lambda: AT_ONCE)
        stop.update(Event("start", 0))  # runs save checkpoints themselves, so none is ever lost
        with stop.listening():
            came = run_folds(folder, QueueCallback(progress.update, stop.should_stop))
    say_notes(came.notes(), args.quiet)
    _show(came, args)
    if came.is_stopped:
        say(f"Stopped: {plural(len(came.runs), 'run')} done, {len(came.left)} left. Nothing lost.")
        say(f"Resume with:  seqloom train --resume {run_argument(folder)}")
        return stop.exit_code
    if came.failed:
        raise training_failed(came.failed, "train", came.folder)
    if not (args.json or args.quiet):
        say(f"Next: {_next(came.runs[0])}")
    return 0


def _next(run: RunResult) -> str:
    """The command that lists the errors of a run, or uses it where none can be listed."""
    is_listed = mistake_metric(run_task(run.folder), run.measured) is not None
    return (
        f"seqloom errors {run_argument(run.folder)}" if is_listed else prediction_with(run.folder)
    )


def _progress(folder: Path, quiet: bool) -> Any:
    return progress_for(folder.name, quiet=quiet, word="run", summarize=_mean_so_far)


def _mean_so_far(done: Sequence[RunResult]) -> str:
    if not done:
        return ""
    metric = next(iter(done[0].measured))
    values = [run.measured[metric].value for run in done]
    return f"mean {METRICS[metric].show(sum(values) / len(values))}"


def lines(came: CrossValidationResult) -> list[str]:
    """A row for each run, then the mean and standard deviation of each metric."""
    if not came.runs:
        return ["No run is finished yet."]
    title = METRICS[came.metric].title
    rows = [["run", title, "examples", "training time"]]
    for run in came.runs:
        shown = shown_interval(came.metric, run.measured[came.metric])
        rows.append([run.name, shown, f"{run.examples:,}", duration(run.seconds)])
    means = [["mean of all runs", "", "std. dev."]]
    for name, mean in came.means().items():
        means.append([METRICS[name].title, _shown_mean(name, mean), _shown_deviation(name, mean)])
    return [*table(rows, "lr"), "", *table(means, "lr"), *_explained(came)]


def _shown_mean(name: str, mean: Mean) -> str:
    if not mean.low <= mean.high:
        return METRICS[name].show(mean.value)
    return shown_interval(name, MetricValue(mean.value, mean.low, mean.high))


def _shown_deviation(name: str, mean: Mean) -> str:
    return METRICS[name].show(mean.deviation) if mean.deviation >= 0 else "-"


def _explained(came: CrossValidationResult) -> list[str]:
    """What the confidence intervals mean."""
    if len(came.runs) < 2:
        return ["a single run has no interval for the mean"]
    if not came.folds:
        return ["95 % intervals: of a run over its examples, of the mean over seeds"]
    again = f", repeated {came.repeat} times" if came.repeat > 1 else ""
    return [
        f"95 % intervals: of a run over its examples, of the mean over {came.folds} folds{again}",
        "by Student's t, corrected for the training data that folds share",
    ]


def _show(came: CrossValidationResult, args: argparse.Namespace) -> None:
    """Print the result."""
    if args.json:
        show(to_json(came.as_dict()))
    elif args.quiet:
        show(str(came.folder))
    else:
        show("\n".join(["", *lines(came), str(came.folder)]))
    sys.stdout.flush()
