"""How much is taken from what was seen, for what was not: discounts from counts of counts."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

FALLBACK = (0.5, 1.0, 1.5)  # for counts of 1, 2 and more, where there is too little to tell
TINY = 3e-6  # probabilities below this are taken for none


@dataclass(frozen=True)
class Discounts:
    """What is taken off a count of 1, of 2, and of 3 or more."""

    one: float
    two: float
    more: float

    def of(self, counts: Int[np.ndarray, " grams"]) -> Float[np.ndarray, " grams"]:
        """The discount of each count; nothing is taken from nothing."""
        return np.array([0.0, self.one, self.two, self.more])[np.minimum(counts, 3)]


def kneser_ney(counts: Int[np.ndarray, " grams"]) -> Discounts:
    """One discount for all counts (Ney, Essen & Kneser, 1994).

    D = n1 / (n1 + 2 n2)

    n1 and n2 are how many grams have a count of 1 and of 2. Where one of them is zero, D is 1/2.
    """
    n1, n2, _, _ = counts_of_counts(counts, 4)
    found = n1 / (n1 + 2 * n2) if n1 and n2 else FALLBACK[0]
    return Discounts(found, found, found)


def modified_kneser_ney(counts: Int[np.ndarray, " grams"]) -> Discounts:
    """Three discounts (Chen & Goodman, 1999).

    Y  = n1 / (n1 + 2 n2)
    D1 = 1 - 2 Y n2 / n1      D2 = 2 - 3 Y n3 / n2      D3 = 3 - 4 Y n4 / n3

    Where there is too little to count, or a discount is not between 0 and its count, all three
    are 1/2, 1 and 3/2.
    """
    n1, n2, n3, n4 = counts_of_counts(counts, 4)
    if not (n1 and n2 and n3):
        return Discounts(*FALLBACK)
    y = n1 / (n1 + 2 * n2)
    found = (1 - 2 * y * n2 / n1, 2 - 3 * y * n3 / n2, 3 - 4 * y * n4 / n3)
    if any(not 0 < discount <= count for count, discount in enumerate(found, start=1)):
        return Discounts(*FALLBACK)
    return Discounts(*found)


def good_turing(counts: Int[np.ndarray, " grams"], highest: int) -> Float[np.ndarray, " _"]:
    """The share of each count up to `highest` that is left to it (Katz, 1987).

    r* = (r + 1) n_{r+1} / n_r      A = (k + 1) n_{k+1} / n_1      d_r = (r*/r - A) / (1 - A)

    k is `highest`, lowered where nothing has a count of k + 1. A share that is not between 0 and 1
    becomes 1, as in the SRI toolkit.
    """
    n = [0, *counts_of_counts(counts, highest + 1)]
    while highest > 0 and (n[highest + 1] == 0 or n[1] == 0):
        highest -= 1
    shares = np.ones(highest + 1)
    common = (highest + 1) * n[highest + 1] / n[1] if highest else 0.0
    for r in range(1, highest + 1):
        if not n[r]:
            continue
        turing = (r + 1) * n[r + 1] / (r * n[r])
        share = (turing - common) / (1 - common) if common != 1 else 0.0
        if TINY < share <= 1 and turing <= 1:
            shares[r] = share
    return shares


def counts_of_counts(counts: Int[np.ndarray, " grams"], highest: int) -> list[int]:
    """How many grams have a count of 1, of 2, ... of `highest`."""
    return [int(n) for n in np.bincount(counts[counts <= highest], minlength=highest + 1)[1:]]
