"""How far two models differ that were asked the same."""

from collections.abc import Sequence
from dataclasses import dataclass

from .tally import Measured, Sums, Tally, Value, drawn_again, middle, share

FEWEST = 6  # five that differ all fall to one side by chance in 2 of 2⁵ cases, which is over 5 %


@dataclass(frozen=True)
class Difference(Measured):
    """How far a metric of one model lies above that of another, with its 95 % interval.

    Args:
        differing: how many examples the two were not equally good at.
    """

    differing: int = 0

    @property
    def is_certain(self) -> bool:
        """Whether it is more than chance: 0 lies outside, and more than a few examples say so.

        Of a few examples, drawing them again tells too little.
        """
        return self.differing >= FEWEST and not self.low <= 0 <= self.high


def difference(
    first: Sequence[Tally], second: Sequence[Tally], value: Value = share, repeats: int = 1000
) -> Difference:
    """The second's metric minus the first's, drawing the same examples again for both.

    d = v(Σᵢ bᵢ) - v(Σᵢ aᵢ)       a, b: tallies;  v: the metric, a function of their sums

    The interval is the middle 95 % of d over samples of the examples with repetition, the same
    for both (Efron, 1979; Koehn, 2004). Hard examples are hard for both, so this is narrower than
    the two intervals suggest.
    """
    if len(first) != len(second) or not first:
        raise ValueError(f"expected the same examples, not {len(first)} and {len(second)}")
    one, other = Sums(first), Sums(second)
    draws = [
        _apart(value(before), value(after))
        for drawn in drawn_again(len(first), repeats)
        for before, after in zip(one.of(drawn), other.of(drawn), strict=True)
    ]
    differing = sum(before != after for before, after in zip(first, second, strict=True))
    whole = _apart(value(one.all()), value(other.all()))
    return Difference(whole, *middle(draws), differing)


def _apart(first: float, second: float) -> float:
    """How far the second is above the first; two that are both without bound are equal."""
    return 0.0 if first == second else second - first
