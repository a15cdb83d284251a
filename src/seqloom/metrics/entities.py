"""Entity F1: precision, recall and F1 of whole entities, as conlleval and seqeval count them.

P = hits / guessed      R = hits / right      F1 = 2 P R / (P + R) = 2 hits / (guessed + right)

A hit is an entity of the same kind with the same first and last word (Tjong Kim Sang & Buchholz,
2000). Counts of examples add up, so all three are functions of sums.
"""

from collections.abc import Hashable, Iterable, Sequence
from typing import NamedTuple


class EntityCounts(NamedTuple):
    """The tally of one example: true positives, predicted entities, true entities."""

    hits: float
    guessed: float
    right: float


def entity_counts(guessed: Iterable[Hashable], right: Iterable[Hashable]) -> EntityCounts:
    """The counts of one example, from its predicted and its true entities."""
    predicted, true = set(guessed), set(right)
    return EntityCounts(len(predicted & true), len(predicted), len(true))


def precision(sums: Sequence[float]) -> float:
    """The fraction of predicted entities that are right."""
    hits, guessed, _ = sums
    return hits / guessed if guessed else 0.0


def recall(sums: Sequence[float]) -> float:
    """The fraction of true entities that are predicted."""
    hits, _, right = sums
    return hits / right if right else 0.0


def f1(sums: Sequence[float]) -> float:
    """The harmonic mean of precision and recall."""
    hits, guessed, right = sums
    return 2 * hits / (guessed + right) if guessed + right else 0.0
