"""Numba kernels of HMMs with rows that all differ: log-densities, quantiles, Baum-Welch E-step.

The forward-backward pass is scaled as in `kernels_e_step`, but every row has emission densities of
its own, so there is no table. Results overwrite the inputs: for a hundred thousand rows, fetching
new pages of memory takes longer than the arithmetic.

Quantiles of mixtures have no formula: Newton's method inside a bracket finds those of Gaussians,
bisection those of Poisson distributions.
"""

import math
from typing import Any, no_type_check

import numpy as np

from ..jit import jit

STEPS = 100  # far more than needed: each step at least halves the bracket
NEAR = 1e-13  # of the width of the first bracket: converged
FAR = 9.0  # so many deviations beyond all means the tail probability is 0 in double precision
Array = Any  # inside kernels, shapes are what `gaussian` says


@jit
@no_type_check
def mixture_cdf(x: float, weights: Array, means: Array, deviations: Array) -> tuple[float, float]:
    """Cumulative distribution and density of a Gaussian mixture at x."""
    total, density = 0.0, 0.0
    for k in range(len(weights)):
        if weights[k] > 0.0:
            z = (x - means[k]) / deviations[k]
            # erfc and not 1 - erf: it keeps its digits in the lower tail.
            total += weights[k] * 0.5 * math.erfc(-z * 0.7071067811865476)
            density += weights[k] * math.exp(-0.5 * z * z) * 0.3989422804014327 / deviations[k]
    return total, density


@jit
@no_type_check
def mixture_quantile(level: float, weights: Array, means: Array, deviations: Array) -> float:
    """Quantile of a Gaussian mixture: safeguarded Newton (Newton's step, else bisection)."""
    low, high = np.inf, -np.inf
    for k in range(len(weights)):
        if weights[k] > 0.0:
            low = min(low, means[k] - FAR * deviations[k])
            high = max(high, means[k] + FAR * deviations[k])
    near, x = NEAR * (high - low), 0.5 * (low + high)
    for _ in range(STEPS):
        total, density = mixture_cdf(x, weights, means, deviations)
        if total < level:
            low = x
        else:
            high = x
        before, x = x, x + (level - total) / max(density, 1e-300)
        # Between two far components the density is nearly 0 and Newton's step leaps out of the
        # bracket; halving it always makes progress.
        if not (low < x < high):
            x = 0.5 * (low + high)
        if abs(x - before) <= near:
            break
    return x


@jit
@no_type_check
def normal_quantiles(weights: Array, means: Array, deviations: Array, levels: Array) -> Array:
    """Quantiles of Gaussian mixtures, one for each row of weights and each column."""
    found = np.empty((len(weights), means.shape[1], len(levels)))
    for t in range(len(weights)):
        for d in range(means.shape[1]):
            mean, deviation = means[:, d].copy(), deviations[:, d].copy()
            for place in range(len(levels)):
                found[t, d, place] = mixture_quantile(levels[place], weights[t], mean, deviation)
    return found


@jit
@no_type_check
def poisson_cdf(count: float, rate: float) -> float:
    """Cumulative distribution of a Poisson: the sum of the smaller tail, term by term.

    Starting at the largest term of the tail, each term follows from the one before by a factor
    rate / k, and the sum ends when terms no longer count. The smaller tail keeps all digits.
    """
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


@jit
@no_type_check
def poisson_quantile(level: float, weights: Array, rates: Array) -> float:
    """Quantile of a Poisson mixture: the least count that reaches a level, by bisection."""
    high = 0.0
    for rate in rates:
        high = max(high, math.ceil(rate + FAR * math.sqrt(rate) + 20.0))
    low = -1.0
    while high - low > 1.0:
        middle, total = math.floor(0.5 * (low + high)), 0.0
        for k in range(len(rates)):
            if weights[k] > 0.0:
                total += weights[k] * poisson_cdf(middle, rates[k])
        if total < level:
            low = middle
        else:
            high = middle
    return high


@jit
@no_type_check
def poisson_quantiles(weights: Array, rates: Array, levels: Array) -> Array:
    """Quantiles of Poisson mixtures, one for each row of weights and each column."""
    found = np.empty((len(weights), rates.shape[1], len(levels)))
    for t in range(len(weights)):
        for d in range(rates.shape[1]):
            rate = rates[:, d].copy()
            for place in range(len(levels)):
                found[t, d, place] = poisson_quantile(levels[place], weights[t], rate)
    return found


@jit
@no_type_check
def add_value(x: float, mean: Array, half: Array, height: Array, out: Array) -> None:
    """Add height - half (x - mean)² of each state: the log-density of one value."""
    for s in range(len(out)):
        error = x - mean[s]
        out[s] += height[s] - half[s] * error * error


@jit
@no_type_check
def diagonal_log_densities(
    rows: Array, means: Array, halves: Array, heights: Array, out: Array
) -> None:
    """Log-densities of rows under Gaussians with diagonal covariance, over observed values.

    Σ_d heights_d - halves_d (x_d - mean_d)². The parameters have a row for each column of the data,
    so that the inner loop runs over states: NaN is tested once for all of them.
    """
    for t in range(len(rows)):
        here = out[t]
        here[:] = 0.0
        for d in range(len(means)):
            x = rows[t, d]
            if x == x:  # not NaN
                add_value(x, means[d], halves[d], heights[d], here)


@jit
@no_type_check
def log_factorials(rows: Array, out: Array) -> None:
    """Σ_d log x_d! of each row, over observed counts."""
    for t in range(len(rows)):
        total = 0.0
        for d in range(rows.shape[1]):
            if rows[t, d] == rows[t, d]:
                total += math.lgamma(rows[t, d] + 1.0)
        out[t] = total


SMALL = 1e-60  # when the sum of a position falls below this it is scaled up
REACHED = 1e-300  # a forward sum below this is 0: its reciprocal, the largest β, is a number


@jit
@no_type_check
def subtract_max(scores: Array) -> float:
    """Subtract from each row its maximum, in place; the sum of all maxima.

    exp of the result is at most 1 and not 0 for the best state, whatever units the data are in.
    """
    total = 0.0
    for t in range(len(scores)):
        top = scores[t, 0]
        for j in range(1, scores.shape[1]):
            top = max(top, scores[t, j])
        total += top
        for j in range(scores.shape[1]):
            scores[t, j] -= top
    return total


@jit
@no_type_check
def vector_matrix(vectors: Array, t: int, matrix: Array, out: Array) -> None:
    """out = vectors[t] · matrix."""
    count = len(out)
    for j in range(count):
        out[j] = vectors[t, 0] * matrix[0, j]
    for i in range(1, count):
        factor = vectors[t, i]
        for j in range(count):
            out[j] += factor * matrix[i, j]


@jit
@no_type_check
def forward(first: Array, transitions: Array, fits: Array, sums: Array, scales: Array) -> float:
    """Scaled forward sums of one series, and its log-likelihood; -inf if it is impossible.

    `fits` is exp(log-density - the largest of its row) of each state at each position; the
    log-likelihood is that of the fits.
    """
    count, scaled, total, ahead = len(first), 0.0, 0.0, first.copy()
    for t in range(len(fits)):
        if t:
            vector_matrix(sums, t - 1, transitions, ahead)
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


@jit
@no_type_check
def add_transitions(sums: Array, t: int, sent: Array, moved: Array) -> None:
    """Add the transition counts of positions t to t + 3, each with the position before it.

    Four outer products at once: the matrix of counts is read and written once for four positions.
    """
    for i in range(len(moved)):
        a, b, c, d = sums[t + 2, i], sums[t + 1, i], sums[t, i], sums[t - 1, i]
        for j in range(len(moved)):
            moved[i, j] += a * sent[0, j] + b * sent[1, j] + c * sent[2, j] + d * sent[3, j]


@jit
@no_type_check
def backward(transposed: Array, fits: Array, sums: Array, scales: Array, moved: Array) -> None:
    """Backward pass: `fits` becomes the posterior of states; transitions are added to `moved`.

    ξ_t(i, j) = α_{t-1}(i) transitions(i, j) scale_t fit_t(j) β_t(j). The factor transitions(i, j)
    is the same at all positions and is left to the caller.
    """
    time, count = fits.shape
    total, held = 0.0, 0
    for j in range(count):
        total += sums[time - 1, j]
    # β_T = 1 / likelihood and not 1: then α_t(j) β_t(j) is already the normalised posterior.
    after, sent = np.full(count, 1.0 / total), np.zeros((4, count))
    for t in range(time - 1, -1, -1):
        for j in range(count):
            # No path reaches a state where α is 0, and its β may have grown beyond all numbers.
            after[j] = after[j] if sums[t, j] >= REACHED else 0.0
            sent[held, j] = fits[t, j] * after[j] * scales[t]
            fits[t, j] = sums[t, j] * after[j]
        vector_matrix(sent, held, transposed, after)
        held += t > 0
        if held == 4:
            add_transitions(sums, t, sent, moved)
            held = 0
    for k in range(held):
        for i in range(count):
            for j in range(count):
                moved[i, j] += sums[held - 1 - k, i] * sent[k, j]


@jit
@no_type_check
def baum_welch(
    first: Array, transitions: Array, transposed: Array, fits: Array, offsets: Array, moved: Array
) -> float:
    """E-step of Baum-Welch: the log-likelihood of all series.

    `fits` becomes the posterior of states, and transitions are counted in `moved`. An impossible
    series adds no counts and makes the result -inf.
    """
    likelihood, longest = 0.0, 0
    for s in range(len(offsets) - 1):
        longest = max(longest, offsets[s + 1] - offsets[s])
    sums, scales = np.empty((longest, len(first))), np.empty(longest)  # reused by every series
    for s in range(len(offsets) - 1):
        a, b = offsets[s], offsets[s + 1]
        if a == b:
            continue
        found = forward(first, transitions, fits[a:b], sums, scales)
        likelihood += found
        if found == -np.inf:
            fits[a:b, :] = 0.0
        else:
            backward(transposed, fits[a:b], sums[: b - a], scales, moved)
    return likelihood
