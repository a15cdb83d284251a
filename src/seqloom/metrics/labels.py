"""How well labels are found, and how far the chances a model gives them can be trusted.

P = hits / guessed      precision: how much of what is guessed is right
R = hits / right        recall: how much of what is right is guessed
F1 = 2 P R / (P + R) = 2 hits / (guessed + right)

macro F1   the mean of F1 over all labels that are right somewhere, or guessed
micro F1   the F1 of the sums over labels; where each text has one label it is the accuracy
ECE        Σ_b n_b/n · |accuracy of b - mean confidence of b|      (Naeini et al., 2015)
           b: answers of about the same confidence; 0 where 80 % sure means right in 80 of 100
"""

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from jaxtyping import Int

from .bootstrap import Ratio, Tally

NONE = ""  # stands for no label: nothing is right, or nothing was guessed
BINS = 10  # of confidence, equally wide


class Decision(NamedTuple):
    """One label of an answer beside the right one, and how sure the model was of it."""

    right: str
    guessed: str
    confidence: float = math.nan


@lru_cache(maxsize=1 << 16)
def per_label(pairs: tuple[tuple[int, int], ...], size: int) -> Tally:
    """The tally of macro F1: hits, guesses and right ones of each of `size` labels.

    `pairs` are the numbers of a right label and its guess, -1 standing for none. Examples that are
    alike share one tally, so that hundreds of labels cost no memory for each example.
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
    """The mean F1 of the labels that there are."""
    hits, guessed, right = np.asarray(sums).reshape(3, -1)
    known = guessed + right > 0
    return float((2 * hits[known] / (guessed + right)[known]).mean()) if known.any() else 0.0


def micro_f1(pairs: Iterable[tuple[int, int]]) -> Ratio:
    """What an example adds to 2 hits / (guessed + right); -1 stands for no label."""
    found = [(right, guess) for right, guess in pairs if right >= 0 or guess >= 0]
    hits = sum(right == guess for right, guess in found)
    return Ratio(2 * hits, sum((right >= 0) + (guess >= 0) for right, guess in found))


def in_bins(confidence: float, is_right: bool, bins: int = BINS) -> Tally:
    """The tally of the calibration error: for each bin how sure, how often right, and how many."""
    counts = [0.0] * (3 * bins)
    place = min(int(confidence * bins), bins - 1)
    counts[place], counts[bins + place], counts[2 * bins + place] = confidence, float(is_right), 1
    return tuple(counts)


def calibration_error(sums: Sequence[float]) -> float:
    """How far confidence and accuracy lie apart, on average over answers."""
    sure, right, count = np.asarray(sums).reshape(3, -1)
    return float(np.abs(sure - right).sum() / max(count.sum(), 1e-12))


@dataclass(frozen=True)
class LabelScore:
    """How well one label is found."""

    label: str
    hits: int
    guessed: int
    right: int

    @property
    def precision(self) -> float:
        """How much of what is guessed is right; 0 where nothing is guessed."""
        return self.hits / max(self.guessed, 1)

    @property
    def recall(self) -> float:
        """How much of what is right is guessed; 0 where nothing is right."""
        return self.hits / max(self.right, 1)

    @property
    def f1(self) -> float:
        """2 hits / (guessed + right)."""
        return 2 * self.hits / max(self.guessed + self.right, 1)

    def as_dict(self) -> dict[str, str | int | float]:
        """The same for machines."""
        scores = {"precision": self.precision, "recall": self.recall, "f1": self.f1}
        return {**vars(self), **scores}


class Confusion:
    """How often each label was guessed where each was right.

    A label that was overlooked is guessed as NONE, and one that stands for nothing has NONE as the
    right one; where both are NONE there is nothing to count.
    """

    def __init__(self, pairs: Iterable[tuple[str, str]]) -> None:
        self.counts = Counter(pair for pair in pairs if pair != (NONE, NONE))
        found = {label for pair in self.counts for label in pair}
        self.labels = sorted(found - {NONE}) + [NONE] * (NONE in found)  # that of none last

    def matrix(self) -> Int[np.ndarray, "right guessed"]:
        """The counts, a row for each right label and a column for each guess."""
        place = {label: number for number, label in enumerate(self.labels)}
        found = np.zeros((len(place), len(place)), dtype=np.int64)
        for (right, guess), count in self.counts.items():
            found[place[right], place[guess]] = count
        return found

    def by_label(self) -> list[LabelScore]:
        """Every label but NONE, in order of the alphabet."""
        matrix = self.matrix()
        hits, guessed, right = matrix.diagonal(), matrix.sum(0), matrix.sum(1)
        return [
            LabelScore(label, int(hits[n]), int(guessed[n]), int(right[n]))
            for n, label in enumerate(self.labels)
            if label != NONE
        ]

    def mistakes(self) -> list[tuple[str, str, int]]:
        """What was right, what was guessed instead, and how often: the most frequent first."""
        wrong = [(*pair, count) for pair, count in self.counts.items() if pair[0] != pair[1]]
        return sorted(wrong, key=lambda found: (-found[2], found[:2]))
