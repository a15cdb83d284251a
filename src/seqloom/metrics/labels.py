"""Classification metrics: precision, recall, macro and micro F1, confusion matrix, calibration.

P = hits / guessed      precision: the fraction of predicted labels that are right
R = hits / right        recall: the fraction of true labels that are predicted
F1 = 2 P R / (P + R) = 2 hits / (guessed + right)

macro F1   the mean of F1 over all labels that occur, as true or as predicted ones
micro F1   the F1 of the sums over labels; where each text has one label it is the accuracy
ECE        Σ_b n_b/n · |accuracy of b - mean confidence of b|      (Naeini et al., 2015)
           expected calibration error; b: bins of predictions of about the same confidence

hits, guessed and right are the numbers of true positives, of predicted and of true labels.
"""

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from jaxtyping import Int

from .intervals import MIN_EXAMPLES
from .tallies import Ratio, Tally

NONE = ""  # no label: there is no true one, or none was predicted
BINS = 10  # of confidence, of equal width
EXAMPLES_PER_LABEL = 8  # of those that occur, for an interval of macro F1; from a simulation


class Decision(NamedTuple):
    """One predicted label with the true one, and the probability the model gave it."""

    right: str
    guessed: str
    confidence: float = math.nan


@lru_cache(maxsize=1 << 16)
def label_counts(pairs: tuple[tuple[int, int], ...], size: int) -> Tally:
    """The tally of macro F1: true positives, predicted and true counts of each of `size` labels.

    `pairs` are ids of a true label and its prediction, -1 for none. Equal examples share one cached
    tally, so that hundreds of labels cost no memory for each example.
    """
    counts = [0.0] * (3 * size)
    for right, guess in pairs:
        if right == guess >= 0:
            counts[right] += 1
        if guess >= 0:
            counts[size + guess] += 1
        if right >= 0:
            counts[2 * size + right] += 1
    return tuple(counts)


def macro_f1(sums: Sequence[float]) -> float:
    """The mean F1 of the labels that occur."""
    hits, guessed, right = np.asarray(sums).reshape(3, -1)
    known = guessed + right > 0
    return float((2 * hits[known] / (guessed + right)[known]).mean()) if known.any() else 0.0


def examples_for_macro_f1(sums: Sequence[float]) -> int:
    """How many examples an interval needs: a rare label may not occur among fewer, or be missed."""
    _, guessed, right = np.asarray(sums).reshape(3, -1)
    return max(MIN_EXAMPLES, EXAMPLES_PER_LABEL * int((guessed + right > 0).sum()))


def micro_f1(pairs: Iterable[tuple[int, int]]) -> Ratio:
    """The tally of micro F1: 2 hits over guessed + right; -1 is no label."""
    counted = [(right, guess) for right, guess in pairs if right >= 0 or guess >= 0]
    hits = sum(right == guess for right, guess in counted)
    return Ratio(2 * hits, sum((right >= 0) + (guess >= 0) for right, guess in counted))


def calibration_bins(confidence: float, is_right: bool, bins: int = BINS) -> Tally:
    """The tally of the calibration error: confidence, number right and count of each bin."""
    counts = [0.0] * (3 * bins)
    index = min(int(confidence * bins), bins - 1)
    counts[index], counts[bins + index], counts[2 * bins + index] = confidence, float(is_right), 1
    return tuple(counts)


def calibration_error(sums: Sequence[float]) -> float:
    """Expected calibration error: |accuracy - confidence| of bins, averaged over predictions."""
    confidence, right, count = np.asarray(sums).reshape(3, -1)
    return float(np.abs(confidence - right).sum() / max(count.sum(), 1e-12))


@dataclass(frozen=True)
class LabelScore:
    """Precision, recall and F1 of one label, from its counts."""

    label: str
    hits: int
    guessed: int
    right: int

    @property
    def precision(self) -> float:
        """The fraction of predictions that are right; 0 where there are none."""
        return self.hits / max(self.guessed, 1)

    @property
    def recall(self) -> float:
        """The fraction of true labels that are predicted; 0 where there are none."""
        return self.hits / max(self.right, 1)

    @property
    def f1(self) -> float:
        """2 hits / (guessed + right)."""
        return 2 * self.hits / max(self.guessed + self.right, 1)

    def as_dict(self) -> dict[str, str | int | float]:
        """Counts and scores for JSON."""
        scores = {"precision": self.precision, "recall": self.recall, "f1": self.f1}
        return {**vars(self), **scores}


class ConfusionMatrix:
    """Confusion matrix: how often each label was predicted where each was true.

    A true label that was missed is predicted as NONE, and a predicted label too many has NONE as
    the true one; pairs of two NONE are not counted.
    """

    def __init__(self, pairs: Iterable[tuple[str, str]]) -> None:
        self.counts = Counter(pair for pair in pairs if pair != (NONE, NONE))
        labels = {label for pair in self.counts for label in pair}
        self.labels = sorted(labels - {NONE}) + [NONE] * (NONE in labels)  # NONE last

    def matrix(self) -> Int[np.ndarray, "right guessed"]:
        """The counts, a row for each true label and a column for each predicted one."""
        index = {label: number for number, label in enumerate(self.labels)}
        counts = np.zeros((len(index), len(index)), dtype=np.int64)
        for (right, guess), count in self.counts.items():
            counts[index[right], index[guess]] = count
        return counts

    def by_label(self) -> list[LabelScore]:
        """The scores of every label but NONE, in alphabetical order."""
        matrix = self.matrix()
        hits, guessed, right = matrix.diagonal(), matrix.sum(0), matrix.sum(1)
        return [
            LabelScore(label, int(hits[n]), int(guessed[n]), int(right[n]))
            for n, label in enumerate(self.labels)
            if label != NONE
        ]

    def errors(self) -> list[tuple[str, str, int]]:
        """True label, predicted label and count of each confusion, the most frequent first."""
        wrong = [(*pair, count) for pair, count in self.counts.items() if pair[0] != pair[1]]
        return sorted(wrong, key=lambda error: (-error[2], error[:2]))
