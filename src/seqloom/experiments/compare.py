"""Runs side by side on the same examples: the work behind `seqloom compare`.

The examples that a run is judged on: those of a file, or those it put aside for its own test.
"""

import statistics
import time
from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ..errors import DataError, ModelError, SeqloomError, UsageError
from ..evaluation.by_length import by_length, lengths_of, step_for
from ..evaluation.evaluate import Evaluation, evaluate
from ..evaluation.significance import (
    Contender,
    beside_first,
    common,
    differences,
    sentence,
    verdict,
)
from ..evaluation.slices import Where, where
from ..metrics import METRICS, Metric
from ..model import Search
from ..runs.record import read_record
from ..runs.run import Run, read_task, unknown_labels
from ..runs.splits import fingerprint, read_parts
from ..signature import Form
from ..views import LengthView


@dataclass(frozen=True)
class Exam:
    """Examples to judge on, the file they are in, what they are called and what is odd of them."""

    examples: Sequence[Any]
    file: Path | None  # none where the task makes its own examples
    title: str
    notes: tuple[str, ...] = ()


def exam(
    run: Run,
    file: Path | None = None,
    settings: Mapping[str, Any] | None = None,
    skip_unknown_labels: bool = False,
    lines: Container[int] | None = None,
) -> Exam:
    """The examples of a file, or of the run's own test part; of some lines only, if asked."""
    data = run.recipe.with_settings(settings or {}).build_data()
    if file is not None:
        found = Exam(run.task.read(file, data), file, file.name)
    else:
        tested = read_parts(run.task, data).test
        changed = fingerprint(run.task, data) != read_task(run.folder)["fingerprint"]
        notes = (f"the data of {run.name} has changed since it was trained",) * changed
        place = Path(data.test or data.train) if run.task.roles else None
        found = Exam(tested, place, f"the test part of {run.name}", notes)
    found = replace(found, notes=(*found.notes, *run.task.remarks(found.examples).values()))
    if lines is not None:
        chosen = [example for example in found.examples if example.line in lines]
        found = replace(found, examples=chosen)
    return _answerable(run, found, skip_unknown_labels)


def _answerable(run: Run, found: Exam, skip_unknown_labels: bool) -> Exam:
    """Without the examples whose labels the run never saw, or an error that names them."""
    examples, notes = found.examples, found.notes
    if unknown := run.task.unknown_labels(examples):
        if not skip_unknown_labels:
            raise unknown_labels(found.file or Path(), unknown)
        lines = {line for places in unknown.values() for line in places}
        examples = [example for example in examples if example.line not in lines]
        left = len(found.examples) - len(examples)
        notes = (*notes, f"{left:,} examples left out: their labels were not in the training data")
    if not examples:
        raise DataError("D022", f"{found.title} has no examples to evaluate")
    return replace(found, examples=examples, notes=notes)


TIMED_BATCHES, TIMED_SIZE = 5, 64
UNITS = (
    *("task.symbols", "task.source_symbols", "task.target_symbols"),
    *("task.vocabulary", "task.subwords", "task.tokenizer", "task.joint"),
)
Tell = Callable[[Run, int, int], None]  # which run is judged, how many are done, of how many


@dataclass(frozen=True)
class Compared:
    """Runs with all that they are compared by, and what a fair reader must know."""

    runs: Sequence[Run]
    exams: Sequence[Exam]
    scores: Sequence[Evaluation]
    contenders: Sequence[Contender]
    notes: Sequence[str]
    where: Sequence[Where]

    @property
    def metric(self) -> str:
        """The most telling metric that all have."""
        return common(self.contenders)[0]

    def by_length(self) -> LengthView:
        """The runs in one picture, in buckets as wide as those of the first."""
        step = step_for(lengths_of(self.runs[0].task, self.scores[0].examples))
        views = [
            by_length(run.task, score, run.name, self.metric, step)
            for run, score in zip(self.runs, self.scores, strict=True)
        ]
        return views[0].beside(*views[1:])

    def as_dict(self) -> dict[str, Any]:
        """Everything for machines, as `seqloom compare --json` prints it."""
        found, asked = self.contenders, self.exams[0]
        differ, equal = differences(found)
        paired = beside_first(found)
        return {
            "task": self.runs[0].recipe.task["name"],
            "examples": asked.title,
            "file": str(asked.file or ""),
            "n": len(found[0].places),
            "runs": [one.as_dict() for one in found],
            "differences": differ,
            "equal": equal,
            "metric": self.metric,
            "metrics": {name: _about(METRICS[name]) for name in common(found)},
            "paired_difference": {
                other: vars(pairs[self.metric]) for other, pairs in paired.items()
            },
            "paired": {
                other: {
                    metric: {
                        **vars(apart),
                        "certain": apart.is_certain,
                        "sentence": sentence(metric, found[0].name, other, apart),
                    }
                    for metric, apart in pairs.items()
                }
                for other, pairs in paired.items()
            },
            "verdict": verdict(found),
            "notes": list(self.notes),
            "where": {one.kind: one.as_dict() for one in self.where},
        }


def compare(
    runs: Sequence[Run],
    file: Path | None = None,
    limit: int | None = None,
    search: Search | None = None,
    tell: Tell = lambda run, done, total: None,
) -> Compared:
    """Judge runs of one task on a file, or on the test part of the first; on `limit` examples."""
    _must_agree(runs)
    sought = search or Search()
    exams = _exams(runs, file, limit)
    scores = [_judged(run, one, sought, tell) for run, one in zip(runs, exams, strict=True)]
    found = [_contender(run, score, sought) for run, score in zip(runs, scores, strict=True)]
    tasks = [run.task for run in runs]
    wins = []
    if all(one.places == found[0].places for one in found):
        wins = where(tasks, scores, [run.name for run in runs], common(found)[0])
    return Compared(runs, exams, scores, found, _doubts(runs, exams, found), wins)


def _about(metric: Metric) -> dict[str, Any]:
    """What a reader of the numbers needs: a name, which way is better, how it is shown."""
    return {
        "title": metric.title,
        "lower_is_better": None if metric.aim is not None else metric.lower_is_better,
        "percent": metric.percent,
    }


def too_few() -> UsageError:
    """One run, or none, is nothing to compare."""
    return UsageError("U010", "compare needs at least two runs", help=["seqloom runs lists them"])


def _judged(run: Run, asked: Exam, search: Search, tell: Tell) -> Evaluation:
    total = len(asked.examples)
    tell(run, 0, total)
    return evaluate(
        run.model, run.task, asked.examples, search, lambda done: tell(run, done, total)
    )


def _must_agree(runs: Sequence[Run]) -> None:
    if len(runs) < 2:
        raise too_few()
    tasks = {run.name: f"{run.recipe.task['name']} {run.task.variety}".strip() for run in runs}
    if len(set(tasks.values())) > 1:
        raise ModelError(
            "M116",
            "these runs are of different tasks and have no metric in common",
            notes=[f"{name}: {task}" for name, task in tasks.items()],
            help=[f"seqloom runs --task {runs[0].recipe.task['name']}   lists those of one task"],
        )


def _exams(runs: Sequence[Run], file: Path | None, limit: int | None) -> list[Exam]:
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


def _doubts(runs: Sequence[Run], exams: Sequence[Exam], found: Sequence[Contender]) -> list[str]:
    """What a fair reader must know: other examples, learned examples, other symbols."""
    notes = [note for one in exams for note in one.notes]
    for run, asked in zip(runs, exams, strict=True):
        seen = _learned(run, asked)
        if seen:
            notes.append(f"{run.name} has learned from {_several(seen)} of these")
        share = run.task.unknown_share(asked.examples) if run.task.form is Form.NEXT else 0
        if share:
            notes.append(
                f"{run.name} reads {100 * share:.1f} % of symbols as <unk>, one symbol for all of"
                " them: that flatters its figures"
            )
    for one in found[1:]:
        if one.places != found[0].places:
            count = _several(len(one.places))
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


def _several(examples: int) -> str:
    return f"{examples:,} example{'s' * (examples != 1)}"
