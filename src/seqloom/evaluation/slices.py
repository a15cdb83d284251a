"""Slice-based evaluation: which run wins on which slice of the examples.

Slices are by length, forecast horizon, label, and whether tokens occurred in training. A run wins
on a slice where it is the best by a metric and the difference to the second best is significant, by
a randomization test. Of many slices some differ by chance, so p-values are adjusted for the number
of all slices (Holm, 1979).
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any, Literal

from ..errors import UsageError
from ..metrics import METRICS, Difference, Metric, MetricValue, Ratio, Tally, holm
from ..signature import Form, Series, Vectors
from ..task import LabelDecisions, Task
from ..views import LengthBucket
from .by_label import label_decisions
from .by_length import bucket_width, length_buckets, source_lengths, tallies_by_horizon
from .evaluate import Evaluation

SliceKind = Literal["length", "horizon", "label", "known"]
MOST_LABELS, MOST_NAMED = 20, 3
F1 = Metric("F1", False, percent=True)


@dataclass(frozen=True)
class ExampleSlice:
    """A slice of the examples, the metric of every run on it, and the best run."""

    title: str
    count: int
    values: list[MetricValue]
    best: int | None  # index of the run; None where the best are equal
    test: Difference  # of the second best minus the best
    extent: tuple[int, int | None] = (0, None)  # first and last length or step

    @property
    def is_significant(self) -> bool:
        """Whether the best run is better than the second by more than chance."""
        return self.best is not None and self.test.is_significant


@dataclass(frozen=True)
class SliceComparison:
    """A comparison of runs on slices of one kind, in a meaningful order."""

    kind: SliceKind
    title: str
    metric: Metric
    runs: Sequence[str]
    slices: Sequence[ExampleSlice]
    unit: str = ""  # of lengths

    def sentence(self) -> str:
        """Which run wins where, as far as differences are significant."""
        winners = [one.best if one.is_significant else None for one in self.slices]
        if {*winners} == {None}:
            return f"By {self.title}, no difference is more than chance."
        if len({*winners}) == 1:
            return f"{self.runs[winners[0] or 0]} wins everywhere."
        clauses: list[str] = []
        for run in sorted({winner for winner in winners if winner is not None}):
            won = [winner == run for winner in winners]
            named = self._spans(won) if self.unit else self._names(won)
            verb = "wins on" if not clauses else "on"
            clauses.append(f"{self.runs[run]} {verb} {named}")
        if None in winners:
            clauses.append("elsewhere the difference could be chance")
        return f"{'; '.join(clauses)}."

    def as_dict(self) -> dict[str, Any]:
        """The slices and the sentence for JSON."""
        return {
            "title": self.title,
            "metric_title": self.metric.title,
            "percent": self.metric.percent,
            "lower_is_better": self.metric.lower_is_better,
            "sentence": self.sentence(),
            "groups": [
                {
                    "title": one.title,
                    "n": one.count,
                    "values": [
                        {"run": name, **vars(value), "shown": self.metric.show(value.value)}
                        for name, value in zip(self.runs, one.values, strict=True)
                    ],
                    "best": None if one.best is None else self.runs[one.best],
                    "certain": one.is_significant,
                }
                for one in self.slices
            ],
        }

    def _spans(self, won: Sequence[bool]) -> str:
        """Adjacent slices as one span: texts over 20 words, steps 1 to 4."""
        what = "texts" if self.kind == "length" else "forecasts"
        spans, last = [], len(won) - 1
        for is_won, adjacent in groupby(range(len(won)), key=lambda index: won[index]):
            indices = list(adjacent)
            low, high = (self.slices[indices[end]].extent[end != 0] for end in (0, -1))
            if not is_won or low is None:
                continue
            if indices[0] == 0:
                spans.append(f"up to {high} {self.unit}")
            elif indices[-1] == last:
                spans.append(f"over {low - 1} {self.unit}")
            else:
                spans.append(f"of {low} to {high} {self.unit}")
        return f"{what} {_listed(spans)}"

    def _names(self, won: Sequence[bool]) -> str:
        """Some of the slices by name, in their order."""
        names = [one.title for one, is_won in zip(self.slices, won, strict=True) if is_won]
        more = len(names) - MOST_NAMED
        return _listed(names if more <= 1 else [*names[:MOST_NAMED], f"{more:,} more"])


def compare_slices(
    tasks: Sequence[Task], scores: Sequence[Evaluation], names: Sequence[str], metric: str
) -> list[SliceComparison]:
    """Every comparison by slices that there is for runs with the same examples.

    Kinds with fewer than two slices are left out.
    """
    comparisons = [
        SliceComparison(
            "length", "length", METRICS[metric], names, _lengths(tasks[0], scores, metric)
        ),
        SliceComparison(
            "horizon", "steps ahead", METRICS[metric], names, _steps(tasks, scores, metric)
        ),
        SliceComparison("label", "label", F1, names, _labels(tasks, scores)),
        _known(tasks, scores, names, metric),
    ]
    units = {"length": tasks[0].input_unit, "horizon": "steps"}
    some = [one for one in comparisons if len(one.slices) > 1]
    tests = iter(holm([slice_.test for one in some for slice_ in one.slices]))
    return [
        replace(
            one,
            unit=units.get(one.kind, ""),
            slices=[replace(slice_, test=next(tests)) for slice_ in one.slices],
        )
        for one in some
    ]


def _slice(
    title: str,
    tallies: Sequence[Sequence[Tally]],
    metric: Metric,
    count: int | None = None,
    extent: tuple[int, int | None] = (0, None),
) -> ExampleSlice:
    """A slice from the tallies of its examples, a list for each run."""
    values = [metric.measure(of_run) for of_run in tallies]
    ranks = [metric.rank(value.value) for value in values]
    first, second, *_ = sorted(range(len(ranks)), key=ranks.__getitem__)
    best = first if ranks[first] != ranks[second] else None
    test = metric.difference(tallies[first], tallies[second])
    number = len(tallies[0]) if count is None else count
    return ExampleSlice(title, number, values, best, test, extent)


def _lengths(task: Task, scores: Sequence[Evaluation], metric: str) -> list[ExampleSlice]:
    """By the length of the source in tokens, as the first run tokenises it."""
    if isinstance(task.signature().source, Vectors | Series):
        return []
    lengths = source_lengths(task, scores[0].examples)
    return [
        _slice(
            LengthBucket(first, last, 0, 0, 0, 0).title,
            [[score.tallies[metric][index] for index in indices] for score in scores],
            METRICS[metric],
            extent=(first, last),
        )
        for first, last, indices in length_buckets(lengths, bucket_width(lengths))
    ]


def _steps(tasks: Sequence[Task], scores: Sequence[Evaluation], metric: str) -> list[ExampleSlice]:
    """By forecast horizon."""
    if tasks[0].form is not Form.FORECAST:
        return []
    by_run = [tallies_by_horizon(task, score) for task, score in zip(tasks, scores, strict=True)]
    if any(metric not in tallies or buckets != by_run[0][0] for buckets, tallies in by_run):
        return []
    return [
        _slice(
            LengthBucket(first, last, 0, 0, 0, 0).title,
            [tallies[metric][index] for _, tallies in by_run],
            METRICS[metric],
            extent=(first, last),
        )
        for index, (first, last) in enumerate(by_run[0][0])
    ]


def _labels(tasks: Sequence[Task], scores: Sequence[Evaluation]) -> list[ExampleSlice]:
    """By label, the most frequent first: F1, of whole entities where labels are entity tags."""
    try:
        by_run = [label_decisions(task, score) for task, score in zip(tasks, scores, strict=True)]
    except UsageError:  # the predictions are not labels
        return []
    counted = [[_by_label(one) for one in of_run] for of_run in by_run]
    right: dict[str, int] = {}
    for one in counted[0]:
        for label, (_, count, _) in one.items():
            right[label] = right.get(label, 0) + count
    chosen = sorted(right, key=lambda label: (-right[label], label))[:MOST_LABELS]
    slices = []
    for label in chosen:
        rows = list(zip(*counted, strict=True))
        rows = [row for row in rows if any(label in one for one in row)]
        tallies = [[_f1(row[run].get(label)) for row in rows] for run in range(len(counted))]
        slices.append(_slice(label, tallies, F1, right[label]))
    return slices


def _by_label(example: LabelDecisions) -> dict[str, tuple[int, int, int]]:
    """True positives, true and predicted counts of each label in an example."""
    if example.what == "entity":
        right, guessed = [one[0] for one in example.right], [one[0] for one in example.guessed]
        hits = [one[0] for one in {*example.right} & {*example.guessed}]
    else:
        right = [one.right for one in example.decisions]
        guessed = [one.guessed for one in example.decisions]
        hits = [one.right for one in example.decisions if one.right == one.guessed]
    labels = {*right, *guessed} - {""}
    return {one: (hits.count(one), right.count(one), guessed.count(one)) for one in labels}


def _f1(counts: tuple[int, int, int] | None) -> Tally:
    hits, right, guessed = counts or (0, 0, 0)
    return Ratio(2 * hits, right + guessed)


def _known(
    tasks: Sequence[Task], scores: Sequence[Evaluation], names: Sequence[str], metric: str
) -> SliceComparison:
    """By whether the tokens occurred in the training of every run: by position, or as a whole."""
    title = "what training showed"
    if isinstance(tasks[0].signature().source, Vectors | Series):
        return SliceComparison("known", title, METRICS[metric], names, [])
    each = list(zip(tasks, scores, strict=True))
    by_example = zip(
        *([task.is_known(one) for one in score.examples] for task, score in each), strict=True
    )
    masks = [_known_to_all(one) for one in by_example]
    if tasks[0].form is Form.EACH and _has_positions(each, masks):
        slices = _positions(each, masks, tasks[0].input_unit)
        return SliceComparison("known", title, METRICS["accuracy"], names, slices)
    slices, unit = [], tasks[0].input_unit.removesuffix("s")
    for is_known in (True, False):
        chosen = [index for index, mask in enumerate(masks) if all(mask) == is_known]
        what = f"every {unit} known" if is_known else f"some {unit} unknown"
        tallies = [[score.tallies[metric][index] for index in chosen] for score in scores]
        slices += [_slice(f"texts with {what}", tallies, METRICS[metric])] if chosen else []
    return SliceComparison("known", title, METRICS[metric], names, slices)


def _known_to_all(masks: Sequence[list[bool]]) -> list[bool]:
    """Token by token where all runs tokenise a text alike, else as a whole."""
    if len({len(mask) for mask in masks}) > 1:
        return [all(map(all, masks))]
    return [all(known) for known in zip(*masks, strict=True)]


def _has_positions(
    each: Sequence[tuple[Task, Evaluation]], masks: Sequence[Sequence[bool]]
) -> bool:
    """Whether every token has a label."""
    return all(
        answer is not None and len(task.confusion_pairs(example, answer.value)) == len(mask)
        for task, score in each
        for example, answer, mask in zip(score.examples, score.predictions, masks, strict=True)
    )


def _positions(
    each: Sequence[tuple[Task, Evaluation]], masks: Sequence[Sequence[bool]], unit: str
) -> list[ExampleSlice]:
    """Accuracy on known tokens, and on unknown ones."""
    slices = []
    for is_known in (True, False):
        chosen = [index for index, mask in enumerate(masks) if is_known in mask]
        tallies = [
            [_hits(task, score, index, masks[index], is_known) for index in chosen]
            for task, score in each
        ]
        count = sum([*masks[index]].count(is_known) for index in chosen)
        title = f"{'known' if is_known else 'unknown'} {unit}"
        slices += [_slice(title, tallies, METRICS["accuracy"], count)] if chosen else []
    return slices


def _hits(task: Task, score: Evaluation, index: int, mask: Sequence[bool], is_known: bool) -> Tally:
    """The accuracy tally of an example on its known tokens, or on its unknown ones."""
    answer = score.predictions[index]
    pairs = task.confusion_pairs(score.examples[index], answer.value if answer else None)
    right = [
        true == guess for (true, guess), known in zip(pairs, mask, strict=True) if known == is_known
    ]
    return Ratio(sum(right), len(right))


def _listed(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
