"""N-gram smoothing: Kneser-Ney, Katz with Good-Turing, Witten-Bell, add-k, deleted interpolation.

Every method ends in the same form, a probability P of each n-gram that was seen and a back-off
weight B of each context:

    p(w | u) = P(u w)               if u w is among the n-grams
               B(u) p(w | u')       else; u' is u without its first token

`Discounts` and the functions that estimate them from counts of counts come first, then deleted
interpolation for the label n-grams of an HMM tagger, then the smoothing of a whole model.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from jaxtyping import Bool, Float, Int

from .levels import NEVER, Level

FALLBACK = (0.5, 1.0, 1.5)  # discounts of counts of 1, 2 and more where data are too few
TINY = 3e-6  # probabilities below this count as 0, as in the SRI toolkit


@dataclass(frozen=True)
class Discounts:
    """Absolute discounts of counts of 1, of 2, and of 3 or more."""

    one: float
    two: float
    more: float

    def of(self, counts: Int[np.ndarray, " grams"]) -> Float[np.ndarray, " grams"]:
        """The discount of each count; 0 of a count of 0."""
        return np.array([0.0, self.one, self.two, self.more])[np.minimum(counts, 3)]


def kneser_ney(counts: Int[np.ndarray, " grams"]) -> Discounts:
    """One discount for all counts (Ney, Essen & Kneser, 1994).

    D = n1 / (n1 + 2 n2)

    n1 and n2 are how many n-grams have a count of 1 and of 2. Where one of them is zero, D is 1/2.
    """
    n1, n2, _, _ = counts_of_counts(counts, 4)
    found = n1 / (n1 + 2 * n2) if n1 and n2 else FALLBACK[0]
    return Discounts(found, found, found)


def modified_kneser_ney(counts: Int[np.ndarray, " grams"]) -> Discounts:
    """Three discounts (Chen & Goodman, 1999).

    Y  = n1 / (n1 + 2 n2)
    D1 = 1 - 2 Y n2 / n1      D2 = 2 - 3 Y n3 / n2      D3 = 3 - 4 Y n4 / n3

    Where some n is zero, or a discount is not between 0 and its count, all three are 1/2, 1 and
    3/2.
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
    """Good-Turing discount ratio of each count up to `highest` (Katz, 1987).

    r* = (r + 1) n_{r+1} / n_r      A = (k + 1) n_{k+1} / n_1      d_r = (r*/r - A) / (1 - A)

    k is `highest`, lowered where nothing has a count of k + 1. A ratio that is not between 0 and 1
    becomes 1, as in the SRI toolkit.
    """
    n = [0, *counts_of_counts(counts, highest + 1)]
    while highest > 0 and (n[highest + 1] == 0 or n[1] == 0):
        highest -= 1
    ratios = np.ones(highest + 1)
    common = (highest + 1) * n[highest + 1] / n[1] if highest else 0.0
    for r in range(1, highest + 1):
        if not n[r]:
            continue
        turing = (r + 1) * n[r + 1] / (r * n[r])
        ratio = (turing - common) / (1 - common) if common != 1 else 0.0
        if TINY < ratio <= 1 and turing <= 1:
            ratios[r] = ratio
    return ratios


def counts_of_counts(counts: Int[np.ndarray, " grams"], highest: int) -> list[int]:
    """How many n-grams have a count of 1, of 2, … of `highest`."""
    return [int(n) for n in np.bincount(counts[counts <= highest], minlength=highest + 1)[1:]]


UNSEEN_COUNT = 0.1  # pseudo-count of every label, so that none is impossible


def deleted_interpolation(
    counts: Float[np.ndarray, "*labels"],
) -> tuple[Float[np.ndarray, "*labels"], Float[np.ndarray, " depths"]]:
    """p(t | u v) from counts of label n-grams, t the last label, and the weights (Brants, 2000).

    p(t | u v) = λ₁ p̂(t) + λ₂ p̂(t | v) + λ₃ p̂(t | u v)          p̂(t | c) = f(c t) / f(c)

    The weights come from deleted interpolation: each n-gram votes, as often as it was seen, for the
    depth at which it would be likeliest had it been seen once less, (f - 1) / (f(c) - 1). A context
    that was never seen leaves its weight to the others. Each depth has one vote more.
    """
    depths = counts.ndim
    estimates, deleted, is_known = [], [], []
    for depth in range(depths):
        some = counts.sum(axis=tuple(range(depths - 1 - depth)))
        whole = some.sum(-1, keepdims=True)
        if depth == 0:
            estimate = (some + UNSEEN_COUNT) / (whole + UNSEEN_COUNT * some.size)
        else:
            estimate = some / np.maximum(whole, 1)
        estimates.append(np.broadcast_to(estimate, counts.shape))
        deleted.append(np.broadcast_to((some - 1) / np.maximum(whole - 1, 1), counts.shape))
        is_known.append(np.broadcast_to((whole > 0) | (depth == 0), counts.shape))
    votes = np.bincount(np.argmax(deleted, axis=0).ravel(), counts.ravel(), depths) + 1
    weights = votes / votes.sum()
    known = sum(weight * has for weight, has in zip(weights, is_known, strict=True))
    mixed = sum(weight * estimate for weight, estimate in zip(weights, estimates, strict=True))
    return np.asarray(mixed / known), weights


Smoothing = Literal[
    "modified-kneser-ney", "kneser-ney", "katz", "witten-bell", "add-k", "maximum-likelihood"
]
Probabilities = Float[np.ndarray, " _"]


@dataclass(frozen=True)
class SmoothedLevel:
    """Probabilities of the n-grams of a level, back-off weights of contexts, and what is kept."""

    probability: Probabilities
    backoff: Probabilities
    kept: Bool[np.ndarray, " grams"]


@dataclass(frozen=True)
class SmoothingSettings:
    """The settings of a smoothing method: see the options of the model."""

    smoothing: Smoothing = "modified-kneser-ney"
    k: float = 1.0
    min_counts: tuple[int, ...] = (1,)  # by order; the last is for all higher ones
    good_turing: tuple[int, ...] = (1, 7)  # the highest count that is discounted, by order

    @property
    def is_uniform(self) -> bool:
        """Whether unseen n-grams are uniform, and do not back off to shorter contexts (add-k)."""
        return self.smoothing == "add-k"


def smooth(levels: Sequence[Level], settings: SmoothingSettings) -> list[SmoothedLevel]:
    """The probabilities of all levels, from order 1 on: each needs those of the level below."""
    size = len(levels[0].token)
    uniform = np.full(size, 1 / max(1, size - len(NEVER)))
    uniform[NEVER] = 0.0
    found: list[SmoothedLevel] = []
    below = uniform
    for level in levels:
        kept = level.counts >= max(1, _at(settings.min_counts, level.depth))
        lower = below[level.suffix]
        if settings.smoothing == "katz":
            smoothed = _katz(level, kept, lower, _at(settings.good_turing, level.depth))
        else:
            lower = uniform[level.token] if settings.is_uniform else lower
            smoothed = _interpolated(level, kept, lower, settings)
        if level.depth == 0:
            smoothed = _complete_unigrams(smoothed, uniform, settings)
        found.append(smoothed)
        below = smoothed.probability
    return found


@dataclass(frozen=True)
class AdjustedCounts:
    """Counts, the discount of each, and the pseudo-counts added to the total of each context."""

    counts: np.ndarray
    discounts: Probabilities
    pseudo_counts: Probabilities


def maximum_likelihood(level: Level, settings: SmoothingSettings) -> AdjustedCounts:
    """p(w | u) = c(u w) / c(u); unseen n-grams are impossible.

    A context that was never seen leaves the token to the next shorter one.
    """
    return AdjustedCounts(level.counts, np.zeros(len(level.counts)), np.zeros(level.contexts))


def add_k(level: Level, settings: SmoothingSettings) -> AdjustedCounts:
    """p(w | u) = (c(u w) + k) / (c(u) + k V)      Laplace (1812) for k = 1, Lidstone (1920).

    V is the number of tokens that can follow. After a context that was never seen it is 1 / V.
    """
    total = settings.k * level.size
    return AdjustedCounts(level.counts, np.zeros(len(level.counts)), np.full(level.contexts, total))


def witten_bell(level: Level, settings: SmoothingSettings) -> AdjustedCounts:
    """p(w | u) = (c(u w) + T(u) p(w | u')) / (c(u) + T(u))      Witten & Bell (1991).

    T(u) is the number of different tokens seen after u. Below order 1 all tokens are equally
    probable.
    """
    types = np.bincount(level.context[level.counts > 0], minlength=level.contexts)
    return AdjustedCounts(level.counts, np.zeros(len(level.counts)), types.astype(np.float64))


def absolute_discounting(level: Level, discounts: Discounts) -> AdjustedCounts:
    """Kneser & Ney (1995), interpolated as in Chen & Goodman (1999).

    p(w | u) = (a(u w) - D(a(u w))) / Σ_v a(u v) + B(u) p(w | u')      B(u) = Σ D / Σ a

    a is the count for n-grams of the highest order and for those at the beginning of a text; for
    all others it is the continuation count: after how many different tokens they were seen. Below
    order 1 all tokens are equally probable.
    """
    return AdjustedCounts(
        level.continuations, discounts.of(level.continuations), np.zeros(level.contexts)
    )


# A new smoothing method of this form is a function here, and its name in `Smoothing`.
METHODS: dict[Smoothing, Callable[[Level, SmoothingSettings], AdjustedCounts]] = {
    "modified-kneser-ney": lambda level, _: absolute_discounting(
        level, modified_kneser_ney(level.continuations)
    ),
    "kneser-ney": lambda level, _: absolute_discounting(level, kneser_ney(level.continuations)),
    "witten-bell": witten_bell,
    "add-k": add_k,
    "maximum-likelihood": maximum_likelihood,
}


def _interpolated(
    level: Level, kept: np.ndarray, lower: Probabilities, settings: SmoothingSettings
) -> SmoothedLevel:
    """Interpolation with the next lower order: all methods but Katz.

    The whole count of a pruned n-gram goes to the lower order, not only its discount.
    """
    adjusted = METHODS[settings.smoothing](level, settings)
    whole = _context_sums(level, adjusted.counts) + adjusted.pseudo_counts
    discounts = np.where(kept, adjusted.discounts, adjusted.counts)
    left = adjusted.pseudo_counts + _context_sums(level, discounts)
    # A context without counts passes everything on: its weight is 1.
    weight = np.divide(left, whole, out=np.ones(level.contexts), where=whole > 0)
    own = np.where(kept, adjusted.counts - adjusted.discounts, 0.0)
    of_gram = np.maximum(whole, TINY)[level.context]
    return SmoothedLevel(own / of_gram + weight[level.context] * lower, weight, kept)


def _katz(level: Level, kept: np.ndarray, lower: Probabilities, highest: int) -> SmoothedLevel:
    """Katz back-off with Good-Turing discounts (Katz, 1987).

    p(w | u) = d_c c(u w) / c(u)      if u w is among the n-grams
               B(u) p(w | u')         else; B(u) makes the sum one

    Where the discounts take nothing from a context that has not seen all tokens, its c(u) is raised
    by one, as in the SRI toolkit, so that something is left.
    """
    ratios = good_turing(level.counts, highest)
    last = len(ratios) - 1
    ratio = np.where(level.counts < len(ratios), ratios[np.minimum(level.counts, last)], 1)
    own = np.where(kept, ratio * level.counts, 0.0)
    whole = _context_sums(level, level.counts)
    types = np.bincount(level.context[level.counts > 0], minlength=level.contexts)
    gives_nothing = (_context_sums(level, own) > (1 - TINY) * whole) & (types < level.size)
    whole = np.maximum(whole + gives_nothing, TINY)
    probability = own / whole[level.context]
    left = 1 - _context_sums(level, probability)
    others = 1 - _context_sums(level, np.where(kept, lower, 0.0))
    # Where all tokens have followed there is nothing to back off to: what is left goes to them.
    is_full = others < TINY
    probability *= np.where(is_full, 1 / np.maximum(1 - left, TINY), 1)[level.context]
    weight = np.where(is_full, 0.0, np.maximum(left, 0) / np.maximum(others, TINY))
    return SmoothedLevel(probability, weight, kept)


def _complete_unigrams(
    smoothed: SmoothedLevel, uniform: Probabilities, settings: SmoothingSettings
) -> SmoothedLevel:
    """Unigrams of all tokens, seen or not; under Katz unseen ones share what is left."""
    probability = smoothed.probability
    if settings.smoothing == "katz":
        unseen = (uniform > 0) & (probability <= 0)
        heirs = unseen if unseen.any() else uniform > 0
        rest = (1 - probability.sum()) / heirs.sum()
        probability = np.where(heirs, probability + rest, probability)
    probability[NEVER] = 0.0
    return SmoothedLevel(probability, smoothed.backoff, np.ones(len(probability), dtype=bool))


def _context_sums(level: Level, values: np.ndarray) -> Probabilities:
    """The sum over the n-grams of each context."""
    sums = np.bincount(level.context, weights=values, minlength=level.contexts)
    return sums.astype(np.float64)


def _at(values: tuple[int, ...], place: int) -> int:
    return values[min(place, len(values) - 1)]
