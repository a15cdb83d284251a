"""seqloom runs: every run in the runs folder, the newest last."""

import argparse
import sys
from pathlib import Path

from ...metrics import METRICS
from ...runs.record import Record, read_record, shown_metric, to_json
from ...runs.run import run_folders
from ..terminal import say, show, sparkline, table

CURVE = 16


def add(parser: argparse.ArgumentParser) -> None:
    """The arguments of the command."""
    parser.add_argument("--task", metavar="TASK", help="only runs of this task")


def run(given: argparse.Namespace) -> int:
    """Print a line for each run; with --quiet only their names."""
    folder = Path(given.runs_dir)
    records = [read_record(found) for found in run_folders(folder)]
    chosen = [record for record in records if given.task in (None, record.task)]
    if given.json:
        for record in chosen:
            show(to_json(record.as_dict()))
    elif given.quiet:
        for record in chosen:
            show(record.name)
    elif chosen:
        heading = ["run", "task", "model", "state", "best", "curve", "age"]
        for line in table([heading, *map(_row, chosen)], "llllrlr"):
            show(line)
        show(f"best: {_legend(chosen)}")
    else:
        _say_none(folder, given.task, records)
    return 0


def age(seconds: float) -> str:
    """A time that has passed, in one unit."""
    for length, name in ((86400, "d"), (3600, "h"), (60, "min")):
        if seconds >= length:
            return f"{int(seconds // length)} {name}"
    return f"{int(seconds)} s"


def state(record: Record) -> str:
    """The state, with how far it is where it is running."""
    progress = record.progress()
    if record.state == "running" and progress is not None:
        return f"running {100 * progress:.0f} %"
    return record.state


def thinned(values: list[float], most: int) -> list[float]:
    """At most so many of the values, evenly taken, the last one kept."""
    if len(values) <= most:
        return values
    return [values[(place + 1) * len(values) // most - 1] for place in range(most)]


def _row(record: Record) -> list[str]:
    curve = sparkline(thinned(record.curve, CURVE), sys.stdout)
    name, best = record.headline, record.best
    value = shown_metric(name, best[name]) if name and best else ""
    told = [record.name, record.task, record.model, state(record), value, curve]
    return [*told, age(record.age())]


def _legend(records: list[Record]) -> str:
    """Which metric the best of each task is, on validation."""
    tasks: dict[str, dict[str, None]] = {}
    for record in records:
        if record.headline:
            tasks.setdefault(record.headline, {})[record.task] = None
    told = [f"{METRICS[name].title} for {' and '.join(who)}" for name, who in tasks.items()]
    return f"{', '.join(told)}, on validation" if told else "no evaluation yet"


def _say_none(folder: Path, task: str | None, records: list[Record]) -> None:
    if records:
        others = sorted({record.task for record in records})
        say(f"No runs of {task} in {folder}; there are runs of: {', '.join(others)}")
    else:
        say(f"No runs in {folder} yet.\nNext: seqloom demo, or  seqloom train TASK FILE")
