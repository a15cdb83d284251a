"""Numba kernels of the Kalman smoother: fixed-interval smoothing from the last step to the first.

The recursion of de Jong (1989), value by value as in the filter (Durbin and Koopman, 2012):

    r ← c v / F + Lᵀ r      N ← c cᵀ / F + Lᵀ N L      L = 1 - M cᵀ / F       over a value
    r ← Aᵀ r                N ← Aᵀ N A                                        over a transition
    ẑ_t = a_t + P_t r       V_t = P_t - P_t N P_t                             smoothed moments

r (`score`) is the gradient and -N the Hessian (N is `information`) of the log-density of all later
observations as a function of the predicted state. Unlike the smoother of Rauch, Tung and Striebel
this inverts no covariance, so a singular one does no harm.

The updates of the filter are computed again from its predicted moments: to keep M, F and v of each
step would take more memory than the covariances. Where neither P nor N changes any more, only r
moves. The steps that begin with a diffuse part are left to `kernels_diffuse`.
"""

from typing import Any, no_type_check

import numpy as np

from ..jit import jit, jit_internal
from .kernels_filter import CONVERGED, load_step, new_rows, new_update, update
from .kernels_matrix import (
    copy,
    dot_rows,
    is_close,
    matmul,
    matvec,
    sandwich,
    symmetric_matvec,
    symmetrise,
    transpose,
)
from .layout import FilterInput, FilterOutput, SmootherOutput

Array = Any  # inside kernels, shapes are what `layout` says


@jit_internal
@no_type_check
def _score_before(
    design: Array, cross: Array, variances: Array, innovations: Array, count: int, score: Array
) -> None:
    """r = c (v - Mᵀ r) / F + r, from the last value of a step to the first.

    This is c v / F + Lᵀ r without the matrix L. Values with F = 0 told nothing and are passed over.
    """
    for i in range(count - 1, -1, -1):
        if variances[i] > 0.0:
            total = innovations[i]
            for k in range(len(score)):
                total -= cross[i, k] * score[k]
            total /= variances[i]
            for k in range(len(score)):
                score[k] += design[i, k] * total


@jit_internal
@no_type_check
def _information_before(
    design: Array, cross: Array, variances: Array, count: int, information: Array, scratch: Array
) -> None:
    """N = c cᵀ / F + Lᵀ N L with L = 1 - M cᵀ / F, from the last value of a step to the first.

    Multiplied out, N + c cᵀ (1/F + Mᵀ N M / F²) - (c (N M)ᵀ + N M cᵀ) / F: a rank-two update in n²
    steps, where two products with L would take n³.
    """
    for i in range(count - 1, -1, -1):
        if variances[i] > 0.0:
            symmetric_matvec(information, cross, i, scratch)
            inverse = 1.0 / variances[i]
            factor = inverse + dot_rows(cross, scratch, i) * inverse * inverse
            for j in range(len(information)):
                one = design[i, j] * factor - scratch[i, j] * inverse
                other = design[i, j] * inverse
                for k in range(len(information)):
                    information[j, k] += one * design[i, k] - other * scratch[i, k]


@jit_internal
@no_type_check
def _smoothed_covariance(predicted: Array, information: Array, scratch: Array, out: Array) -> None:
    """V = P - P N P."""
    sandwich(predicted, predicted, information, scratch, out)
    for i in range(len(out)):
        for j in range(len(out)):
            out[i, j] = predicted[i, j] - out[i, j]


@jit_internal
@no_type_check
def _lag_covariance(
    covariance: Array,
    transposed: Array,
    predicted: Array,
    information: Array,
    scratch: Array,
    other: Array,
    out: Array,
) -> None:
    """Lag-one covariance Cov(z_{t+1}, z_t) = (1 - P N) A P_t, with P and N of step t + 1.

    It is computed transposed, as P_t Aᵀ - P_t Aᵀ N P, because Aᵀ is what is at hand.
    """
    matmul(covariance, transposed, other)  # P_t Aᵀ
    matmul(other, information, scratch)
    matmul(scratch, predicted, out)
    for i in range(len(out)):
        for j in range(len(out)):
            out[i, j] = other[i, j] - out[i, j]
    transpose(out, scratch)
    copy(scratch, out)


@jit_internal
@no_type_check
def _innovations(
    design: Array, row: Array, mean: Array, cross: Array, variances: Array, innovations: Array
) -> None:
    """The innovations of a step in which M and F are those of the step after it."""
    for i in range(len(row)):
        innovation = row[i]
        for k in range(len(mean)):
            innovation -= design[i, k] * mean[k]
        innovations[i] = innovation
        if variances[i] > 0.0:
            scaled = innovation / variances[i]
            for k in range(len(mean)):
                mean[k] += cross[i, k] * scaled


@jit
@no_type_check
def backward(model: FilterInput, filtered: FilterOutput, lagged: bool) -> SmootherOutput:  # noqa: C901, PLR0915 - one loop: calls that pass all of it cost more than they do
    """Kalman smoother over all steps that begin with nothing diffuse.

    The score and the information that it returns are those of the first of these steps.
    """
    transition, (time, width), states = model.transition, model.values.shape, len(model.mean)
    where, row, noises, factor, design = new_rows(width, states)
    cross, variances, innovations = new_update(width, states)
    products, vector, mean = np.zeros((width, states)), np.empty(states), np.empty(states)
    scratch, other = np.empty((states, states)), np.empty((states, states))
    covariance = np.empty((states, states))
    transposed, later = np.empty((states, states)), np.empty((states, states))
    predicted = filtered.predicted_covariances
    out = _new_output(time, states, lagged)
    score, information = out.score, out.information
    transpose(transition[0], transposed)
    is_steady, count, last, observed = False, 0, -1, -1
    for t in range(time - 1, filtered.diffuse_steps - 1, -1):
        observed, is_same_row = load_step(model, t, observed, where, row, noises, factor, design)
        place, now = filtered.which[t], t + 1 if len(transition) > 1 else 0
        if t + 1 < time:
            if now > 0:
                transpose(transition[now], transposed)
            matvec(transposed, score, vector)
            _put(vector, score)
        _put(filtered.predicted[t], mean)
        # The filter stored one covariance for a whole steady stretch. Where step t shares it with
        # step t + 1, M and F are still there: only the innovations are new.
        is_alike = place == last and is_same_row and observed == width
        if is_alike:
            _innovations(design, row, mean, cross, variances, innovations)
        else:
            copy(predicted[place], covariance)
            update(design, noises, row, observed, mean, covariance, cross, variances, innovations)
        is_steady = is_steady and is_alike
        if not is_steady:
            copy(information, later)
            if t + 1 < time:
                if lagged:  # before the transition: it needs N of step t + 1
                    after = predicted[filtered.which[t + 1]]
                    _lag_covariance(
                        covariance,
                        transposed,
                        after,
                        information,
                        scratch,
                        other,
                        out.lag_covariances[count],
                    )
                sandwich(transposed, transition[now], information, scratch, information)
            _information_before(design, cross, variances, observed, information, products)
            symmetrise(information)
            _smoothed_covariance(predicted[place], information, scratch, out.covariances[count])
            count += 1
            # N converges backwards as P did forwards. From there on covariances are shared, too.
            is_steady = is_alike and model.is_constant and is_close(information, later, CONVERGED)
        out.which[t], last = count - 1, place
        _score_before(design, cross, variances, innovations, observed, score)
        matvec(predicted[place], score, vector)
        for k in range(states):
            out.means[t, k] = filtered.predicted[t, k] + vector[k]
    return SmootherOutput(
        out.means, out.which, out.covariances, out.lag_covariances, score, information, count
    )


@jit_internal
@no_type_check
def _put(vector: Array, out: Array) -> None:
    for i in range(len(vector)):
        out[i] = vector[i]


@jit_internal
@no_type_check
def _new_output(time: int, states: int, lagged: bool) -> SmootherOutput:
    """Room for all covariances there could be; a page takes memory only once it is written to."""
    return SmootherOutput(
        np.empty((time, states)),
        np.empty(time, np.int64),
        np.empty((time, states, states)),
        np.empty((time if lagged else 0, states, states)),
        np.zeros(states),
        np.zeros((states, states)),
        0,
    )
