"""How many entities were found: precision, recall and F1, as conlleval counts them.

P = hits / guessed      R = hits / right      F1 = 2 P R / (P + R) = 2 hits / (guessed + right)

A hit is an entity of the same kind with the same first and last word (Tjong Kim Sang & Buchholz,
2000). Counts of examples add up, so all three are functions of sums.
"""

from collections.abc import Hashable, Iterable, Sequence
from typing import NamedTuple


class Found(NamedTuple):
    """What one example adds: entities found and right, all found, all right."""

    hits: float
    guessed: float
    right: float


def found(guessed: Iterable[Hashable], right: Iterable[Hashable]) -> Found:
    """The counts of one example."""
    ours, theirs = set(guessed), set(right)
    return Found(len(ours & theirs), len(ours), len(theirs))


def precision(sums: Sequence[float]) -> float:
    """The share of what was found that is right."""
    hits, guessed, _ = sums
    return hits / guessed if guessed else 0.0


def recall(sums: Sequence[float]) -> float:
    """The share of what is right that was found."""
    hits, _, right = sums
    return hits / right if right else 0.0


def f1(sums: Sequence[float]) -> float:
    """The harmonic mean of precision and recall."""
    hits, guessed, right = sums
    return 2 * hits / (guessed + right) if guessed + right else 0.0
