"""seqloom evaluate: a run's metrics on a file, with how far chance could have moved them."""

import argparse
import tomllib
from pathlib import Path
from typing import Any

from ..errors import UsageError
from ..forms import Form
from ..metrics import METRICS
from ..model import Search
from ..run import Run
from ..training.evaluation import Evaluation
from .judging import (
    Exam,
    exam,
    judged,
    load_run,
    say_notes,
    unknown_note,
    with_interval,
)
from .records import to_json
from .terminal import duration, several, show, table


def add(parser: argparse.ArgumentParser) -> None:
    """The arguments of the command."""
    parser.add_argument("run", metavar="RUN", help="the name of a run, or its folder")
    parser.add_argument(
        "file", metavar="FILE", type=Path, nargs="?", help="left out: the run's own test part"
    )
    parser.add_argument(
        "--beam", type=int, default=1, metavar="N", help="candidates kept; 1 is greedy search"
    )
    parser.add_argument(
        "--length-penalty",
        type=float,
        default=Search().length_penalty,
        metavar="A",
        help="scores are divided by length to this power",
    )
    parser.add_argument("--encoding", metavar="NAME", help="of FILE, such as cp1252")
    parser.add_argument(
        "--columns", metavar="ROLES", help="of FILE, such as text=review,label=stars"
    )
    parser.add_argument("--skip-bad", action="store_true", help="leave out lines that are wrong")
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="data.KEY=VALUE",
        help="another way to read FILE, such as data.skip_bad=true",
    )
    parser.add_argument(
        "--unknown-labels",
        choices=("error", "skip"),
        default="error",
        help="what to do with rows whose label training never showed",
    )


def run(given: argparse.Namespace) -> int:
    """Print each metric with its interval."""
    search = Search(beam=at_least_one("--beam", given.beam), length_penalty=given.length_penalty)
    run = load_run(given.run, given.runs_dir)
    found = exam(run, given.file, _settings(given), given.unknown_labels == "skip")
    say_notes(found.notes, given.quiet)
    score = judged(run, found, search, given.quiet)
    share = run.task.unknown_share(score.examples)
    say_notes(unknown_note(share), given.quiet)
    if given.json:
        show(to_json(_as_dict(run, found, score, search) | {"unknown_share": share}))
        return 0
    measured = score.measured()
    for line in table([[METRICS[n].title, with_interval(n, m)] for n, m in measured.items()]):
        show(line)
    number = several(len(score.examples), "example")
    how = searched(run, search)
    show(f"n = {number} ({found.title}), 95 % intervals{how}, {duration(score.seconds)}")
    return 0


def searched(run: Run, search: Search) -> str:
    """How answers were looked for, where that makes a difference."""
    if run.task.form is not Form.TRANSDUCE:
        return ""
    return ", greedy search" if search.beam == 1 else f", beam {search.beam}"


def at_least_one(option: str, value: int) -> int:
    """A count that makes sense, or an error that names its option."""
    if value < 1:
        raise UsageError("U010", f"{option} {value}: expected a whole number of at least 1")
    return value


def _as_dict(run: Run, found: Exam, score: Evaluation, search: Search) -> dict[str, Any]:
    """The score for machines."""
    return {
        "run": run.name,
        "file": str(found.file),
        "examples": found.title,
        "n": len(score.examples),
        "beam": search.beam,
        "length_penalty": search.length_penalty,
        "metrics": {name: vars(value) for name, value in score.measured().items()},
        "seconds": score.seconds,
    }


def _settings(given: argparse.Namespace) -> dict[str, Any]:
    """What is to be read otherwise than the recipe says."""
    found: dict[str, Any] = {}
    for text in given.set:
        name, equals, value = text.partition("=")
        if not name.startswith("data.") or not equals:
            raise UsageError(
                "U005",
                f"--set {text}: expected data.KEY=VALUE",
                notes=["The other tables of a recipe belong to the trained model."],
                help=["for example --set data.skip_bad=true"],
            )
        found[name] = _value(value)
    named = {"data.encoding": given.encoding, "data.columns": given.columns}
    found |= {"data.skip_bad": True} if given.skip_bad else {}
    return found | {name: value for name, value in named.items() if value is not None}


def _value(text: str) -> Any:
    """A value as TOML reads it; text needs no quotation marks."""
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text
