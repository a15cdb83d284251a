"""Classification report: precision, recall and F1 by label, confusion matrix, calibration."""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ..errors import UsageError
from ..metrics import MetricValue
from ..metrics.calibration import debiased_calibration_error
from ..metrics.labels import BINS, ConfusionMatrix, Decision, LabelScore, calibration_bins
from ..metrics.tallies import as_matrix
from ..task import LabelDecisions, Task
from ..views import CalibrationBin, ConfusionMatrixView, ReliabilityView
from .evaluate import Evaluation


@dataclass(frozen=True)
class ClassificationReport:
    """Classification report: the scores of each label, their averages, and the confusion matrix.

    `what` is what the scores count: whole entities, or labels of positions; the confusion matrix
    always counts positions.
    """

    what: str
    scores: list[LabelScore]
    confusion: ConfusionMatrix

    def micro(self) -> LabelScore:
        """The micro average: scores of the counts summed over labels."""
        sums = [sum(getattr(one, name) for one in self.scores) for name in _COUNTS]
        return LabelScore("all (micro)", *sums)

    def macro(self) -> dict[str, float]:
        """The macro average: the mean of the scores over labels."""
        number = max(1, len(self.scores))
        return {name: sum(getattr(one, name) for one in self.scores) / number for name in SCORES}

    def as_dict(self) -> dict[str, Any]:
        """Everything for JSON; a row of the confusion matrix is a true label."""
        labels, counts = self.confusion.labels, self.confusion.matrix().tolist()
        return {
            "what": self.what,
            "labels": [one.as_dict() for one in self.scores],
            "micro": self.micro().as_dict(),
            "macro": self.macro(),
            "confusion": {"labels": labels, "counts": counts},
        }


_COUNTS, SCORES = ("hits", "guessed", "right"), ("precision", "recall", "f1")


def label_decisions(task: Task, score: Evaluation) -> list[LabelDecisions]:
    """The predicted and the true labels of every example."""
    answered = zip(score.examples, score.predictions, strict=True)
    by_example = [
        task.label_decisions(one, answer.value, answer.probabilities)
        for one, answer in answered
        if answer
    ]
    decided = [one for one in by_example if one is not None]
    if not decided:
        raise UsageError(
            "U096",
            "the predictions of this task are not labels: there is nothing to count by label",
            help=["--by-label, --confusion and --calibration are for classify and tag"],
        )
    return decided


def classification_report(by_example: Sequence[LabelDecisions]) -> ClassificationReport:
    """The report on whole entities where the labels are tags of entities, else on positions."""
    positions = ConfusionMatrix(
        (one.right, one.guessed) for example in by_example for one in example.decisions
    )
    is_whole = by_example[0].what == "entity"
    return ClassificationReport(
        by_example[0].what,
        _of_entities(by_example) if is_whole else positions.by_label(),
        positions,
    )


def _of_entities(by_example: Sequence[LabelDecisions]) -> list[LabelScore]:
    hits, guessed, right = Counter[str](), Counter[str](), Counter[str]()
    for one in by_example:
        guessed.update(kind for kind, *_ in one.guessed)
        right.update(kind for kind, *_ in one.right)
        hits.update(kind for kind, *_ in {*one.right} & {*one.guessed})
    kinds = sorted({*guessed, *right})
    return [LabelScore(kind, hits[kind], guessed[kind], right[kind]) for kind in kinds]


def confusion_view(counts: ConfusionMatrix, name: str) -> ConfusionMatrixView:
    """The confusion matrix as a picture."""
    return ConfusionMatrixView(counts.labels, counts.matrix(), name)


def calibration(by_example: Sequence[LabelDecisions]) -> MetricValue:
    """The expected calibration error without its bias, with its 95 % interval."""
    return debiased_calibration_error(_tallies(by_example))


def calibration_view(by_example: Sequence[LabelDecisions], name: str) -> ReliabilityView:
    """The reliability diagram: accuracy by confidence."""
    tallies = _tallies(by_example)
    confidence, right, count = as_matrix(tallies).sum(0).reshape(3, BINS)
    bins = [
        CalibrationBin(
            n / BINS,
            (n + 1) / BINS,
            int(count[n]),
            float(confidence[n] / count[n]),
            float(right[n] / count[n]),
        )
        for n in range(BINS)
        if count[n]
    ]
    return ReliabilityView(bins, debiased_calibration_error(tallies).value, name)


def _tallies(by_example: Sequence[LabelDecisions]) -> list[tuple[float, ...]]:
    """The calibration tally of each example, summed over its labels."""
    if any(math.isnan(one.confidence) for example in by_example for one in example.decisions):
        raise UsageError("U097", "this model gives no probabilities of its labels")
    nothing = (0.0,) * (3 * BINS)
    return [
        tuple(map(sum, zip(nothing, *map(_tally, example.decisions), strict=True)))
        for example in by_example
    ]


def _tally(one: Decision) -> tuple[float, ...]:
    return calibration_bins(one.confidence, one.right == one.guessed)
