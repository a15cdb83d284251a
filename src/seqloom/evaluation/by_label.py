"""How good answers are label by label, which are taken for which, and how far to trust them."""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import UsageError
from ..metrics import METRICS, Measured, measure
from ..metrics.bootstrap import Sums
from ..metrics.labels import BINS, Confusion, Decision, LabelScore, in_bins
from ..task import Judged, Task
from ..views import Bin, ConfusionView, ReliabilityView
from .evaluate import Evaluation


@dataclass(frozen=True)
class LabelTable:
    """A row for each label, what they come to together, and how often which was taken for which.

    `what` is what was counted: whole entities, or labels place by place; the confusion has places
    always.
    """

    what: str
    scores: list[LabelScore]
    confusion: Confusion

    def micro(self) -> LabelScore:
        """All labels as one."""
        sums = [sum(getattr(one, name) for one in self.scores) for name in _COUNTS]
        return LabelScore("all (micro)", *sums)

    def macro(self) -> dict[str, float]:
        """The mean over labels."""
        number = max(1, len(self.scores))
        return {name: sum(getattr(one, name) for one in self.scores) / number for name in SHARES}

    def as_dict(self) -> dict[str, Any]:
        """Everything for machines; of the confusion, a row is what is right."""
        labels, counts = self.confusion.labels, self.confusion.matrix().tolist()
        return {
            "what": self.what,
            "labels": [one.as_dict() for one in self.scores],
            "micro": self.micro().as_dict(),
            "macro": self.macro(),
            "confusion": {"labels": labels, "counts": counts},
        }


_COUNTS, SHARES = ("hits", "guessed", "right"), ("precision", "recall", "f1")


def judged_of(task: Task, score: Evaluation) -> list[Judged]:
    """The labels of every answer beside the right ones, example by example."""
    answered = zip(score.examples, score.answers, strict=True)
    judged = [task.judged(one, answer.value, answer.chances) for one, answer in answered if answer]
    found = [one for one in judged if one is not None]
    if not found:
        raise UsageError(
            "U096",
            "the answers of this task are no labels: there is nothing to count by label",
            help=["--by-label, --confusion and --calibration are for classify and tag"],
        )
    return found


def label_table(judged: Sequence[Judged]) -> LabelTable:
    """A row for each label: of whole entities where places make such, or else place by place."""
    places = Confusion((one.right, one.guessed) for found in judged for one in found.decisions)
    is_whole = judged[0].what == "entity"
    return LabelTable(
        judged[0].what, _of_entities(judged) if is_whole else places.by_label(), places
    )


def _of_entities(judged: Sequence[Judged]) -> list[LabelScore]:
    hits, guessed, right = Counter[str](), Counter[str](), Counter[str]()
    for one in judged:
        guessed.update(kind for kind, *_ in one.guessed)
        right.update(kind for kind, *_ in one.right)
        hits.update(kind for kind, *_ in {*one.right} & {*one.guessed})
    kinds = sorted({*guessed, *right})
    return [LabelScore(kind, hits[kind], guessed[kind], right[kind]) for kind in kinds]


def confusion_view(counts: Confusion, name: str) -> ConfusionView:
    """What was taken for what, as a picture."""
    return ConfusionView(counts.labels, counts.matrix(), name)


def calibration(judged: Sequence[Judged]) -> Measured:
    """The expected calibration error, with its interval over examples."""
    return measure(_tallies(judged), METRICS["calibration_error"].value)


def calibration_view(judged: Sequence[Judged], name: str) -> ReliabilityView:
    """Accuracy by confidence, as a picture."""
    sums = Sums(_tallies(judged)).all()
    sure, right, count = np.asarray(sums).reshape(3, BINS)
    bins = [
        Bin(
            n / BINS,
            (n + 1) / BINS,
            int(count[n]),
            float(sure[n] / count[n]),
            float(right[n] / count[n]),
        )
        for n in range(BINS)
        if count[n]
    ]
    return ReliabilityView(bins, METRICS["calibration_error"].value(sums), name)


def _tallies(judged: Sequence[Judged]) -> list[tuple[float, ...]]:
    """What each example adds; those of several labels, or of none, too."""
    if any(math.isnan(one.confidence) for found in judged for one in found.decisions):
        raise UsageError("U097", "this model does not say how sure it is of its answers")
    nothing = (0.0,) * (3 * BINS)
    return [
        tuple(map(sum, zip(nothing, *map(_tally, found.decisions), strict=True)))
        for found in judged
    ]


def _tally(one: Decision) -> tuple[float, ...]:
    return in_bins(one.confidence, one.right == one.guessed)
