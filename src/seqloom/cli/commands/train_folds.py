"""seqloom train --folds and --repeat: one recipe trained several times, and averaged."""

import argparse
import sys
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from ...errors import UsageError
from ...experiments.cross_validate import Times, fold, prepare
from ...experiments.queue import Onlooker
from ...experiments.results import Climbed, Folded
from ...metrics import METRICS, Measured
from ...metrics.bootstrap import Mean
from ...recipe import Recipe
from ...runs.record import to_json
from ...training.events import Event
from ..loading import say_notes
from ..progress_ladder import report_for
from ..session import Stopper, call, shown_interval, untrained
from ..terminal import duration, heading, say, several, show, table

ASKED = "Stopping after this step… (Ctrl-C again to quit at once)"
AT_ONCE = "Stopped at once. The run under way saves itself."


def add_times(parser: argparse.ArgumentParser) -> None:
    """How often to train, and what to hold out."""
    group = parser.add_argument_group("train several times, and average")
    group.add_argument(
        "--folds", type=int, metavar="K", help="cut FILE into K folds and hold out each in turn"
    )
    group.add_argument(
        "--group", default="", metavar="COLUMN", help="rows with the same here are in one fold"
    )
    group.add_argument(
        "--in-time",
        action="store_true",
        help="FILE is in the order of time: train each fold on what came before it",
    )
    group.add_argument("--repeat", type=int, metavar="N", help="train from N seeds")


def times_of(given: argparse.Namespace) -> Times:
    """What `add_times` was given; false where it was given nothing."""
    folds = -1 if given.folds == 0 else given.folds or 0  # 0 is a wrong number, not a missing one
    repeat = 1 if given.repeat is None else given.repeat
    return Times(folds, repeat, given.group, given.in_time)


def train_times(recipes: list[Recipe], times: Times, given: argparse.Namespace) -> int:
    """Each recipe so often; one after another, up to the first that is stopped."""
    if given.dry_run:
        runs = [one for recipe in recipes for one in times.recipes(recipe).values()]
        show("\n".join(recipe.to_toml() for recipe in runs).rstrip())
        return 0
    names = [given.name and f"{given.name}-{recipe.model['name']}" for recipe in recipes]
    for number, recipe in enumerate(recipes, start=1):
        if len(recipes) > 1 and not given.quiet:
            say(heading(f"{number}/{len(recipes)} {recipe.model['name']}", sys.stderr))
        name = names[number - 1] if len(recipes) > 1 else given.name
        code = _fold(prepare(recipe, times, name, given.runs_dir), given)
        if code:
            if left := len(recipes) - number:
                say(f"{several(left, 'model')} not begun.")
            return code
    return 0


def resume_times(folder: Path, settings: dict[str, Any], given: argparse.Namespace) -> int:
    """Go on with folds or repeats as they began."""
    if settings or given.dry_run or given.data_changed:
        raise UsageError(
            "U001",
            f"{folder} goes on as it began: its runs must stay alike",
            help=[f"seqloom train --resume {call(folder)}", "train anew with other settings"],
        )
    return _fold(folder, given)


def _fold(folder: Path, given: argparse.Namespace) -> int:
    """Train what is left, and print the table."""
    with closing(_report(folder, given.quiet)) as report:
        stopper = Stopper(report.announce, ASKED, lambda: AT_ONCE)
        stopper.tell(Event("start", 0))  # every run keeps what it has: a stop is always polite
        with stopper.listening():
            came = fold(folder, Onlooker(report.tell, stopper.ask))
    say_notes(came.notes(), given.quiet)
    _show(came, given)
    if came.is_stopped:
        say(f"Stopped: {several(len(came.runs), 'run')} done, {len(came.left)} left. Nothing lost.")
        say(f"Continue with:  seqloom train --resume {call(folder)}")
        return stopper.exit_code
    if came.failed:
        raise untrained(came.failed, "train", came.folder)
    if not (given.json or given.quiet):
        say(f"Next: seqloom errors {call(came.runs[0].folder)}")
    return 0


def _report(folder: Path, quiet: bool) -> Any:
    return report_for(folder.name, quiet=quiet, word="run", sum_up=_mean_so_far)


def _mean_so_far(done: Sequence[Climbed]) -> str:
    if not done:
        return ""
    metric = next(iter(done[0].measured))
    values = [run.measured[metric].value for run in done]
    return f"mean {METRICS[metric].show(sum(values) / len(values))}"


def lines(came: Folded) -> list[str]:
    """A row for each run, then the mean of each metric."""
    if not came.runs:
        return ["No run is done yet."]
    title = METRICS[came.metric].title
    rows = [["run", title, "examples", "training"]]
    for run in came.runs:
        shown = shown_interval(came.metric, run.measured[came.metric])
        rows.append([run.name, shown, f"{run.examples:,}", duration(run.seconds)])
    means = [["mean of all runs", "", "deviation"]]
    for name, mean in came.means().items():
        means.append([METRICS[name].title, _shown_mean(name, mean), _shown_deviation(name, mean)])
    return [*table(rows, "lr"), "", *table(means, "lr"), *_explained(came)]


def _shown_mean(name: str, mean: Mean) -> str:
    if not mean.low <= mean.high:
        return METRICS[name].show(mean.value)
    return shown_interval(name, Measured(mean.value, mean.low, mean.high))


def _shown_deviation(name: str, mean: Mean) -> str:
    return METRICS[name].show(mean.deviation) if mean.deviation >= 0 else "-"


def _explained(came: Folded) -> list[str]:
    """What the intervals are of."""
    if len(came.runs) < 2:
        return ["one run has no interval"]
    if not came.folds:
        return [
            "95 % intervals: of a run over its examples, of the mean over seeds, all judged alike"
        ]
    again = f", cut anew {came.repeat} times" if came.repeat > 1 else ""
    return [
        f"95 % intervals: of a run over its examples, of the mean over {came.folds} folds{again}",
        "by Student's t, wider than usual as folds share what they learn from",
    ]


def _show(came: Folded, given: argparse.Namespace) -> None:
    """The result on stdout."""
    if given.json:
        show(to_json(came.as_dict()))
    elif given.quiet:
        show(str(came.folder))
    else:
        show("\n".join(["", *lines(came), str(came.folder)]))
    sys.stdout.flush()
