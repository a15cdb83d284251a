"""What `evaluate` tells of labels: a table, what is taken for what, and how sure answers are."""

import argparse
import sys
from dataclasses import dataclass, field
from typing import Any

from ..by_label import (
    SHARES,
    LabelTable,
    calibration,
    calibration_view,
    confusion_view,
    judged_of,
    label_table,
)
from ..metrics import METRICS
from ..run import Run
from ..training.evaluation import Evaluation
from ..views import View
from .judging import with_interval
from .terminal import can_show, mark, show, table, visible, width

SHOWN = ""  # in the place of a file: in the terminal
ECE = "calibration_error"
MOST = 10  # confusions that are told
PICTURES = {
    "confusion": "which labels are taken for which, too",
    "calibration": "how far the confidence of answers can be trusted, too",
}


def add_labels(parser: argparse.ArgumentParser) -> None:
    """What may be told of labels."""
    parser.add_argument(
        "--by-label", action="store_true", help="precision, recall and F1 of every label, too"
    )
    for name, what in PICTURES.items():
        help = f"{what}; drawn, where a file is named: .svg, .png, .html, .json"
        parser.add_argument(f"--{name}", nargs="?", const=SHOWN, metavar="FILE.svg", help=help)


@dataclass
class LabelReport:
    """What is told of labels: facts for machines, and lines for people."""

    facts: dict[str, Any] = field(default_factory=dict)
    lines: list[str] = field(default_factory=list)

    @classmethod
    def of(cls, run: Run, score: Evaluation, given: argparse.Namespace) -> "LabelReport":
        """As much as was asked for; pictures are drawn on the way."""
        told = cls()
        if not given.by_label and given.confusion is None and given.calibration is None:
            return told
        judged = judged_of(run.task, score)
        labels = label_table(judged)
        if given.by_label:
            told.facts["by_label"] = labels.as_dict()
            told.lines += ["", *_table(labels), *_confused(labels)]
        if given.confusion is not None:
            told.add("confusion", confusion_view(labels.confusion, run.name), given.confusion)
        if given.calibration is not None:
            error = calibration(judged)
            told.facts[ECE] = vars(error)
            told.lines += ["", f"{METRICS[ECE].title}  {with_interval(ECE, error)}"]
            told.add("calibration", calibration_view(judged, run.name), given.calibration)
        return told

    def add(self, name: str, view: View, file: str) -> None:
        """A picture: in the file that was named, or among the lines."""
        self.facts[name] = view.to_json()
        if file == SHOWN:
            self.lines += ["", drawn_text(view)]
        else:
            self.facts[f"{name}_picture"] = str(view.save(file))
            self.lines.append(self.facts[f"{name}_picture"])

    def show(self) -> None:
        """Print the lines."""
        for line in self.lines:
            show(line)


def drawn_text(view: View) -> str:
    """A picture for this terminal."""
    return view.to_text(width(), ascii=not can_show("█", sys.stdout))


def _table(labels: LabelTable) -> list[str]:
    """Every label in a row, the most frequent first, and all of them together."""
    rows = [[labels.what, "precision", "recall", "F1", "right", "guessed"]]
    ordered = sorted(labels.scores, key=lambda one: (-one.right, one.label))
    for one in [*ordered, labels.micro()]:
        shares = [f"{100 * getattr(one, name):.2f} %" for name in SHARES]
        rows.append([visible(one.label), *shares, f"{one.right:,}", f"{one.guessed:,}"])
    macro = labels.macro()
    rows.append(["mean (macro)", *(f"{100 * macro[name]:.2f} %" for name in SHARES), "", ""])
    return table(rows, "lr")


def _confused(labels: LabelTable) -> list[str]:
    """What was taken for what most often."""
    found = labels.confusion.mistakes()
    if not found:
        return []
    arrow = mark("to", sys.stdout)
    which = "word by word, " if labels.what == "entity" else ""
    rows = [
        [visible(one) or "(none)", arrow, visible(other) or "(none)", f"{count:,}"]
        for one, other, count in found[:MOST]
    ]
    head = f"taken for another most often, {which}right {arrow} guessed:"
    return ["", head, *table(rows, "lllr")]
