"""Runs side by side as a table, the best of each row with a star."""

import sys
from collections.abc import Sequence
from typing import Any

from ..comparing import Compared
from ..comparing.contenders import Contender, common, differences
from ..metrics import METRICS
from ..record import shown_bytes
from .judging import with_interval
from .terminal import MARKS, can_show, duration, table, visible


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
