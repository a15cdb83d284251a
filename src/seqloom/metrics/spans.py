"""How many entities were found: precision, recall and F1, as conlleval counts them.

P = hits / guessed      R = hits / right      F1 = 2 P R / (P + R) = 2 hits / (guessed + right)

A hit is an entity of the same kind with the same first and last word (Tjong Kim Sang & Buchholz,
2000). Counts of examples add up, so all three are functions of sums.
"""

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
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


class Row(NamedTuple):
    """How well one label was found; `support` is how often it was right."""

    label: str
    precision: float
    recall: float
    f1: float
    support: int
    guessed: int


def rows(
    hits: Mapping[str, int], guessed: Mapping[str, int], right: Mapping[str, int]
) -> list[Row]:
    """A row for each label, in the order of the alphabet."""
    found = []
    for label in sorted({*guessed, *right}):
        sums = (hits.get(label, 0), guessed.get(label, 0), right.get(label, 0))
        found.append(Row(label, precision(sums), recall(sums), f1(sums), sums[2], sums[1]))
    return found


def rows_of_pairs(pairs: Mapping[tuple[str, str], int]) -> list[Row]:
    """A row for each label, from how often each right one was guessed to be which."""
    hits, guessed, right = Counter[str](), Counter[str](), Counter[str]()
    for (one, guess), count in pairs.items():
        right[one] += count
        guessed[guess] += count
        hits[one] += count * (one == guess)
    return rows(hits, guessed, right)
