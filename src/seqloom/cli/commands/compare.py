"""seqloom compare: runs side by side on the same examples, and which of them is better.

Runs side by side as a table, the best of each row with a star.
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ...evaluation.significance import (
    Contender,
    beside_first,
    common,
    differences,
    sentence,
    verdict,
)
from ...experiments.compare import Compared, compare, too_few
from ...metrics import METRICS
from ...model import Search
from ...runs.record import shown_bytes, to_json
from ..arguments import at_least_one
from ..loading import Progress, load_run, say_notes, with_interval
from ..terminal import MARKS, can_show, duration, say, several, show, table, visible, width
from .evaluate import searched


def comparison(runs: Sequence[Contender], show_all: bool) -> list[str]:
    """Everything side by side, the best of each row with a star."""
    differ, equal = differences(runs)
    rows = [["", *(run.name for run in runs)]]
    rows += [[name, *map(_setting, values)] for name, values in differ.items()]
    if show_all:
        rows += [[name, *[_setting(value)] * len(runs)] for name, value in equal.items()]
    rows += [_metric_row(name, runs) for name in common(runs)]
    rows += [
        _row("training time", [run.seconds for run in runs], duration),
        _row("learned numbers", [run.learned for run in runs], lambda number: f"{number:,}"),
        _row("size on disk", [run.bytes for run in runs], shown_bytes),
        _row("ms per example", [run.milliseconds for run in runs], lambda time: f"{time:.3g}"),
    ]
    return table(rows)


def wins(compared: Compared) -> list[str]:
    """Where each run wins, a table and a sentence for each way to look at it."""
    names = [run.name for run in compared.runs]
    lines = []
    for one in compared.where:
        rows = [[f"{one.metric.title} by {one.title}", "n", *names]]
        for group in one.groups:
            cells = [one.metric.show(value.value) for value in group.values]
            stars = [place == group.best and group.is_certain for place in range(len(names))]
            rows.append([visible(group.title), f"{group.count:,}", *_starred(cells, stars)])
        lines += ["", *table(rows, "lrl"), one.sentence()]
    return lines or ["", "nowhere to look: the runs have not the same examples, or all are alike"]


def _metric_row(name: str, runs: Sequence[Contender]) -> list[str]:
    metric = METRICS[name]
    values = [run.measured[name].value for run in runs]
    best = min(metric.rank(value) for value in values)
    cells = [with_interval(name, run.measured[name]) for run in runs]
    return [metric.title, *_starred(cells, [metric.rank(value) == best for value in values])]


def _row(title: str, values: Sequence[Any], show: Any) -> list[str]:
    """A row where less is better."""
    return [title, *_starred([show(v) for v in values], [v == min(values) for v in values])]


def _starred(cells: list[str], is_best: list[bool]) -> list[str]:
    """A star behind the best; none where all are equally good."""
    star = MARKS["best"][0 if can_show(MARKS["best"][0], sys.stdout) else 1]
    return [
        f"{c} {star}" if b and not all(is_best) else c for c, b in zip(cells, is_best, strict=True)
    ]


def _setting(value: Any) -> str:
    return "" if value is None else str(value)


def add(parser: argparse.ArgumentParser) -> None:
    """The arguments of the command."""
    parser.add_argument("runs", metavar="RUN", nargs="+", help="two runs or more, of one task")
    parser.add_argument(
        "--file", type=Path, metavar="FILE", help="left out: the test part of the first run"
    )
    parser.add_argument("--all", action="store_true", help="settings that are equal, too")
    parser.add_argument("--limit", type=int, metavar="N", help="judge on the first N examples only")
    parser.add_argument(
        "--beam", type=int, default=1, metavar="N", help="candidates kept; 1 is greedy search"
    )
    parser.add_argument(
        "--by-length", action="store_true", help="the first metric by the length of the source, too"
    )
    parser.add_argument(
        "--where",
        action="store_true",
        help="where each run wins: by length, by label, by what training showed",
    )


def run(given: argparse.Namespace) -> int:
    """Judge every run and print the table and the verdict."""
    search = Search(beam=at_least_one("--beam", given.beam))
    limit = None if given.limit is None else at_least_one("--limit", given.limit)
    if len(given.runs) < 2:
        raise too_few()
    runs = [load_run(name, given.runs_dir) for name in given.runs]
    with Progress("comparing", quiet=given.quiet) as progress:
        compared = compare(
            runs,
            given.file,
            limit,
            search,
            lambda run, done, total: progress.of(f"evaluating {run.name}", total, done),
        )
    say_notes(compared.notes, given.quiet)
    view = compared.by_length() if given.by_length else None
    if given.json:
        drawn = {"by_length": view.to_json()} if view else {}
        show(to_json(compared.as_dict() | drawn))
        return 0
    _print(compared, given.all, searched(runs[0], search))
    if view is not None:
        show(f"\n{view.to_text(width(), ascii=not can_show('█', sys.stdout))}")
    if given.where:
        for line in wins(compared):
            show(line)
    equal = several(len(differences(compared.contenders)[1]), "equal setting")
    if not (given.all or given.quiet):
        say(f"differences only; --all shows {equal}")
    return 0


def _print(compared: Compared, show_all: bool, sought: str) -> None:
    """The table, the verdict, and every metric example by example."""
    found = compared.contenders
    for line in comparison(found, show_all):
        show(line)
    number = several(len(found[0].places), "example")
    show(f"n = {number} ({compared.exams[0].title}), 95 % intervals{sought}")
    show(verdict(found))
    for name, pairs in beside_first(found).items():
        show(f"\n{name} beside {found[0].name}, example by example:")
        for metric, apart in pairs.items():
            show(f"  {sentence(metric, found[0].name, name, apart)}")
