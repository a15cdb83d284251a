"""What `evaluate` tells of labels: a table, what is taken for what, and how sure answers are."""

import argparse
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from ..by_label import calibration, calibration_view, confusion, confusion_view, decided
from ..metrics import METRICS
from ..metrics.labels import LabelScore
from ..run import Run
from ..training.evaluation import Evaluation
from ..views import View
from .judging import with_interval
from .terminal import can_show, show, table, visible, width

SHOWN = ""  # in the place of a file: in the terminal
ECE = "calibration_error"
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
        decisions = decided(run.task, score)
        counts = confusion(decisions)
        if given.by_label:
            scores = counts.by_label()
            told.facts["by_label"] = [one.as_dict() for one in scores]
            told.lines += ["", *_table(scores)]
        if given.confusion is not None:
            told.add("confusion", confusion_view(counts, run.name), given.confusion)
        if given.calibration is not None:
            error = calibration(decisions)
            told.facts[ECE] = vars(error)
            told.lines += ["", f"{METRICS[ECE].title}  {with_interval(ECE, error)}"]
            told.add("calibration", calibration_view(decisions, run.name), given.calibration)
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


def _table(scores: Sequence[LabelScore]) -> list[str]:
    """Every label in a row, the most frequent first."""
    rows = [["label", "precision", "recall", "F1", "right", "guessed"]]
    for one in sorted(scores, key=lambda one: (-one.right, one.label)):
        shares = [f"{100 * value:.2f} %" for value in (one.precision, one.recall, one.f1)]
        rows.append([visible(one.label), *shares, f"{one.right:,}", f"{one.guessed:,}"])
    return table(rows, "lr")
