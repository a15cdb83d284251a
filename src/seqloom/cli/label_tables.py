"""Tables of labels as they are printed."""

import sys

from ..by_label import LabelTable
from ..metrics.spans import Row
from .terminal import MARKS, can_show, table

MOST = 10  # confusions that are told


def label_lines(labels: LabelTable) -> list[str]:
    """A row for each label, and what was taken for what most often."""
    head = [labels.what, "precision", "recall", "F1", "right", "found"]
    found = [*map(_cells, labels.rows), *map(_cells, labels.together)]
    told = ["", *table([head, *found], "lr")]
    if confused := labels.confused():
        arrow = MARKS["to"][0 if can_show(MARKS["to"][0], sys.stdout) else 1]
        which = "word by word, " if labels.what == "entity" else ""
        told += ["", f"taken for another most often, {which}right {arrow} found:"]
        rows = [[one, arrow, other, f"{count:,}"] for one, other, count in confused[:MOST]]
        told += table(rows, "lllr")
    return told


def _cells(row: Row) -> list[str]:
    shares = [f"{100 * share:.2f} %" for share in (row.precision, row.recall, row.f1)]
    return [row.label, *shares, f"{row.support:,}", f"{row.guessed:,}"]
