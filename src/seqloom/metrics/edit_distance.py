"""Edit distance (Levenshtein, 1966) and the error rates made of it: token and word error rate."""

from collections.abc import Hashable, Iterable, Sequence

from .tallies import Ratio


def edit_distance(hypothesis: Sequence[Hashable], reference: Sequence[Hashable]) -> int:
    """The fewest insertions, deletions and substitutions from one to the other (Levenshtein).

    d(i, j) = min(d(i-1, j) + 1, d(i, j-1) + 1, d(i-1, j-1) + [hypothesis_i ≠ reference_j])
    """
    before = list(range(len(reference) + 1))  # only the last row of d is kept
    for i, token in enumerate(hypothesis, start=1):
        row = [i]
        for j, other in enumerate(reference, start=1):
            row.append(min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (token != other)))
        before = row
    return before[-1]


def token_error_rate(
    hypothesis: Sequence[Hashable], references: Iterable[Sequence[Hashable]]
) -> Ratio:
    """Edit distance to the nearest reference, over that reference's length."""
    ratios = [Ratio(edit_distance(hypothesis, r), max(1, len(r))) for r in references]
    return min(ratios, key=lambda ratio: ratio.top / ratio.bottom)
