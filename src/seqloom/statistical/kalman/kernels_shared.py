"""Numba kernel of the Kalman smoother for many series of one model, whose covariances are shared.

Without missing values the gains and covariances of a constant model do not depend on the values, so
they are computed once (`shared`), and only the means move:

    v = x - cᵀ a,  a += g v;  a = A a + B u + c                    forward, value by value
    r₀ += c (v / F - gᵀ r₀),  r₁ -= c gᵀ r₁                        backward, over a value
    r₁ += c (v / F∞ + lᵀ r₀ - gᵀ r₁),  r₀ -= c gᵀ r₀               ... that is diffuse
    r = Aᵀ r                                                       over a transition
    ẑ = a + P r₀ + P∞ r₁                                           smoothed mean

Names are those of `kernels_filter` and `kernels_diffuse`; g is the gain M / F or M∞ / F∞, and l is
(M∞ F / F∞ - M) / F∞.
"""

from math import log, pi
from typing import Any, NamedTuple, no_type_check

import numpy as np

from ..jit import jit, jit_internal

Array = Any
LOG_2PI = log(2 * pi)


class SharedGains(NamedTuple):
    """What all series have in common: that of step t is number min(t, count - 1)."""

    transition: Array  # (states, states)
    design: Array  # (width, states)
    mean: Array  # (states,) of the first state
    gains: Array  # (count, width, states)
    variances: Array  # (count, width); 0 where a value tells nothing
    diffuse_variances: Array  # (count, width); 0 where nothing diffuse is seen
    diffuse_slopes: Array  # (count, width, states)
    covariances: Array  # (count, states, states), predicted
    diffuse_covariances: Array  # (count, states, states)


@jit_internal
@no_type_check
def _product(matrix: Array, vector: Array, scratch: Array) -> None:
    """vector = matrix vector."""
    for i in range(len(vector)):
        scratch[i] = 0.0
        for j in range(len(vector)):
            scratch[i] += matrix[i, j] * vector[j]
    for i in range(len(vector)):
        vector[i] = scratch[i]


@jit_internal
@no_type_check
def _forward(
    shared: SharedGains, values: Array, state_offset: Array, start: int, means: Array
) -> float:
    """Filter one series: the predicted means, the innovations in place of the values, and log p."""
    transition, design, gains = shared.transition, shared.design, shared.gains
    variances, diffuse_variances = shared.variances, shared.diffuse_variances
    (count, width, states), total = gains.shape, 0.0
    mean, scratch = shared.mean.copy(), np.empty(len(shared.mean))
    for t in range(len(values)):
        k = min(t, count - 1)
        if t > 0:
            _product(transition, mean, scratch)
            mean += state_offset[start + t if len(state_offset) > 1 else 0]
        means[t] = mean
        for m in range(width):
            for i in range(states):
                values[t, m] -= design[m, i] * mean[i]
            for i in range(states):
                mean[i] += gains[k, m, i] * values[t, m]
            if diffuse_variances[k, m] > 0.0:
                total += LOG_2PI + log(diffuse_variances[k, m])
            elif variances[k, m] > 0.0:
                total += LOG_2PI + log(variances[k, m]) + values[t, m] ** 2 / variances[k, m]
    return -0.5 * total


@jit_internal
@no_type_check
def _before_value(
    shared: SharedGains, k: int, m: int, innovation: float, score: Array, diffuse_score: Array
) -> None:
    """Go back over value m of a step of number k."""
    gain, design, slope = shared.gains[k, m], shared.design[m], shared.diffuse_slopes[k, m]
    near, far, mixed = 0.0, 0.0, 0.0
    for i in range(len(score)):
        near -= gain[i] * score[i]
        far -= gain[i] * diffuse_score[i]
        mixed += slope[i] * score[i]
    if shared.diffuse_variances[k, m] > 0.0:
        far += innovation / shared.diffuse_variances[k, m] + mixed
    elif shared.variances[k, m] > 0.0:
        near += innovation / shared.variances[k, m]
    for i in range(len(score)):
        score[i] += design[i] * near
        diffuse_score[i] += design[i] * far


@jit_internal
@no_type_check
def _backward(shared: SharedGains, transposed: Array, innovations: Array, means: Array) -> None:
    """Smooth one series: the smoothed means in place of the predicted ones."""
    count, width, states = shared.gains.shape
    covariances, diffuse_covariances = shared.covariances, shared.diffuse_covariances
    score, diffuse_score, scratch = np.zeros(states), np.zeros(states), np.empty(states)
    for t in range(len(innovations) - 1, -1, -1):
        k = min(t, count - 1)
        if t + 1 < len(innovations):
            _product(transposed, score, scratch)
            _product(transposed, diffuse_score, scratch)
        for m in range(width - 1, -1, -1):
            _before_value(shared, k, m, innovations[t, m], score, diffuse_score)
        for i in range(states):
            for j in range(states):
                means[t, i] += covariances[k, i, j] * score[j]
                means[t, i] += diffuse_covariances[k, i, j] * diffuse_score[j]


@jit
@no_type_check
def smooth_means(
    shared: SharedGains,
    values: Array,
    state_offset: Array,
    ends: Array,
    log_likelihoods: Array,
    means: Array,
) -> None:
    """Fill in the log-likelihood of each series, and the smoothed means of all steps.

    `values` (step, width) are those of all series one after another, which end at `ends`; they are
    overwritten. `state_offset` has a row for each step, or one for all.
    """
    transposed, start = shared.transition.T.copy(), 0
    for series in range(len(ends)):
        end = ends[series]
        rows, own = values[start:end], means[start:end]
        log_likelihoods[series] = _forward(shared, rows, state_offset, start, own)
        _backward(shared, transposed, rows, own)
        start = end
