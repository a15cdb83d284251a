"""Model comparison: evaluate several runs on the same examples, with paired tests.

Used by `seqloom compare`. The examples are those of a file, or the test set of the first run.
"""

import statistics
import time
from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from ..errors import DataError, ModelError, UsageError
from ..evaluation.by_length import bucket_width, by_length, source_lengths
from ..evaluation.evaluate import Evaluation
from ..evaluation.significance import (
    ComparedRun,
    PairedTests,
    common_metrics,
    describe_difference,
    paired_tests,
    settings_diff,
    verdict,
)
from ..evaluation.slices import SliceComparison, compare_slices
from ..metrics import METRICS, Metric
from ..model import Search
from ..runs.record import read_record
from ..runs.run import Run, judged_examples
from ..runs.split_record import refuse_split_options
from ..runs.splits import unknown_label_note
from ..signature import Form
from ..views import LengthView


@dataclass(frozen=True)
class TestSet:
    """A test set: its examples, file and title, and notes for the reader."""

    examples: Sequence[Any]
    file: Path | None  # None if the task generates its examples
    title: str
    notes: tuple[str, ...] = ()
    left_out: int = 0  # examples whose label is not in the training data


def load_test_set(
    run: Run,
    file: Path | None = None,
    settings: Mapping[str, Any] | None = None,
    skip_unknown_labels: bool = True,
    lines: Container[int] | None = None,
) -> TestSet:
    """The examples of a file, or of the run's own test set; limited to `lines` if given."""
    refuse_split_options(settings or {}, run.name)
    data = run.recipe.with_settings(settings or {}).build_data()
    if file is not None:
        found = TestSet(run.task.read(file, data), file, file.name, run.task.read_notes)
    else:
        parts = run.own_parts(dict(settings or {}))
        place = Path(data.test or data.train) if run.task.roles else None
        found = TestSet(parts.test, place, f"the test part of {run.name}", parts.changes)
    found = replace(found, notes=(*found.notes, *run.task.data_warnings(found.examples).values()))
    if lines is not None:
        chosen = [example for example in found.examples if example.line in lines]
        found = replace(found, examples=chosen)
    return _with_known_labels(run, found, skip_unknown_labels)


def _with_known_labels(run: Run, found: TestSet, skip_unknown_labels: bool) -> TestSet:
    """Leave out examples with labels that are not in the training data, or raise an error."""
    examples = judged_examples(run.task, found.examples, found.file, skip_unknown_labels)
    if not examples:
        raise DataError("D022", f"{found.title} has no examples to evaluate")
    notes = (*found.notes, *unknown_label_note(run.task, found.examples))
    left_out = len(found.examples) - len(examples)
    return replace(found, examples=examples, notes=notes, left_out=left_out)


TIMED_BATCHES, TIMED_SIZE = 5, 64
UNITS = (
    *("task.tokens", "task.source_tokens", "task.target_tokens"),
    *("task.vocab_size", "task.subwords", "task.tokenizer", "task.joint_vocab"),
)
Tell = Callable[[Run, int, int], None]  # run, number of evaluated examples, total


@dataclass(frozen=True)
class Comparison:
    """The result of a comparison: evaluations, metrics, caveats and differences by slice."""

    runs: Sequence[Run]
    test_sets: Sequence[TestSet]
    scores: Sequence[Evaluation]
    compared_runs: Sequence[ComparedRun]
    notes: Sequence[str]
    where: Sequence[SliceComparison]

    @cached_property
    def tests(self) -> PairedTests:
        """The paired differences, with p-values adjusted for their number."""
        return paired_tests(self.compared_runs)

    @property
    def metric(self) -> str:
        """The primary metric that all runs have."""
        return common_metrics(self.compared_runs)[0]

    def by_length(self) -> LengthView:
        """Metrics by length in one view, with the buckets of the first run."""
        step = bucket_width(source_lengths(self.runs[0].task, self.scores[0].examples))
        views = [
            by_length(run.task, score, run.name, self.metric, step)
            for run, score in zip(self.runs, self.scores, strict=True)
        ]
        return views[0].beside(*views[1:])

    def as_dict(self) -> dict[str, Any]:
        """The comparison as JSON, as `seqloom compare --json` prints it."""
        found, test_set = self.compared_runs, self.test_sets[0]
        differ, equal = settings_diff(found)
        paired = self.tests.to_first
        return {
            "task": self.runs[0].recipe.task["name"],
            "examples": test_set.title,
            "file": str(test_set.file or ""),
            "n": len(found[0].example_ids),
            "runs": [one.as_dict() for one in found],
            "differences": differ,
            "equal": equal,
            "metric": self.metric,
            "metrics": {name: _about(METRICS[name]) for name in common_metrics(found)},
            "paired_difference": {
                other: vars(pairs[self.metric]) for other, pairs in paired.items()
            },
            "paired": {
                other: {
                    metric: {
                        **vars(apart),
                        "certain": apart.is_significant,
                        "sentence": describe_difference(metric, found[0].name, other, apart),
                    }
                    for metric, apart in pairs.items()
                }
                for other, pairs in paired.items()
            },
            "verdict": verdict(found, self.tests),
            "tests": self.tests.number,
            "notes": list(self.notes),
            "where": {one.kind: one.as_dict() for one in self.where},
        }


def compare(
    runs: Sequence[Run],
    file: Path | None = None,
    limit: int | None = None,
    search: Search | None = None,
    tell: Tell = lambda run, done, total: None,
) -> Comparison:
    """Evaluate runs of one task on a file or the first run's test set, up to `limit` examples."""
    _require_compatible(runs)
    search = search or Search()
    test_sets = _test_sets(runs, file, limit)
    scores = [_evaluated(run, one, search, tell) for run, one in zip(runs, test_sets, strict=True)]
    found = [_compared_run(run, score, search) for run, score in zip(runs, scores, strict=True)]
    notes, tasks = _caveats(runs, test_sets, scores, found), [run.task for run in runs]
    wins = []
    if all(one.example_ids == found[0].example_ids for one in found):
        wins = compare_slices(tasks, scores, [run.name for run in runs], common_metrics(found)[0])
    return Comparison(runs, test_sets, scores, found, notes, wins)


def _about(metric: Metric) -> dict[str, Any]:
    """Title, direction, value it aims at, and unit of a metric."""
    return {
        "title": metric.title,
        "lower_is_better": None if metric.aim is not None else metric.lower_is_better,
        "aim": metric.aim,
        "percent": metric.percent,
    }


def too_few() -> UsageError:
    """The error for fewer than two runs."""
    return UsageError("U010", "compare needs at least two runs", help=["seqloom runs   lists them"])


def _evaluated(run: Run, test_set: TestSet, search: Search, tell: Tell) -> Evaluation:
    total = len(test_set.examples)
    tell(run, 0, total)
    return run.evaluate_examples(test_set.examples, search, lambda done: tell(run, done, total))


def _require_compatible(runs: Sequence[Run]) -> None:
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


def _test_sets(runs: Sequence[Run], file: Path | None, limit: int | None) -> list[TestSet]:
    """The same examples for each run, encoded by its own task."""
    first = load_test_set(runs[0], file)
    first = replace(first, examples=first.examples[:limit])
    if first.file is None:
        return [first for _ in runs]
    if file is None and runs[0].task.splits_in_time:  # each has its own test set
        others = [load_test_set(run) for run in runs[1:]]
        return [first, *(replace(other, examples=other.examples[:limit]) for other in others)]
    lines = {example.line for example in first.examples}
    others = [
        load_test_set(run, first.file, _reading_options(runs[0]), True, lines) for run in runs[1:]
    ]
    return [first, *(replace(other, title=first.title) for other in others)]


def _reading_options(run: Run) -> dict[str, object]:
    """The reading options of the first run, which the others use too."""
    names = ("format", "encoding", "columns", "skip_bad", "max_length")
    return {f"data.{name}": run.recipe.data[name] for name in names if name in run.recipe.data}


def _compared_run(run: Run, score: Evaluation, search: Search) -> ComparedRun:
    record = read_record(run.folder)
    return ComparedRun(
        name=run.name,
        settings=record.settings(),
        metrics=score.with_intervals(),
        tallies=score.tallies,
        example_ids=tuple(run.task.example_id(example) for example in score.examples),
        seconds=record.seconds(),
        num_parameters=run.model.num_parameters(),
        bytes=record.weights_bytes(),
        milliseconds=_milliseconds(run, score.examples, search),
    )


def _milliseconds(run: Run, examples: list[object], search: Search) -> float:
    """Inference time of one example: median over a few batches, after a warm-up batch."""
    spent = []
    for number in range(TIMED_BATCHES + 1):
        start = number * TIMED_SIZE % len(examples)
        batch = run.task.batch(examples[start : start + TIMED_SIZE])
        began = time.perf_counter()
        with run.model.inference_mode():
            if run.task.form is Form.NEXT:
                run.model.log_prob(batch)
            else:
                run.model.predict(batch.source, search)
        spent.append(1000 * (time.perf_counter() - began) / len(batch.source))
    return statistics.median(spent[1:])


def _caveats(
    runs: Sequence[Run],
    test_sets: Sequence[TestSet],
    scores: Sequence[Evaluation],
    found: Sequence[ComparedRun],
) -> list[str]:
    """Caveats: different examples, examples in the training data, different tokenization."""
    notes = [note for one in test_sets for note in one.notes]
    for run, test_set, score in zip(runs, test_sets, scores, strict=True):
        if score.trained_on:
            notes.append(f"{run.name} was trained on {_count(len(score.trained_on))} of these")
        fraction = run.task.unknown_fraction(test_set.examples) if run.task.form is Form.NEXT else 0
        if fraction:
            notes.append(
                f"{run.name} reads {100 * fraction:.1f} % of tokens as <unk>, one token for all of"
                " them: that flatters its metrics"
            )
    for one in found[1:]:
        if one.example_ids != found[0].example_ids:
            count = _count(len(one.example_ids))
            notes.append(f"{one.name} was evaluated on {count}, not on the same as {found[0].name}")
    if any(name in UNITS for name in settings_diff(found)[0]):
        notes.append("the runs tokenize texts differently: metrics per token cannot be compared")
    return notes


def _count(examples: int) -> str:
    return f"{examples:,} example{'s' * (examples != 1)}"
