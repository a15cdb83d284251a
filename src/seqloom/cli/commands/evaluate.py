"""seqloom evaluate: the metrics of a run on a file, with 95 % confidence intervals.

Of labels also precision, recall and F1 of each, the confusion matrix, and calibration.
"""

import argparse
import sys
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from ...data.formats.parallel_names import name_of
from ...errors import UsageError
from ...evaluation.by_label import (
    SCORES,
    ClassificationReport,
    calibration,
    calibration_view,
    classification_report,
    confusion_view,
    label_decisions,
)
from ...evaluation.by_length import HorizonMetrics, by_horizon, by_length
from ...evaluation.evaluate import Evaluation
from ...experiments.compare import TestSet, load_test_set
from ...experiments.length_penalty import (
    PENALTIES,
    choose_length_penalty,
)
from ...metrics import METRICS
from ...model import Search
from ...runs.record import to_json
from ...runs.run import Run
from ...signature import Form
from ...views import View
from ..arguments import (
    add_data_options,
    add_file,
    add_search,
    add_unknown_labels,
    data_settings,
    search_from,
)
from ..loading import (
    ProgressLine,
    cut_note,
    evaluate_run,
    impossible_note,
    load_ensemble,
    say_notes,
    trained_note,
    unknown_note,
    with_interval,
)
from ..terminal import can_show, duration, mark, plural, show, table, visible, width

SHOWN = ""  # instead of a file name: draw in the terminal
ECE = "calibration_error"
MOST = 10  # confusions that are listed
PICTURES = {
    "confusion": "also the confusion matrix",
    "calibration": "also the calibration of confidences, as a reliability diagram",
}


def add_labels(parser: argparse.ArgumentParser) -> None:
    """Add --by-label, --confusion and --calibration."""
    parser.add_argument(
        "--by-label", action="store_true", help="also precision, recall and F1 of every label"
    )
    for name, about in PICTURES.items():
        help = f"{about}; saved if a file is named: .svg, .png, .html, .json"
        parser.add_argument(f"--{name}", nargs="?", const=SHOWN, metavar="FILE.svg", help=help)


@dataclass
class LabelReport:
    """Metrics of labels: JSON facts, and lines of text."""

    facts: dict[str, Any] = field(default_factory=dict)
    lines: list[str] = field(default_factory=list)

    @classmethod
    def of(cls, run: Run, score: Evaluation, args: argparse.Namespace) -> "LabelReport":
        """The parts chosen on the command line; pictures are saved at once."""
        report = cls()
        if not args.by_label and args.confusion is None and args.calibration is None:
            return report
        decisions = label_decisions(run.task, score)
        labels = classification_report(decisions)
        if args.by_label:
            report.facts["by_label"] = labels.as_dict()
            report.lines += ["", *_table(labels), *_confused(labels)]
        if args.confusion is not None:
            report.add("confusion", confusion_view(labels.confusion, run.name), args.confusion)
        if args.calibration is not None:
            error = calibration(decisions)
            report.facts[ECE] = vars(error)
            report.lines += ["", f"{METRICS[ECE].title}  {with_interval(ECE, error)}"]
            report.add("calibration", calibration_view(decisions, run.name), args.calibration)
        return report

    def add(self, name: str, view: View, file: str) -> None:
        """Add a picture: saved to the file, or drawn among the lines."""
        self.facts[name] = view.to_json()
        if file == SHOWN:
            self.lines += ["", as_text(view)]
        else:
            self.facts[f"{name}_picture"] = str(view.save(file))
            self.lines.append(self.facts[f"{name}_picture"])

    def show(self) -> None:
        """Print the lines."""
        for line in self.lines:
            show(line)


def as_text(view: View) -> str:
    """A view drawn as text for this terminal."""
    return view.to_text(width(), ascii=not can_show("█", sys.stdout))


def _table(labels: ClassificationReport) -> list[str]:
    """A row per label, the most frequent first, then micro and macro averages."""
    rows = [[labels.what, "precision", "recall", "F1", "true", "predicted"]]
    ordered = sorted(labels.scores, key=lambda one: (-one.right, one.label))
    for one in [*ordered, labels.micro()]:
        shares = [f"{100 * getattr(one, name):.2f} %" for name in SCORES]
        rows.append([visible(one.label), *shares, f"{one.right:,}", f"{one.guessed:,}"])
    macro = labels.macro()
    rows.append(["mean (macro)", *(f"{100 * macro[name]:.2f} %" for name in SCORES), "", ""])
    return table(rows, "lr")


def _confused(labels: ClassificationReport) -> list[str]:
    """The most frequent confusions."""
    confusions = labels.confusion.errors()
    if not confusions:
        return []
    arrow = mark("to", sys.stdout)
    which = "word by word, " if labels.what == "entity" else ""
    rows = [
        [visible(one) or "(none)", arrow, visible(other) or "(none)", f"{count:,}"]
        for one, other, count in confusions[:MOST]
    ]
    head = f"most frequent confusions, {which}true {arrow} predicted:"
    return ["", head, *table(rows, "lllr")]


HORIZON_METRICS = ("mase", "mae", "rmse", "smape", "crps", "coverage_80", "coverage_95")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of the command."""
    parser.add_argument("run", metavar="RUN", help="name or folder of a run")
    add_file(parser, "file to evaluate on (default: the test set of the run)")
    parser.add_argument(
        "--by-length", action="store_true", help="also the first metric by length of the input"
    )
    parser.add_argument(
        "--by-horizon", action="store_true", help="of forecasts: every metric by horizon"
    )
    parser.add_argument(
        "-o",
        "--output",
        type=Path,
        metavar="FILE.svg",
        help="save the picture: .svg, .png, .html or .json",
    )
    add_labels(parser)
    add_search(parser)
    parser.add_argument(
        "--choose-length-penalty",
        nargs="?",
        const=",".join(f"{one:g}" for one in PENALTIES),
        metavar="A,B",
        help="take the length penalty that is best on the validation part, of these (%(const)s)",
    )
    add_data_options(parser)
    add_unknown_labels(parser)


def run(args: argparse.Namespace) -> int:
    """Print each metric with its confidence interval."""
    search = search_from(args)
    if args.output is not None and not (args.by_length or args.by_horizon):
        raise UsageError(
            "U010",
            "--output needs --by-length or --by-horizon",
            help=["--by-length", "--by-horizon   of forecasts"],
        )
    if args.by_length and args.by_horizon:
        raise UsageError("U010", "--by-length and --by-horizon: choose one")
    run = load_ensemble(args)
    file = Path(name_of(args.file)) if args.file else None
    data = load_test_set(run, file, only_data_settings(args), args.unknown_labels == "skip")
    say_notes(data.notes, args.quiet)
    search, chosen = _with_best_penalty(run, search, args)
    wanted = replace(search, probabilities=args.calibration is not None)
    score = evaluate_run(run, data, wanted, args.quiet)
    labels = LabelReport.of(run, score, args)
    unknown_share = run.task.unknown_fraction(score.examples)
    notes = trained_note(score) + unknown_note(unknown_share) + impossible_note(score)
    say_notes(notes + cut_note(score), args.quiet)
    how = run.task.metric_variants(score.examples)
    view = by_length(run.task, score, run.name) if args.by_length else None
    ahead = by_horizon(run.task, score, run.name) if args.by_horizon else None
    drawing: View | None = ahead.view if ahead else view
    picture = drawing.save(args.output) if drawing and args.output else None
    if args.json:
        more = {"together_with": args.others, "unknown_share": unknown_share, "signatures": how}
        facts = _as_dict(run, data, score, search) | more | chosen
        pictures: dict[str, Any] = {"by_length": view.to_json()} if view else {}
        pictures |= {"by_horizon": ahead.as_dict()} if ahead else {}
        pictures |= {"picture": str(picture)} if picture else {}
        show(to_json(facts | pictures | labels.facts))
        return 0
    _print(score, data.title, search_note(run, search) + _ensemble_note(args.others), how)
    if view is not None:
        show(f"\n{as_text(view)}")
    if ahead is not None:
        for line in _by_horizon_lines(ahead):
            show(line)
    if picture is not None:
        show(str(picture))
    labels.show()
    return 0


def _with_best_penalty(
    run: Run, search: Search, args: argparse.Namespace
) -> tuple[Search, dict[str, Any]]:
    """The search with the length penalty that is best on validation, if asked for; JSON facts."""
    if args.choose_length_penalty is None:
        return search, {}
    try:
        penalties = [float(one) for one in args.choose_length_penalty.split(",")]
    except ValueError:
        raise UsageError(
            "U010",
            f"--choose-length-penalty {args.choose_length_penalty}: expected numbers",
            help=["--choose-length-penalty 0.5,1,1.5"],
        ) from None
    with ProgressLine(f"choosing a length penalty for {run.name}", None, args.quiet) as progress:
        choice = choose_length_penalty(run, search, penalties, progress.update)
    say_notes([choice.sentence()], args.quiet)
    best = replace(search, length_penalty=choice.best)
    return best, {"length_penalty_choice": choice.as_dict()}


def _print(score: Evaluation, title: str, search: str, how: dict[str, str]) -> None:
    """Print each metric with its interval, and how it is computed."""
    measured = score.with_intervals()
    for line in table([[METRICS[n].title, with_interval(n, m)] for n, m in measured.items()]):
        show(line)
    number = plural(len(score.examples), "example")
    show(f"n = {number} ({title}), 95 % confidence intervals{search}, {duration(score.seconds)}")
    for name, words in how.items():
        show(f"{METRICS[name].title}: {words}")


def _by_horizon_lines(metrics: HorizonMetrics) -> list[str]:
    """The first metrics for each range of the horizon."""
    names = [name for name in metrics.values if name in HORIZON_METRICS] or list(metrics.values)
    rows = [["horizon", *(name.replace("_", " ") for name in names)]]
    for index, bucket in enumerate(metrics.view.curves[0].buckets):
        shown = [METRICS[name].show(metrics.values[name][index]) for name in names]
        rows.append([bucket.title, *shown])
    return ["", *table(rows, "rr")]


def search_note(run: Run, search: Search) -> str:
    """The search algorithm, for models that decode."""
    if run.task.form is not Form.TRANSDUCE:
        return ""
    return ", greedy search" if search.beam == 1 else f", beam {search.beam}"


def _ensemble_note(others: list[str]) -> str:
    """The other runs of the ensemble."""
    return f", ensemble with {' and '.join(others)}" if others else ""


def _as_dict(run: Run, data: TestSet, score: Evaluation, search: Search) -> dict[str, Any]:
    """The metrics as JSON."""
    return {
        "run": run.name,
        "file": str(data.file or ""),
        "examples": data.title,
        "n": len(score.examples),
        "left_out": data.left_out,
        "trained_on": len(score.trained_on),
        "beam": search.beam,
        "length_penalty": search.length_penalty,
        "coverage_penalty": search.coverage_penalty,
        "block_ngrams": search.block_ngrams,
        "cut": score.num_cut(),
        "metrics": {name: vars(value) for name, value in score.with_intervals().items()},
        "seconds": score.seconds,
    }


def only_data_settings(args: argparse.Namespace) -> dict[str, Any]:
    """Settings of [data] from the options and --set; others would not fit the trained model."""
    settings = data_settings(args)
    for path in settings:
        if not path.startswith("data."):
            raise UsageError(
                "U005",
                f"--set {path}: expected data.KEY=VALUE",
                notes=["The other tables of the recipe are fixed by the trained model."],
                help=["for example --set data.skip_bad=true"],
            )
    return settings
