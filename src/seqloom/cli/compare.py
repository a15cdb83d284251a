"""seqloom compare: runs side by side on the same examples, and which of them is better."""

import argparse
import statistics
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

from ..by_length import by_length, lengths_of, step_for
from ..errors import ModelError, SeqloomError, UsageError
from ..forms import Form
from ..model import Search
from ..parts import read_parts
from ..record import read_record, to_json
from ..run import Run
from ..training.evaluation import Evaluation
from ..views import LengthView
from .arguments import at_least_one
from .comparison import (
    Contender,
    beside_first,
    common,
    comparison,
    differences,
    sentence,
    verdict,
)
from .evaluate import searched
from .judging import Exam, exam, judged, load_run, say_notes
from .terminal import can_show, say, several, show, width

TIMED_BATCHES, TIMED_SIZE = 5, 64
UNITS = (
    *("task.symbols", "task.source_symbols", "task.target_symbols"),
    *("task.vocabulary", "task.subwords", "task.tokenizer", "task.joint"),
)


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


def run(given: argparse.Namespace) -> int:
    """Judge every run and print the table and the verdict."""
    search = Search(beam=at_least_one("--beam", given.beam))
    limit = None if given.limit is None else at_least_one("--limit", given.limit)
    if len(given.runs) < 2:
        raise UsageError(
            "U010", "compare needs at least two runs", help=["seqloom runs lists them"]
        )
    runs = [load_run(name, given.runs_dir) for name in given.runs]
    _must_agree(runs)
    exams = _exams(runs, given.file, limit)
    scores = [judged(run, one, search, given.quiet) for run, one in zip(runs, exams, strict=True)]
    found = [_contender(run, score, search) for run, score in zip(runs, scores, strict=True)]
    say_notes(_doubts(runs, exams, found), given.quiet)
    view = _by_length(runs, scores, common(found)[0]) if given.by_length else None
    if given.json:
        drawn = {"by_length": view.to_json()} if view else {}
        show(to_json(_as_dict(runs[0], exams[0], found) | drawn))
        return 0
    for line in comparison(found, given.all):
        show(line)
    number = several(len(found[0].places), "example")
    show(f"n = {number} ({exams[0].title}), 95 % intervals{searched(runs[0], search)}")
    show(verdict(found))
    for name, pairs in beside_first(found).items():
        show(f"\n{name} beside {found[0].name}, example by example:")
        for metric, apart in pairs.items():
            show(f"  {sentence(metric, found[0].name, name, apart)}")
    if view is not None:
        show(f"\n{view.to_text(width(), ascii=not can_show('█', sys.stdout))}")
    equal = several(len(differences(found)[1]), "equal setting")
    if not (given.all or given.quiet):
        say(f"differences only; --all shows {equal}")
    return 0


def _must_agree(runs: list[Run]) -> None:
    tasks = {run.name: f"{run.recipe.task['name']} {run.task.variety}".strip() for run in runs}
    if len(set(tasks.values())) > 1:
        raise ModelError(
            "M116",
            "these runs are of different tasks and have no metric in common",
            notes=[f"{name}: {task}" for name, task in tasks.items()],
            help=[f"seqloom runs --task {runs[0].recipe.task['name']}   lists those of one task"],
        )


def _exams(runs: list[Run], file: Path | None, limit: int | None) -> list[Exam]:
    """The same examples for each run, read as its own task reads them."""
    first = exam(runs[0], file, skip_unknown_labels=True)
    first = replace(first, examples=first.examples[:limit])
    if first.file is None:
        return [first for _ in runs]
    if file is None and runs[0].task.in_time:  # each cuts its own test part from its own file
        others = [exam(run, skip_unknown_labels=True) for run in runs[1:]]
        return [first, *(replace(other, examples=other.examples[:limit]) for other in others)]
    lines = {example.line for example in first.examples}
    others = [exam(run, first.file, _reading(runs[0]), True, lines) for run in runs[1:]]
    return [first, *(replace(other, title=first.title) for other in others)]


def _reading(run: Run) -> dict[str, object]:
    """How the first run reads its files, for the others to read them in the same way."""
    names = ("format", "encoding", "columns", "skip_bad", "max_length")
    return {f"data.{name}": run.recipe.data[name] for name in names if name in run.recipe.data}


def _by_length(runs: list[Run], scores: list[Evaluation], metric: str) -> LengthView:
    """The runs in one picture, in buckets as wide as those of the first."""
    step = step_for(lengths_of(runs[0].task, scores[0].examples))
    views = [
        by_length(run.task, score, run.name, metric, step)
        for run, score in zip(runs, scores, strict=True)
    ]
    return views[0].beside(*views[1:])


def _contender(run: Run, score: Evaluation, search: Search) -> Contender:
    record = read_record(run.folder)
    return Contender(
        name=run.name,
        settings=record.settings(),
        measured=score.measured(),
        tallies=score.tallies,
        places=tuple(run.task.place(example) for example in score.examples),
        seconds=record.seconds(),
        learned=run.model.size(),
        bytes=record.weights_bytes(),
        milliseconds=_milliseconds(run, score.examples, search),
    )


def _milliseconds(run: Run, examples: list[object], search: Search) -> float:
    """For one example: the median of a few batches, after one to warm up."""
    spent = []
    for number in range(TIMED_BATCHES + 1):
        start = number * TIMED_SIZE % len(examples)
        batch = run.task.batch(examples[start : start + TIMED_SIZE])
        began = time.perf_counter()
        with run.model.at_rest():
            if run.task.form is Form.NEXT:
                run.model.log_prob(batch)
            else:
                run.model.predict(batch.source, search)
        spent.append(1000 * (time.perf_counter() - began) / len(batch.source))
    return statistics.median(spent[1:])


def _doubts(runs: list[Run], exams: list[Exam], found: list[Contender]) -> list[str]:
    """What a fair reader must know: other examples, learned examples, other symbols."""
    notes = [note for one in exams for note in one.notes]
    for run, asked in zip(runs, exams, strict=True):
        seen = _learned(run, asked)
        if seen:
            notes.append(f"{run.name} has learned from {several(seen, 'example')} of these")
        share = run.task.unknown_share(asked.examples) if run.task.form is Form.NEXT else 0
        if share:
            notes.append(
                f"{run.name} reads {100 * share:.1f} % of symbols as <unk>, one symbol for all of"
                " them: that flatters its figures"
            )
    for one in found[1:]:
        if one.places != found[0].places:
            count = several(len(one.places), "example")
            notes.append(
                f"{one.name} was judged on {count}, not on all the same as {found[0].name}"
            )
    if any(name in UNITS for name in differences(found)[0]):
        notes.append("the runs cut texts into different symbols: rates per symbol do not compare")
    return notes


def _learned(run: Run, asked: Exam) -> int:
    """How many of the examples stand in what the run was trained on."""
    try:
        train = read_parts(run.task, run.recipe.build_data()).train
    except SeqloomError:
        return 0  # its data is gone: nothing can be said
    known = {run.task.key(example) for example in train}
    return len({key for example in asked.examples if (key := run.task.key(example)) in known})


def _as_dict(first: Run, asked: Exam, found: list[Contender]) -> dict[str, Any]:
    differ, equal = differences(found)
    name, paired = common(found)[0], beside_first(found)
    told = {
        other: {
            metric: {
                **vars(apart),
                "certain": apart.is_certain,
                "sentence": sentence(metric, found[0].name, other, apart),
            }
            for metric, apart in pairs.items()
        }
        for other, pairs in paired.items()
    }
    return {
        "task": first.recipe.task["name"],
        "examples": asked.title,
        "file": str(asked.file or ""),
        "n": len(found[0].places),
        "runs": [one.as_dict() for one in found],
        "differences": differ,
        "equal": equal,
        "metric": name,
        "paired_difference": {other: vars(pairs[name]) for other, pairs in paired.items()},
        "paired": told,
        "verdict": verdict(found),
    }
