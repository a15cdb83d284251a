"""The loops that find quantiles of mixtures, for Numba: a bracket, and Newton's steps inside it."""

import math
from typing import Any, no_type_check

import numpy as np

from ..compiled import compiled

STEPS = 100  # far more than are needed: each at least halves the bracket
NEAR = 1e-13  # of the width of the bracket at first: then it is found
FAR = 9.0  # so many deviations from all means the chance is 0 to what a float can hold
Array = Any  # inside compiled functions shapes are what `diagonal` and `counted` say


@compiled
@no_type_check
def below(x: float, shares: Array, means: Array, deviations: Array) -> tuple[float, float]:
    """The chance of a number below x, and the density there."""
    total, density = 0.0, 0.0
    for k in range(len(shares)):
        if shares[k] > 0.0:
            z = (x - means[k]) / deviations[k]
            total += shares[k] * 0.5 * math.erfc(-z * 0.7071067811865476)
            density += shares[k] * math.exp(-0.5 * z * z) * 0.3989422804014327 / deviations[k]
    return total, density


@compiled
@no_type_check
def quantile(level: float, shares: Array, means: Array, deviations: Array) -> float:
    """The number below which a share of the chance lies."""
    low, high = np.inf, -np.inf
    for k in range(len(shares)):
        if shares[k] > 0.0:
            low = min(low, means[k] - FAR * deviations[k])
            high = max(high, means[k] + FAR * deviations[k])
    near, x = NEAR * (high - low), 0.5 * (low + high)
    for _ in range(STEPS):
        total, density = below(x, shares, means, deviations)
        if total < level:
            low = x
        else:
            high = x
        before, x = x, x + (level - total) / max(density, 1e-300)
        if not (low < x < high):
            x = 0.5 * (low + high)
        if abs(x - before) <= near:
            break
    return x


@compiled
@no_type_check
def normal_quantiles(shares: Array, means: Array, deviations: Array, levels: Array) -> Array:
    """Of mixtures of normal distributions, one for each row of shares and each number."""
    found = np.empty((len(shares), means.shape[1], len(levels)))
    for t in range(len(shares)):
        for d in range(means.shape[1]):
            mean, deviation = means[:, d].copy(), deviations[:, d].copy()
            for place in range(len(levels)):
                found[t, d, place] = quantile(levels[place], shares[t], mean, deviation)
    return found


@compiled
@no_type_check
def at_most(count: float, rate: float) -> float:
    """The chance of no more than so many, if so many are expected: terms from the nearer side."""
    if count < 0.0:
        return 0.0
    upper = count >= rate
    k = count + 1.0 if upper else count
    term = math.exp(k * math.log(rate) - rate - math.lgamma(k + 1.0))
    total = term
    while term > 1e-18 * total and (upper or k > 0.0):
        if upper:
            k += 1.0
            term *= rate / k
        else:
            term *= k / rate
            k -= 1.0
        total += term
    return 1.0 - total if upper else total


@compiled
@no_type_check
def counted_quantile(level: float, shares: Array, rates: Array) -> float:
    """The least count that reaches a level."""
    high = 0.0
    for rate in rates:
        high = max(high, math.ceil(rate + FAR * math.sqrt(rate) + 20.0))
    low = -1.0
    while high - low > 1.0:
        middle, total = math.floor(0.5 * (low + high)), 0.0
        for k in range(len(rates)):
            if shares[k] > 0.0:
                total += shares[k] * at_most(middle, rates[k])
        if total < level:
            low = middle
        else:
            high = middle
    return high


@compiled
@no_type_check
def counted_quantiles(shares: Array, rates: Array, levels: Array) -> Array:
    """Of mixtures of Poisson distributions, one for each row of shares and each number."""
    found = np.empty((len(shares), rates.shape[1], len(levels)))
    for t in range(len(shares)):
        for d in range(rates.shape[1]):
            rate = rates[:, d].copy()
            for place in range(len(levels)):
                found[t, d, place] = counted_quantile(levels[place], shares[t], rate)
    return found
