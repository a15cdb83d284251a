"""seqloom evaluate: a run's metrics on a file, with how far chance could have moved them."""

import argparse
from dataclasses import replace
from pathlib import Path
from typing import Any

from ..by_horizon import ByHorizon, by_horizon
from ..by_length import by_length
from ..data.names import name_of
from ..errors import UsageError
from ..examining import Exam, exam
from ..forms import Form
from ..metrics import METRICS
from ..model import Search
from ..record import to_json
from ..run import Run
from ..training.evaluation import Evaluation
from ..views import View
from .arguments import (
    add_file,
    add_reading,
    add_search,
    add_unknown_labels,
    reading_of,
    search_of,
)
from .judging import (
    impossible_note,
    judged,
    load_together,
    say_notes,
    unknown_note,
    with_interval,
)
from .label_report import LabelReport, add_labels, drawn_text
from .terminal import duration, several, show, table

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
