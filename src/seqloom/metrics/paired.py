"""How far two models differ that were asked the same."""

from collections.abc import Sequence

from .tally import Measured, Sums, Tally, Value, drawn_again, middle, share


def difference(
    first: Sequence[Tally], second: Sequence[Tally], value: Value = share, repeats: int = 1000
) -> Measured:
    """The second's metric minus the first's, drawing the same examples again for both.

    Hard examples are hard for both, so this is narrower than the two intervals suggest.
    """
    one, other = Sums(first), Sums(second)
    draws = [
        _apart(value(before), value(after))
        for drawn in drawn_again(len(first), repeats)
        for before, after in zip(one.of(drawn), other.of(drawn), strict=True)
    ]
    return Measured(_apart(value(one.all()), value(other.all())), *middle(draws))


def _apart(first: float, second: float) -> float:
    """How far the second is above the first; two that are both without bound are equal."""
    return 0.0 if first == second else second - first
