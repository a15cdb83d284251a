"""From counts to probabilities: what was seen gives some of its share to what was not.

Every smoothing ends in the same form, a probability for each gram that was seen and a weight for
each context:

p(w | u) = P(u w)               if u w is among the grams
           B(u) p(w | u')       else; u' is u without its first symbol
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from jaxtyping import Bool, Float

from .discounts import TINY, Discounts, good_turing, kneser_ney, modified_kneser_ney
from .levels import NEVER, Level

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
