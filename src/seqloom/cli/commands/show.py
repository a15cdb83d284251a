"""seqloom show: everything about one run, read from its files without loading the model."""

import argparse
import sys
from pathlib import Path
from textwrap import wrap
from typing import Any

from ...config import with_defaults
from ...metrics import METRICS
from ...runs.card import metrics_in
from ...runs.names import run_argument
from ...runs.record import Record, read_record, shown_bytes, shown_metric, to_json
from ...runs.run import CARD, find
from ...runs.splits import FILES
from ...tasks import TASKS
from ...training.options import Training
from ..suggestions import prediction_with
from ..terminal import can_show, duration, mark, plural, say, show, table, width

MOST_EVALUATIONS = 12
MOST_METRICS = 6  # columns, the most important first


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of the command."""
    parser.add_argument("run", metavar="RUN", help="name or folder of a run")
    parser.add_argument("--all", action="store_true", help="all settings and all evaluations")


def run(args: argparse.Namespace) -> int:
    """Print the run."""
    record = read_record(find(args.run, Path(args.runs_dir)))
    if args.json:
        show(to_json(as_dict(record)))
        return 0
    for line in [*_wrapped(_facts(record, args.all)), "", *_evaluations(record, args.all)]:
        show(line)
    if not args.quiet:
        _say_next(record)
    return 0


def as_dict(record: Record) -> dict[str, Any]:
    """The run as JSON."""
    return {
        "name": record.name,
        "folder": str(record.folder),
        "state": record.state,
        "progress": record.progress(),
        "examples": record.start.get("examples", {}),
        "learned": record.num_parameters(),
        "weights_bytes": record.weights_bytes(),
        "folder_bytes": record.folder_bytes(),
        "seconds": record.seconds(),
        "steps": _steps(record),
        "best": record.best,
        "evaluations": record.evaluations,
        "settings": record.settings(),
        "card": _card(record),
    }


def _facts(record: Record, is_all: bool) -> list[list[str]]:
    """Model, data, settings, cost and best result."""
    dot = " · " if can_show("·", sys.stdout) else ", "
    examples = record.start.get("examples", {})
    counts = [f"{examples[name]:,} {name}" for name in FILES if name in examples]
    files = [f"{n} {record.recipe.data[n]}" for n in FILES if record.recipe.data.get(n)]
    rows = [
        [record.name, dot.join([f"{record.task} with {record.model}", record.state])],
        ["folder", str(record.folder)],
        ["data", dot.join(files)],
        ["examples", dot.join(counts)],
        ["", dot.join(record.start.get("notes", []))],
        ["task", dot.join(_settings(record.recipe.task))],
        ["model", dot.join(_settings(record.recipe.model))],
        ["training", dot.join(_training(record, is_all))],
        ["size", _size(record)],
        ["time", f"{duration(record.seconds())} for {plural(_steps(record), 'step')}"],
        ["best", dot.join(_best(record))],
        ["card", _card(record) or ""],
    ]
    return [row for row in rows if row[1]]


def _wrapped(rows: list[list[str]]) -> list[str]:
    """Two columns of names and texts; long texts are wrapped."""
    room = max(len(name) for name, _ in rows) + 2
    wrapped = []
    for name, text in rows:
        lines = wrap(text, max(20, width() - room), break_long_words=False, break_on_hyphens=False)
        wrapped += [f"{name:<{room}}{lines[0]}", *(" " * room + line for line in lines[1:])]
    return wrapped


def _evaluations(record: Record, is_all: bool) -> list[str]:
    """A row for each evaluation; only the last ones if there are many."""
    shown = record.evaluations if is_all else record.evaluations[-MOST_EVALUATIONS:]
    if not shown:
        return ["no evaluations yet"]
    names = list(metrics_in(shown[-1]))[: None if is_all else MOST_METRICS]
    rows = [["step", "epoch", *(METRICS[name].title for name in names), ""]]
    star = mark("best", sys.stdout)
    for event in shown:
        values = [shown_metric(name, event[name]) if name in event else "" for name in names]
        epoch = f"{event.get('epoch', 0):.1f}"
        rows.append([f"{event['step']:,}", epoch, *values, star if event.get("best") else ""])
    left = len(record.evaluations) - len(shown)
    return [*table(rows, "r"), *[f"and {plural(left, 'earlier evaluation')}: --all"] * bool(left)]


def _settings(table: dict[str, Any]) -> list[str]:
    return [f"{key} {value}" for key, value in table.items() if key != "name"]


def _training(record: Record, is_all: bool) -> list[str]:
    """Settings of training; those at their defaults only with --all."""
    default = {} if is_all else with_defaults(Training, {})
    chosen = {k: v for k, v in record.recipe.training.items() if is_all or default.get(k) != v}
    return _settings(chosen) or ["default settings"]


def _size(record: Record) -> str:
    known = record.num_parameters()
    learned = f"{known:,} parameters, " if known is not None else ""
    on_disk = f"{shown_bytes(record.weights_bytes())} of weights"
    return f"{learned}{on_disk}, {shown_bytes(record.folder_bytes())} in total"


def _best(record: Record) -> list[str]:
    if record.best is None:
        return []
    values = [
        f"{METRICS[name].title} {shown_metric(name, value)}"
        for name, value in metrics_in(record.best).items()
    ]
    return [f"step {record.best['step']:,} on validation data", *values]


def _steps(record: Record) -> int:
    return int(record.events[-1]["step"]) if record.events else 0


def _card(record: Record) -> str | None:
    path = record.folder / CARD
    return str(path) if path.exists() else None


def _say_next(record: Record) -> None:
    if record.state in ("stopped", "vanished"):
        why = "its process was killed" if record.state == "vanished" else "it was stopped"
        say(f"Next: seqloom train --resume {run_argument(record.folder)}   ({why})")
        return
    if record.state == "finished" and record.task in list(TASKS):  # a file is not run for its verb
        say(f"Next: {prediction_with(record.folder)}")
        say(f"      seqloom evaluate {run_argument(record.folder)}")
