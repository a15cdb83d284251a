"""How good answers are label by label, which are taken for which, and how far to trust them."""

import math

import numpy as np

from .errors import UsageError
from .metrics import METRICS, Measured, measure
from .metrics.labels import BINS, Confusion, Decision, in_bins
from .metrics.tally import Sums
from .task import Task
from .training.evaluation import Evaluation
from .views import Bin, ConfusionView, ReliabilityView


def decided(task: Task, score: Evaluation) -> list[list[Decision]]:
    """The labels of every answer beside the right ones, example by example."""
    found = [
        task.decisions(example, answer.value, answer.chances) if answer else []
        for example, answer in zip(score.examples, score.answers, strict=True)
    ]
    if not any(found):
        raise UsageError(
            "U096",
            "the answers of this task are no labels: there is nothing to count by label",
            help=["--by-label, --confusion and --calibration are for classify and tag"],
        )
    return found


def confusion(decisions: list[list[Decision]]) -> Confusion:
    """What was taken for what."""
    return Confusion((one.right, one.guessed) for found in decisions for one in found)


def confusion_view(counts: Confusion, name: str) -> ConfusionView:
    """The same as a picture."""
    return ConfusionView(counts.labels, counts.matrix(), name)


def calibration(decisions: list[list[Decision]]) -> Measured:
    """The expected calibration error, with its interval over examples."""
    value = METRICS["calibration_error"].value
    return measure(_tallies(decisions), value)


def calibration_view(decisions: list[list[Decision]], name: str) -> ReliabilityView:
    """Accuracy by confidence, as a picture."""
    sums = Sums(_tallies(decisions)).all()
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


def _tallies(decisions: list[list[Decision]]) -> list[tuple[float, ...]]:
    """What each example adds; those of several labels, or of none, too."""
    if any(math.isnan(one.confidence) for found in decisions for one in found):
        raise UsageError("U097", "this model does not say how sure it is of its answers")
    nothing = (0.0,) * (3 * BINS)
    return [
        tuple(map(sum, zip(nothing, *(_tally(one) for one in found), strict=True)))
        for found in decisions
    ]


def _tally(one: Decision) -> tuple[float, ...]:
    return in_bins(one.confidence, one.right == one.guessed)
