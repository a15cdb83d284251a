"""The loops of a pass of Baum and Welch over rows that are all different, for Numba.

As in the lattice's `scaled`, sums are numbers that are scaled up when they become small. What is
found is written over what was given: new memory would take longer than all that is done in it.

The loops that find quantiles of mixtures, for Numba: a bracket, and Newton's steps inside it.

The loops of densities, for Numba.
"""

import math
from typing import Any, no_type_check

import numpy as np

from ..jit import compiled

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


@compiled
@no_type_check
def add_number(x: float, mean: Array, half: Array, height: Array, here: Array) -> None:
    """Add height - half (x - mean)² of each state."""
    for s in range(len(here)):
        apart = x - mean[s]
        here[s] += height[s] - half[s] * apart * apart


@compiled
@no_type_check
def diagonal(rows: Array, means: Array, halves: Array, heights: Array, into: Array) -> None:
    """Σ_d heights_d - halves_d (x_d - mean_d)² of each state, over observed numbers.

    The arrays of states have a row for each number, so that all states are added to at once.
    """
    for t in range(len(rows)):
        here = into[t]
        here[:] = 0.0
        for d in range(len(means)):
            x = rows[t, d]
            if x == x:  # not NaN
                add_number(x, means[d], halves[d], heights[d], here)


@compiled
@no_type_check
def log_factorials(rows: Array, into: Array) -> None:
    """Σ_d log x_d! of each row, over observed counts."""
    for t in range(len(rows)):
        total = 0.0
        for d in range(rows.shape[1]):
            if rows[t, d] == rows[t, d]:
                total += math.lgamma(rows[t, d] + 1.0)
        into[t] = total


SMALL = 1e-60  # when all numbers of a place are below this together, they are scaled up


@compiled
@no_type_check
def below_the_best(scores: Array) -> float:
    """Write over each score how far it is below the best of its place; the sum of the best."""
    total = 0.0
    for t in range(len(scores)):
        top = scores[t, 0]
        for j in range(1, scores.shape[1]):
            top = max(top, scores[t, j])
        total += top
        for j in range(scores.shape[1]):
            scores[t, j] -= top
    return total


@compiled
@no_type_check
def multiply(vectors: Array, t: int, matrix: Array, into: Array) -> None:
    """into = vectors[t] · matrix."""
    count = len(into)
    for j in range(count):
        into[j] = vectors[t, 0] * matrix[0, j]
    for i in range(1, count):
        share = vectors[t, i]
        for j in range(count):
            into[j] += share * matrix[i, j]


@compiled
@no_type_check
def forward(first: Array, moves: Array, fits: Array, sums: Array, scales: Array) -> float:
    """Forward sums of one series, and the log of what they were scaled by; -inf if nothing can be.

    `fits` is exp(score - the best score) of each state at each place.
    """
    count, scaled, total, ahead = len(first), 0.0, 0.0, first.copy()
    for t in range(len(fits)):
        if t:
            multiply(sums, t - 1, moves, ahead)
        total = 0.0
        for j in range(count):
            sums[t, j] = ahead[j] * fits[t, j]
            total += sums[t, j]
        scales[t] = 1.0
        if total < SMALL:
            if total == 0.0:
                return -np.inf
            scales[t] = 1.0 / total
            scaled += np.log(total)
            for j in range(count):
                sums[t, j] *= scales[t]
            total = 1.0
    return scaled + np.log(total)


@compiled
@no_type_check
def count_moves(sums: Array, t: int, sent: Array, moved: Array) -> None:
    """Add what four places before t + 3, t + 2, t + 1 and t have sent on, all at once."""
    for i in range(len(moved)):
        a, b, c, d = sums[t + 2, i], sums[t + 1, i], sums[t, i], sums[t - 1, i]
        for j in range(len(moved)):
            moved[i, j] += a * sent[0, j] + b * sent[1, j] + c * sent[2, j] + d * sent[3, j]


@compiled
@no_type_check
def backward(columns: Array, fits: Array, sums: Array, scales: Array, moved: Array) -> None:
    """Chances of states, written over `fits`; and how often each move is, added to `moved`.

    Moves are counted without their own probability, which all of them have in common: the chance of
    i → j just before t is a_{t-1}(i) moves(i, j) scale(t) fit(t, j) b_t(j).
    """
    time, count = fits.shape
    total, held = 0.0, 0
    for j in range(count):
        total += sums[time - 1, j]
    after, sent = np.full(count, 1.0 / total), np.zeros((4, count))
    for t in range(time - 1, -1, -1):
        for j in range(count):
            sent[held, j] = fits[t, j] * after[j] * scales[t]
            fits[t, j] = sums[t, j] * after[j]
        multiply(sent, held, columns, after)
        held += t > 0
        if held == 4:
            count_moves(sums, t, sent, moved)
            held = 0
    for k in range(held):
        for i in range(count):
            for j in range(count):
                moved[i, j] += sums[held - 1 - k, i] * sent[k, j]


@compiled
@no_type_check
def baum_welch(
    first: Array, moves: Array, columns: Array, fits: Array, starts: Array, moved: Array
) -> float:
    """log p of all series; `fits` becomes the chances of states, and moves are counted.

    A series that cannot be counts for nothing, and makes the result -inf.
    """
    likelihood, longest = 0.0, 0
    for s in range(len(starts) - 1):
        longest = max(longest, starts[s + 1] - starts[s])
    sums, scales = np.empty((longest, len(first))), np.empty(longest)
    for s in range(len(starts) - 1):
        a, b = starts[s], starts[s + 1]
        if a == b:
            continue
        found = forward(first, moves, fits[a:b], sums, scales)
        likelihood += found
        if found == -np.inf:
            fits[a:b, :] = 0.0
        else:
            backward(columns, fits[a:b], sums[: b - a], scales, moved)
    return likelihood
