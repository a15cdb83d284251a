"""From counts to probabilities: what was seen gives some of its share to what was not.

Every smoothing ends in the same form, a probability for each gram that was seen and a weight for
each context:

p(w | u) = P(u w)               if u w is among the grams
           B(u) p(w | u')       else; u' is u without its first symbol

How much is taken from what was seen, for what was not: discounts from counts of counts.

How likely a label is after others: shares of all lengths of context, joined by weights.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from jaxtyping import Bool, Float, Int

from .levels import NEVER, Level

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


NEVER_SEEN = 0.1  # what is added to how often a label was seen, so that none is impossible


def interpolated(
    counts: Float[np.ndarray, "*labels"],
) -> tuple[Float[np.ndarray, "*labels"], Float[np.ndarray, " depths"]]:
    """p(t | u v) from counts of labels in a row, t the last, and the weights (Brants, 2000).

    p(t | u v) = λ₁ p̂(t) + λ₂ p̂(t | v) + λ₃ p̂(t | u v)          p̂(t | c) = f(c t) / f(c)

    The weights come by deleted interpolation: each run of labels votes, as often as it was seen,
    for the depth at which it would be likeliest had it been seen once less, (f - 1) / (f(c) - 1).
    A context that was never seen leaves its weight to the others. Each depth has one vote more.
    """
    depths = counts.ndim
    shares, left, known = [], [], []
    for depth in range(depths):
        some = counts.sum(axis=tuple(range(depths - 1 - depth)))
        whole = some.sum(-1, keepdims=True)
        if depth == 0:
            sure = (some + NEVER_SEEN) / (whole + NEVER_SEEN * some.size)
        else:
            sure = some / np.maximum(whole, 1)
        shares.append(np.broadcast_to(sure, counts.shape))
        left.append(np.broadcast_to((some - 1) / np.maximum(whole - 1, 1), counts.shape))
        known.append(np.broadcast_to((whole > 0) | (depth == 0), counts.shape))
    votes = np.bincount(np.argmax(left, axis=0).ravel(), counts.ravel(), depths) + 1
    weights = votes / votes.sum()
    told = sum(weight * has for weight, has in zip(weights, known, strict=True))
    joined = sum(weight * share for weight, share in zip(weights, shares, strict=True))
    return np.asarray(joined / told), weights


Smoothing = Literal[
    "modified-kneser-ney", "kneser-ney", "katz", "witten-bell", "add-k", "maximum-likelihood"
]
Chances = Float[np.ndarray, " _"]


@dataclass(frozen=True)
class Smoothed:
    """The probability of each gram of a level, the weight of each context, and what is kept."""

    chance: Chances
    weight: Chances
    kept: Bool[np.ndarray, " grams"]


@dataclass(frozen=True)
class Settings:
    """What can be chosen: see the options of the model."""

    smoothing: Smoothing = "modified-kneser-ney"
    k: float = 1.0
    at_least: tuple[int, ...] = (1,)  # by length; the last is for all longer ones
    discounted: tuple[int, ...] = (1, 7)  # the highest count that is discounted, by length

    @property
    def is_flat(self) -> bool:
        """Whether what was not seen is even, and not left to shorter contexts."""
        return self.smoothing == "add-k"


def smooth(levels: Sequence[Level], settings: Settings) -> list[Smoothed]:
    """The probabilities of all levels, from the shortest grams on."""
    size = len(levels[0].word)
    even = np.full(size, 1 / max(1, size - len(NEVER)))
    even[NEVER] = 0.0
    found: list[Smoothed] = []
    below = even
    for level in levels:
        kept = level.times >= max(1, _at(settings.at_least, level.depth))
        lower = below[level.suffix]
        if settings.smoothing == "katz":
            smoothed = _katz(level, kept, lower, _at(settings.discounted, level.depth))
        else:
            lower = even[level.word] if settings.is_flat else lower
            smoothed = _interpolated(level, kept, lower, settings)
        if level.depth == 0:
            smoothed = _of_all_symbols(smoothed, even, settings)
        found.append(smoothed)
        below = smoothed.chance
    return found


@dataclass(frozen=True)
class Shares:
    """What is taken off each count, and what is added to the sum of each context's counts."""

    counts: np.ndarray
    taken: Chances
    added: Chances


def maximum_likelihood(level: Level, settings: Settings) -> Shares:
    """p(w | u) = c(u w) / c(u); what was never seen is impossible.

    A context that was never seen leaves the word to the next shorter one.
    """
    return Shares(level.times, np.zeros(len(level.times)), np.zeros(level.contexts))


def add_k(level: Level, settings: Settings) -> Shares:
    """p(w | u) = (c(u w) + k) / (c(u) + k V)      Laplace (1812) for k = 1, Lidstone (1920).

    V is the number of symbols that can follow. A context that was never seen says 1 / V.
    """
    symbols = settings.k * level.size
    return Shares(level.times, np.zeros(len(level.times)), np.full(level.contexts, symbols))


def witten_bell(level: Level, settings: Settings) -> Shares:
    """p(w | u) = (c(u w) + T(u) p(w | u')) / (c(u) + T(u))      Witten & Bell (1991).

    T(u) is the number of different symbols seen after u; below one symbol all are even.
    """
    kinds = np.bincount(level.context[level.times > 0], minlength=level.contexts)
    return Shares(level.times, np.zeros(len(level.times)), kinds.astype(np.float64))


def absolute(level: Level, discounts: Discounts) -> Shares:
    """Kneser & Ney (1995), interpolated as Chen & Goodman (1999) have it.

    p(w | u) = (a(u w) - D(a(u w))) / Σ_v a(u v) + B(u) p(w | u')      B(u) = what D took / Σ a

    a is the count for the longest grams and for those at the beginning of a text; for all others
    it is the number of different symbols seen before them. Below one symbol all are even.
    """
    return Shares(level.kinds, discounts.of(level.kinds), np.zeros(level.contexts))


SHARES: dict[Smoothing, Callable[[Level, Settings], Shares]] = {
    "modified-kneser-ney": lambda level, _: absolute(level, modified_kneser_ney(level.kinds)),
    "kneser-ney": lambda level, _: absolute(level, kneser_ney(level.kinds)),
    "witten-bell": witten_bell,
    "add-k": add_k,
    "maximum-likelihood": maximum_likelihood,
}


def _interpolated(level: Level, kept: np.ndarray, lower: Chances, settings: Settings) -> Smoothed:
    """All smoothings that mix a context with the next shorter one; pruned grams leave it theirs."""
    shares = SHARES[settings.smoothing](level, settings)
    whole = _sums(level, shares.counts) + shares.added
    left = shares.added + _sums(level, np.where(kept, shares.taken, shares.counts))
    weight = np.divide(left, whole, out=np.ones(level.contexts), where=whole > 0)
    own = np.where(kept, shares.counts - shares.taken, 0.0)
    of_gram = np.maximum(whole, TINY)[level.context]
    return Smoothed(own / of_gram + weight[level.context] * lower, weight, kept)


def _katz(level: Level, kept: np.ndarray, lower: Chances, highest: int) -> Smoothed:
    """Back-off with Good-Turing discounts (Katz, 1987).

    p(w | u) = d_c c(u w) / c(u)      if u w is among the grams
               B(u) p(w | u')         else; B(u) makes the whole one

    Where the discounts take nothing from a context that has not seen all symbols, its c(u) is
    raised by one, as in the SRI toolkit, so that something is left.
    """
    shares = good_turing(level.times, highest)
    share = np.where(level.times < len(shares), shares[np.minimum(level.times, len(shares) - 1)], 1)
    own = np.where(kept, share * level.times, 0.0)
    whole = _sums(level, level.times)
    kinds = np.bincount(level.context[level.times > 0], minlength=level.contexts)
    gives_nothing = (_sums(level, own) > (1 - TINY) * whole) & (kinds < level.size)
    whole = np.maximum(whole + gives_nothing, TINY)
    chance = own / whole[level.context]
    left = 1 - _sums(level, chance)
    others = 1 - _sums(level, np.where(kept, lower, 0.0))
    # Where all symbols have followed nothing is backed off to: what is left goes to them.
    is_full = others < TINY
    chance *= np.where(is_full, 1 / np.maximum(1 - left, TINY), 1)[level.context]
    weight = np.where(is_full, 0.0, np.maximum(left, 0) / np.maximum(others, TINY))
    return Smoothed(chance, weight, kept)


def _of_all_symbols(smoothed: Smoothed, even: Chances, settings: Settings) -> Smoothed:
    """Every symbol has its place among the grams of one, seen or not; what is left is theirs."""
    chance = smoothed.chance
    if settings.smoothing == "katz":
        unseen = (even > 0) & (chance <= 0)
        heirs = unseen if unseen.any() else even > 0
        chance = np.where(heirs, chance + (1 - chance.sum()) / heirs.sum(), chance)
    chance[NEVER] = 0.0
    return Smoothed(chance, smoothed.weight, np.ones(len(chance), dtype=bool))


def _sums(level: Level, values: np.ndarray) -> Chances:
    """The sum over the grams of each context."""
    sums = np.bincount(level.context, weights=values, minlength=level.contexts)
    return sums.astype(np.float64)


def _at(values: tuple[int, ...], place: int) -> int:
    return values[min(place, len(values) - 1)]
