"""seqloom runs: list the runs in the runs folder, the newest last."""

import argparse
import sys
from pathlib import Path

from ...metrics import METRICS
from ...runs.record import Record, read_record, shown_metric, to_json
from ...runs.run import run_folders
from ..terminal import say, show, sparkline, table

CURVE = 16


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of the command."""
    parser.add_argument("--task", metavar="TASK", help="only runs of this task")


def run(args: argparse.Namespace) -> int:
    """Print a line for each run; with --quiet only their names."""
    folder = Path(args.runs_dir)
    records = [read_record(path) for path in run_folders(folder)]
    chosen = [record for record in records if args.task in (None, record.task)]
    if args.json:
        for record in chosen:
            show(to_json(record.as_dict()))
    elif args.quiet:
        for record in chosen:
            show(record.name)
    elif chosen:
        heading = ["run", "task", "model", "state", "best", "curve", "age"]
        for line in table([heading, *map(_row, chosen)], "Llllrlr"):
            show(line)
        show(f"best: {_legend(chosen)}")
    else:
        _say_none(folder, args.task, records)
    return 0


def age(seconds: float) -> str:
    """An age in its largest unit: 3 d, 5 h, 12 min."""
    for length, name in ((86400, "d"), (3600, "h"), (60, "min")):
        if seconds >= length:
            return f"{int(seconds // length)} {name}"
    return f"{int(seconds)} s"


def state(record: Record) -> str:
    """The state of a run, with its progress while it is trained."""
    progress = record.progress()
    if record.state == "running" and progress is not None:
        return f"running {100 * progress:.0f} %"
    return record.state


def thinned(values: list[float], most: int) -> list[float]:
    """At most so many of the values, evenly spaced, with the last."""
    if len(values) <= most:
        return values
    return [values[(index + 1) * len(values) // most - 1] for index in range(most)]


def _row(record: Record) -> list[str]:
    curve = sparkline(thinned(record.curve, CURVE), sys.stdout)
    name, best = record.primary_metric, record.best_value
    value = shown_metric(name, best) if name and best is not None else ""
    cells = [record.name, record.task, record.model, state(record), value, curve]
    return [*cells, age(record.age())]


def _legend(records: list[Record]) -> str:
    """The metric that the column `best` shows for each task."""
    tasks: dict[str, dict[str, None]] = {}
    for record in records:
        if record.primary_metric:
            tasks.setdefault(record.primary_metric, {})[record.task] = None
    legend = [f"{METRICS[name].title} for {' and '.join(who)}" for name, who in tasks.items()]
    return f"{', '.join(legend)}, on validation data" if legend else "no evaluation yet"


def _say_none(folder: Path, task: str | None, records: list[Record]) -> None:
    if records:
        others = sorted({record.task for record in records})
        say(f"No runs of {task} in {folder}; there are runs of: {', '.join(others)}")
    else:
        say(f"No runs in {folder} yet.\nNext: seqloom demo   or  seqloom train TASK FILE")
