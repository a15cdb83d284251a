"""seqloom evaluate: a run's metrics on a file, with how far chance could have moved them.

What `evaluate` tells of labels: a table, what is taken for what, and how sure answers are.
"""

import argparse
import sys
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from ...data.formats.parallel_names import name_of
from ...errors import UsageError
from ...evaluation.by_label import (
    SHARES,
    LabelTable,
    calibration,
    calibration_view,
    confusion_view,
    judged_of,
    label_table,
)
from ...evaluation.by_length import ByHorizon, by_horizon, by_length
from ...evaluation.evaluate import Evaluation
from ...experiments.compare import Exam, exam
from ...metrics import METRICS
from ...model import Search
from ...runs.record import to_json
from ...runs.run import Run
from ...signature import Form
from ...views import View
from ..arguments import add_file, add_reading, add_search, add_unknown_labels, reading_of, search_of
from ..loading import impossible_note, judged, load_together, say_notes, unknown_note, with_interval
from ..terminal import can_show, duration, mark, several, show, table, visible, width

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


TOLD_AHEAD = ("mase", "mae", "rmse", "smape", "crps", "coverage_80", "coverage_95")


def add(parser: argparse.ArgumentParser) -> None:
    """The arguments of the command."""
    parser.add_argument("run", metavar="RUN", help="the name of a run, or its folder")
    add_file(parser, "left out: the run's own test part")
    parser.add_argument(
        "--by-length", action="store_true", help="the first metric by the length of the source, too"
    )
    parser.add_argument(
        "--by-horizon", action="store_true", help="of forecasts: every metric by the steps ahead"
    )
    parser.add_argument(
        "-o", "--output", type=Path, metavar="FILE.svg", help="draw it; also .png, .html, .json"
    )
    add_labels(parser)
    add_search(parser)
    add_reading(parser)
    add_unknown_labels(parser)


def run(given: argparse.Namespace) -> int:
    """Print each metric with its interval."""
    search = search_of(given)
    if given.output is not None and not (given.by_length or given.by_horizon):
        raise UsageError(
            "U010",
            "--output draws what --by-length or --by-horizon finds",
            help=["--by-length", "--by-horizon   of forecasts"],
        )
    if given.by_length and given.by_horizon:
        raise UsageError("U010", "--by-length and --by-horizon: choose one")
    run = load_together(given)
    file = Path(name_of(given.file)) if given.file else None
    found = exam(run, file, reading_settings(given), given.unknown_labels == "skip")
    say_notes(found.notes, given.quiet)
    wanted = replace(search, chances=given.calibration is not None)
    score = judged(run, found, wanted, given.quiet)
    labels = LabelReport.of(run, score, given)
    share = run.task.unknown_share(score.examples)
    say_notes(unknown_note(share) + impossible_note(score), given.quiet)
    how = run.task.how_measured(score.examples)
    view = by_length(run.task, score, run.name) if given.by_length else None
    ahead = by_horizon(run.task, score, run.name) if given.by_horizon else None
    drawing: View | None = ahead.view if ahead else view
    picture = drawing.save(given.output) if drawing and given.output else None
    if given.json:
        more = {"together_with": given.others, "unknown_share": share, "signatures": how}
        facts = _as_dict(run, found, score, search) | more
        drawn: dict[str, Any] = {"by_length": view.to_json()} if view else {}
        drawn |= {"by_horizon": ahead.as_dict()} if ahead else {}
        drawn |= {"picture": str(picture)} if picture else {}
        show(to_json(facts | drawn | labels.facts))
        return 0
    _print(score, found.title, searched(run, search) + _joined_by(given.others), how)
    if view is not None:
        show(f"\n{drawn_text(view)}")
    if ahead is not None:
        for line in _by_steps(ahead):
            show(line)
    if picture is not None:
        show(str(picture))
    labels.show()
    return 0


def _print(score: Evaluation, title: str, sought: str, how: dict[str, str]) -> None:
    """Each metric with its interval, and how it was taken."""
    measured = score.measured()
    for line in table([[METRICS[n].title, with_interval(n, m)] for n, m in measured.items()]):
        show(line)
    number = several(len(score.examples), "example")
    show(f"n = {number} ({title}), 95 % intervals{sought}, {duration(score.seconds)}")
    for name, words in how.items():
        show(f"{METRICS[name].title}: {words}")


def _by_steps(found: ByHorizon) -> list[str]:
    """The first metrics for each bucket of steps ahead."""
    names = [name for name in found.values if name in TOLD_AHEAD] or list(found.values)
    rows = [["steps ahead", *(name.replace("_", " ") for name in names)]]
    for place, bucket in enumerate(found.view.curves[0].buckets):
        shown = [METRICS[name].show(found.values[name][place]) for name in names]
        rows.append([bucket.title, *shown])
    return ["", *table(rows, "rr")]


def searched(run: Run, search: Search) -> str:
    """How answers were looked for, where that makes a difference."""
    if run.task.form is not Form.TRANSDUCE:
        return ""
    return ", greedy search" if search.beam == 1 else f", beam {search.beam}"


def _joined_by(others: list[str]) -> str:
    """With whom the run answered."""
    return f", together with {' and '.join(others)}" if others else ""


def _as_dict(run: Run, found: Exam, score: Evaluation, search: Search) -> dict[str, Any]:
    """The score for machines."""
    return {
        "run": run.name,
        "file": str(found.file or ""),
        "examples": found.title,
        "n": len(score.examples),
        "beam": search.beam,
        "length_penalty": search.length_penalty,
        "coverage_penalty": search.coverage_penalty,
        "block_ngrams": search.block_ngrams,
        "metrics": {name: vars(value) for name, value in score.measured().items()},
        "seconds": score.seconds,
    }


def reading_settings(given: argparse.Namespace) -> dict[str, Any]:
    """What is to be read otherwise than the recipe says."""
    settings = reading_of(given)
    for path in settings:
        if not path.startswith("data."):
            raise UsageError(
                "U005",
                f"--set {path}: expected data.KEY=VALUE",
                notes=["The other tables of a recipe belong to the trained model."],
                help=["for example --set data.skip_bad=true"],
            )
    return settings
