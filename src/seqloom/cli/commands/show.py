"""seqloom show: all that is known of one run, read from its files alone."""

import argparse
import sys
from pathlib import Path
from textwrap import wrap
from typing import Any

from ...config import filled
from ...errors import SeqloomError
from ...metrics import METRICS
from ...runs.card import metrics_in
from ...runs.record import Record, read_record, shown_bytes, shown_metric, to_json
from ...runs.run import CARD, find
from ...runs.splits import FILES
from ...tasks import TASKS
from ...training.options import Training
from ..terminal import can_show, duration, mark, say, several, show, table, width

MOST_EVALUATIONS = 12
MOST_METRICS = 6  # of a row: what is most telling comes first


def add(parser: argparse.ArgumentParser) -> None:
    """The arguments of the command."""
    parser.add_argument("run", metavar="RUN", help="the name of a run, or its folder")
    parser.add_argument("--all", action="store_true", help="every setting and every evaluation")


def run(given: argparse.Namespace) -> int:
    """Print the run."""
    record = read_record(find(given.run, Path(given.runs_dir)))
    if given.json:
        show(to_json(as_dict(record)))
        return 0
    for line in [*_folded(_facts(record, given.all)), "", *_evaluations(record, given.all)]:
        show(line)
    if not given.quiet:
        _say_next(record)
    return 0


def as_dict(record: Record) -> dict[str, Any]:
    """The run for machines."""
    return {
        "name": record.name,
        "folder": str(record.folder),
        "state": record.state,
        "progress": record.progress(),
        "examples": record.start.get("examples", {}),
        "learned": record.learned(),
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
    """What it is, what it learned from, what it took."""
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
        ["took", f"{duration(record.seconds())} for {several(_steps(record), 'step')}"],
        ["best", dot.join(_best(record))],
        ["card", _card(record) or ""],
    ]
    return [row for row in rows if row[1]]


def _folded(rows: list[list[str]]) -> list[str]:
    """Names on the left, and beside them their texts, over several lines where they are long."""
    room = max(len(name) for name, _ in rows) + 2
    found = []
    for name, text in rows:
        lines = wrap(text, max(20, width() - room), break_long_words=False, break_on_hyphens=False)
        found += [f"{name:<{room}}{lines[0]}", *(" " * room + line for line in lines[1:])]
    return found


def _evaluations(record: Record, is_all: bool) -> list[str]:
    """A row for each evaluation, the first ones left out where they are many."""
    found = record.evaluations if is_all else record.evaluations[-MOST_EVALUATIONS:]
    if not found:
        return ["no evaluations yet"]
    names = list(metrics_in(found[-1]))[: None if is_all else MOST_METRICS]
    rows = [["step", "epoch", *(METRICS[name].title for name in names), ""]]
    star = mark("best", sys.stdout)
    for event in found:
        values = [shown_metric(name, event[name]) if name in event else "" for name in names]
        epoch = f"{event.get('epoch', 0):.1f}"
        rows.append([f"{event['step']:,}", epoch, *values, star if event.get("best") else ""])
    left = len(record.evaluations) - len(found)
    return [*table(rows, "r"), *[f"and {several(left, 'earlier evaluation')}: --all"] * bool(left)]


def _settings(table: dict[str, Any]) -> list[str]:
    return [f"{key} {value}" for key, value in table.items() if key != "name"]


def _training(record: Record, is_all: bool) -> list[str]:
    """The settings of training, those left at their defaults only if asked for."""
    default = {} if is_all else filled(Training, {})
    given = {k: v for k, v in record.recipe.training.items() if is_all or default.get(k) != v}
    return _settings(given) or ["as by default"]


def _size(record: Record) -> str:
    known = record.learned()
    learned = f"{known:,} learned numbers, " if known is not None else ""
    on_disk = f"{shown_bytes(record.weights_bytes())} of weights"
    return f"{learned}{on_disk}, {shown_bytes(record.folder_bytes())} in all"


def _best(record: Record) -> list[str]:
    if record.best is None:
        return []
    values = [
        f"{METRICS[name].title} {shown_metric(name, value)}"
        for name, value in metrics_in(record.best).items()
    ]
    return [f"step {record.best['step']:,} on validation", *values]


def _steps(record: Record) -> int:
    return int(record.events[-1]["step"]) if record.events else 0


def _card(record: Record) -> str | None:
    path = record.folder / CARD
    return str(path) if path.exists() else None


def _say_next(record: Record) -> None:
    if record.state in ("stopped", "vanished"):
        why = "its process ended without a word" if record.state == "vanished" else "it was stopped"
        say(f"Next: seqloom train --resume {record.name}   ({why})")
        return
    try:
        verb = TASKS.find(record.task).verb
    except SeqloomError:
        return
    if record.state == "finished":
        say(f"Next: seqloom {verb} {record.name} …    seqloom evaluate {record.name} FILE")
