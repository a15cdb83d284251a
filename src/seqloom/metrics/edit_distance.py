"""Edit distance between sequences."""

from collections.abc import Hashable, Iterable, Sequence

from .bootstrap import Ratio


def distance(guess: Sequence[Hashable], right: Sequence[Hashable]) -> int:
    """The fewest insertions, deletions and substitutions from one to the other (Levenshtein).

    d(i, j) = min(d(i-1, j) + 1, d(i, j-1) + 1, d(i-1, j-1) + [guess_i ≠ right_j])
    """
    before = list(range(len(right) + 1))
    for i, symbol in enumerate(guess, start=1):
        row = [i]
        for j, other in enumerate(right, start=1):
            row.append(min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (symbol != other)))
        before = row
    return before[-1]


def symbol_error(guess: Sequence[Hashable], references: Iterable[Sequence[Hashable]]) -> Ratio:
    """Edits to the nearest reference over that reference's length."""
    found = [Ratio(distance(guess, right), max(1, len(right))) for right in references]
    return min(found, key=lambda ratio: ratio.top / ratio.bottom)
