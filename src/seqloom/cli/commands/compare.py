"""seqloom compare: runs on the same examples, as a table and by paired significance tests."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ...evaluation.significance import (
    ComparedRun,
    common_metrics,
    describe_difference,
    settings_diff,
    verdict,
)
from ...experiments.compare import Comparison, compare, too_few
from ...metrics import METRICS
from ...model import Search
from ...runs.names import is_run
from ...runs.record import shown_bytes, to_json
from ..arguments import add_length, at_least_one, length_from
from ..loading import ProgressLine, load_run, say_notes, with_interval
from ..terminal import MARKS, can_show, duration, plural, say, show, table, visible, width
from .evaluate import search_note


def comparison(runs: Sequence[ComparedRun], show_all: bool) -> list[str]:
    """The table of settings, metrics and costs; a star marks the best of each row."""
    differ, equal = settings_diff(runs)
    rows = [["", *(run.name for run in runs)]]
    rows += [[name, *map(_setting, values)] for name, values in differ.items()]
    if show_all:
        rows += [[name, *[_setting(value)] * len(runs)] for name, value in equal.items()]
    rows += [_metric_row(name, runs) for name in common_metrics(runs)]
    rows += [
        _row("training time", [run.seconds for run in runs], duration),
        _row("parameters", [run.num_parameters for run in runs], lambda number: f"{number:,}"),
        _row("size on disk", [run.bytes for run in runs], shown_bytes),
        _row("ms per example", [run.milliseconds for run in runs], lambda time: f"{time:.3g}"),
    ]
    return table(rows)


def wins(compared: Comparison) -> list[str]:
    """The slices on which each run wins: a table and a sentence for each way to slice."""
    names = [run.name for run in compared.runs]
    lines = []
    for one in compared.where:
        rows = [[f"{one.metric.title} by {one.title}", "n", *names]]
        for group in one.slices:
            cells = [one.metric.show(value.value) for value in group.values]
            stars = [index == group.best and group.is_significant for index in range(len(names))]
            rows.append([visible(group.title), f"{group.count:,}", *_starred(cells, stars)])
        lines += ["", *table(rows, "lrl"), one.sentence()]
    return lines or [
        "",
        "nothing to slice: the runs have different examples, or the examples do not differ",
    ]


def _metric_row(name: str, runs: Sequence[ComparedRun]) -> list[str]:
    metric = METRICS[name]
    values = [run.metrics[name].value for run in runs]
    best = min(metric.rank(value) for value in values)
    cells = [with_interval(name, run.metrics[name]) for run in runs]
    return [metric.title, *_starred(cells, [metric.rank(value) == best for value in values])]


def _row(title: str, values: Sequence[Any], show: Any) -> list[str]:
    """A row where lower is better."""
    return [title, *_starred([show(v) for v in values], [v == min(values) for v in values])]


def _starred(cells: list[str], is_best: list[bool]) -> list[str]:
    """The cells with a star after the best; none if all are equal."""
    star = MARKS["best"][0 if can_show(MARKS["best"][0], sys.stdout) else 1]
    return [
        f"{c} {star}" if b and not all(is_best) else c for c, b in zip(cells, is_best, strict=True)
    ]


def _setting(value: Any) -> str:
    return "" if value is None else str(value)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of the command."""
    parser.add_argument("runs", metavar="RUN", nargs="+", help="two or more runs of one task")
    parser.add_argument(
        "--file",
        type=Path,
        metavar="FILE",
        help="file to compare on (default: the test set of the first run)",
    )
    parser.add_argument("--all", action="store_true", help="also settings that are equal")
    parser.add_argument("--limit", type=int, metavar="N", help="use the first N examples only")
    parser.add_argument(
        "--beam", type=int, default=1, metavar="N", help="beam size; 1 is greedy search (1)"
    )
    add_length(parser)
    parser.add_argument(
        "--by-length", action="store_true", help="also the first metric by length of the input"
    )
    parser.add_argument(
        "--where",
        action="store_true",
        help="slices on which each run wins: by length, by label, by known and unknown inputs",
    )


def _without_others(names: Sequence[str], runs: Path) -> tuple[list[str], list[str]]:
    """The names of runs, and of what lies beside them: a shell expands runs/seeds/* to both."""
    found = [name for name in names if is_run(name, runs)]
    folders = {Path(name).parent for name in found if Path(name).is_dir()}
    others = [
        name
        for name in names
        if name not in found and Path(name).parent in folders and Path(name).exists()
    ]
    return [name for name in names if name not in others], others


def run(args: argparse.Namespace) -> int:
    """Evaluate every run, and print the table and the verdict."""
    search = Search(beam=at_least_one("--beam", args.beam), limit=length_from(args))
    limit = None if args.limit is None else at_least_one("--limit", args.limit)
    names, others = _without_others(args.runs, args.runs_dir)
    say_notes([f"left out, as it is no run: {name}" for name in others], args.quiet)
    if len(names) < 2:
        raise too_few()
    runs = [load_run(name, args.runs_dir) for name in names]
    with ProgressLine("comparing", quiet=args.quiet) as progress:
        compared = compare(
            runs,
            args.file,
            limit,
            search,
            lambda run, done, total: progress.start(f"evaluating {run.name}", total, done),
        )
    say_notes(compared.notes, args.quiet)
    view = compared.by_length() if args.by_length else None
    if args.json:
        pictures = {"by_length": view.to_json()} if view else {}
        show(to_json(compared.as_dict() | pictures))
        return 0
    _print(compared, args.all, search_note(runs[0], search))
    if view is not None:
        show(f"\n{view.to_text(width(), ascii=not can_show('█', sys.stdout))}")
    if args.where:
        for line in wins(compared):
            show(line)
    equal = plural(len(settings_diff(compared.compared_runs)[1]), "equal setting")
    if not (args.all or args.quiet):
        say(f"only settings that differ; --all shows {equal}")
    return 0


def _print(compared: Comparison, show_all: bool, search: str) -> None:
    """Print the table, the verdict, and the paired comparison of every metric."""
    compared_runs = compared.compared_runs
    for line in comparison(compared_runs, show_all):
        show(line)
    number = plural(len(compared_runs[0].example_ids), "example")
    show(f"n = {number} ({compared.test_sets[0].title}), 95 % confidence intervals{search}")
    show(verdict(compared_runs, compared.tests))
    for name, pairs in compared.tests.to_first.items():
        show(f"\n{name} against {compared_runs[0].name}, example by example:")
        for metric, apart in pairs.items():
            show(f"  {describe_difference(metric, compared_runs[0].name, name, apart)}")
    if compared.tests.number > 1:
        show(f"significance is adjusted for {compared.tests.number} tests (Holm)")
