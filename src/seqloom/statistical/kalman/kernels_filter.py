"""Numba kernels of the Kalman filter: univariate updates, exact diffuse start, steady state.

Observations are processed one value at a time (Koopman and Durbin, 2000): a row of p values with
independent noise is p rows of one value, so no matrix is inverted. Correlated noise is first made
independent by R = L D Lᵀ: the noise of L⁻¹ x is D, and its observation matrix L⁻¹ C. A missing
value is a row less.

A constant model soon reaches its steady state: covariances have converged, and while nothing is
missing only means are computed from there on.

Names in equations and code, for one value with the row c of L⁻¹ C (`design`) and the variance r of
its noise (`noise`): M = P c (`cross`, the covariance of state and innovation), F = cᵀ M + r
(`variance`), v = x - cᵀ a (`innovation`); and of the diffuse part M∞ = P∞ c (`cross_diffuse`),
F∞ = cᵀ M∞ (`variance_diffuse`). The Kalman gain is M / F.

Each array is an argument of its own: Numba counts the references of every array in a tuple at each
call, which takes longer than the arithmetic of a small model.
"""

from math import log, pi
from typing import Any, no_type_check

import numpy as np

from ..jit import jit, jit_internal
from .kernels_matrix import (
    copy,
    dot_rows,
    is_close,
    matvec,
    sandwich,
    symmetric_matvec,
    transpose,
)
from .layout import FilterInput, FilterOutput

Array = Any  # inside kernels, shapes are what `layout` says
# F is a difference of nearly equal numbers where the state is known exactly. Below this fraction of
# its largest term it is rounding: F counts as 0, and the value tells nothing.
NOTHING = 1e-13
NEGATIVE = 1e-6  # so far below 0, as a fraction of its largest term, F is no rounding but an error
DIFFUSE = 1e-10  # F∞ below this fraction of cᵀ c counts as 0: the value sees nothing diffuse
LOG_2PI = log(2 * pi)


@jit_internal
@no_type_check
def gather_observed(
    values: Array, t: int, where: Array, out: Array, before: int
) -> tuple[int, bool]:
    """The observed values of step t: how many, and whether the same ones as in the step before."""
    count, is_same = 0, True
    for i in range(values.shape[1]):
        if not np.isnan(values[t, i]):
            is_same = is_same and count < before and where[count] == i
            where[count] = i
            out[count] = values[t, i]
            count += 1
    return count, is_same and count == before


@jit_internal
@no_type_check
def prepare_rows(
    observation: Array,
    noise: Array,
    is_diagonal: bool,
    where: Array,
    count: int,
    design: Array,
    noises: Array,
    factor: Array,
) -> None:
    """Observation matrix L⁻¹ C and noise variances D of the observed values, made independent."""
    for i in range(count):
        noises[i] = noise[where[i], where[i]]
        for k in range(observation.shape[1]):
            design[i, k] = observation[where[i], k]
    if is_diagonal:
        return
    for j in range(count):
        _factorise(noise, where, count, j, noises, factor)
    for i in range(count):  # forward substitution: L has ones on its diagonal
        for j in range(i):
            for k in range(observation.shape[1]):
                design[i, k] -= factor[i, j] * design[j, k]


@jit_internal
@no_type_check
def _factorise(
    noise: Array, where: Array, count: int, j: int, noises: Array, factor: Array
) -> None:
    """Column j of L and entry j of D, of R = L D Lᵀ.

    LDLᵀ and not Cholesky: it needs no square root, and a singular R only gives an entry of 0 in D.
    """
    for m in range(j):
        noises[j] -= factor[j, m] ** 2 * noises[m]
    if noises[j] < NOTHING * noise[where[j], where[j]]:
        noises[j] = 0.0
    for i in range(j + 1, count):
        total = noise[where[i], where[j]]
        for m in range(j):
            total -= factor[i, m] * factor[j, m] * noises[m]
        factor[i, j] = total / noises[j] if noises[j] > 0.0 else 0.0


@jit_internal
@no_type_check
def decorrelate(values: Array, count: int, factor: Array) -> None:
    """L⁻¹ x, in place."""
    for i in range(count):
        for j in range(i):
            values[i] -= factor[i, j] * values[j]


@jit_internal
@no_type_check
def update_one(
    design: Array, noise: float, value: float, i: int, mean: Array, covariance: Array, cross: Array
) -> tuple[float, float]:
    """Kalman update by value i; returns F and v.

    M = P c,  F = cᵀ M + r,  v = x - cᵀ a,  a += M v / F,  P -= M Mᵀ / F

    F is 0 where the value is known beforehand, and NaN where it is negative.
    """
    states = len(mean)
    symmetric_matvec(covariance, design, i, cross)
    variance, largest, innovation = noise, noise, value
    for k in range(states):
        variance += design[i, k] * cross[i, k]
        largest += design[i, k] * design[i, k] * covariance[k, k]
        innovation -= design[i, k] * mean[k]
    # `largest` is what F would be if nothing cancelled: the yardstick of what is rounding.
    if variance <= NOTHING * largest or variance <= 0.0:
        return (np.nan if variance < -NEGATIVE * largest else 0.0), innovation
    inverse = 1.0 / variance
    for j in range(states):
        gain = cross[i, j] * inverse
        mean[j] += gain * innovation
        for k in range(states):
            covariance[j, k] -= gain * cross[i, k]
    return variance, innovation


@jit_internal
@no_type_check
def update(
    design: Array,
    noises: Array,
    values: Array,
    count: int,
    mean: Array,
    covariance: Array,
    cross: Array,
    variances: Array,
    innovations: Array,
) -> tuple[float, float]:
    """Kalman update by all values of a step; returns Σ log 2πF and Σ v² / F, NaN if some F < 0."""
    logs, squares = 0.0, 0.0
    for i in range(count):
        variance, innovation = update_one(design, noises[i], values[i], i, mean, covariance, cross)
        variances[i], innovations[i] = variance, innovation
        if variance != 0.0:
            logs += LOG_2PI + log(variance)
            squares += innovation * innovation / variance
    return logs, squares


@jit_internal
@no_type_check
def update_diffuse(
    design: Array,
    noises: Array,
    values: Array,
    count: int,
    mean: Array,
    covariance: Array,
    cross: Array,
    variances: Array,
    innovations: Array,
    diffuse: Array,
    rank: int,
    cross_diffuse: Array,
    variances_diffuse: Array,
) -> tuple[float, int]:
    """Exact initial Kalman filter (Koopman and Durbin, 2003): the update while part is diffuse.

    The covariance is P + κ P∞ with κ → ∞, and the update is its limit. A large κ in its place would
    cancel with P and lose its digits. Returns Σ (log 2πF + v² / F), in which a value that
    identifies a diffuse direction adds log 2πF∞ alone, and the rank that is left of P∞.
    """
    total = 0.0
    for i in range(count):
        symmetric_matvec(diffuse, design, i, cross_diffuse)
        variance_diffuse = dot_rows(design, cross_diffuse, i)
        if rank == 0 or variance_diffuse <= DIFFUSE * dot_rows(design, design, i):
            variance, innovation = update_one(
                design, noises[i], values[i], i, mean, covariance, cross
            )
            variances[i], innovations[i], variances_diffuse[i] = variance, innovation, 0.0
            if variance != 0.0:
                total += LOG_2PI + log(variance) + innovation * innovation / variance
            continue
        symmetric_matvec(covariance, design, i, cross)
        rank -= 1  # each such value identifies one direction
        variances_diffuse[i] = variance_diffuse
        variances[i] = dot_rows(design, cross, i) + noises[i]
        innovations[i] = values[i]
        for k in range(len(mean)):
            innovations[i] -= design[i, k] * mean[k]
        variance, innovation = variances[i], innovations[i]
        _add_identified(
            cross, cross_diffuse, i, variance, variance_diffuse, innovation, mean, covariance
        )
        _reduce_diffuse(cross_diffuse, i, variance_diffuse, rank, diffuse)
        total += LOG_2PI + log(variance_diffuse)
    return total, rank


@jit_internal
@no_type_check
def _add_identified(
    cross: Array,
    cross_diffuse: Array,
    i: int,
    variance: float,
    variance_diffuse: float,
    innovation: float,
    mean: Array,
    covariance: Array,
) -> None:
    """a += M∞ v / F∞,  P += M∞ M∞ᵀ F / F∞² - (M M∞ᵀ + M∞ Mᵀ) / F∞."""
    for j in range(len(mean)):
        gain = cross_diffuse[i, j] / variance_diffuse
        mean[j] += gain * innovation
        for k in range(len(mean)):
            other = cross_diffuse[i, k] / variance_diffuse
            covariance[j, k] += gain * other * variance - cross[i, j] * other - gain * cross[i, k]


@jit_internal
@no_type_check
def _reduce_diffuse(
    cross_diffuse: Array, i: int, variance_diffuse: float, rank: int, diffuse: Array
) -> None:
    """P∞ -= M∞ M∞ᵀ / F∞.

    When its rank is 0, what is left is rounding. It is set to 0, as κ would make it infinite.
    """
    for j in range(len(diffuse)):
        for k in range(len(diffuse)):
            diffuse[j, k] -= cross_diffuse[i, j] * cross_diffuse[i, k] / variance_diffuse
            if rank == 0:
                diffuse[j, k] = 0.0


CONVERGED = 1e-12  # covariances that change by less than this fraction of themselves are steady


@jit_internal
@no_type_check
def _new_output(time: int, states: int, keep: int) -> FilterOutput:
    """Room for all covariances there could be.

    np.empty reserves address space only: the system provides a page when it is first written to, so
    a model that reaches its steady state never pays for the rest.
    """
    some, more = time if keep > 0 else 0, time if keep > 1 else 0
    return FilterOutput(
        np.zeros(time),
        np.empty((some, states)),
        np.empty((more, states)),
        np.empty(some, np.int64),
        np.empty((some, states, states)),
        np.empty((more, states, states)),
        np.empty((some, states, states)),
        np.empty((more, states, states)),
        0,
        0,
        True,
        True,
    )


@jit_internal
@no_type_check
def _rank(diffuse: Array) -> int:
    """The rank of P∞, which is diagonal at first."""
    rank = 0
    for i in range(len(diffuse)):
        rank += diffuse[i, i] > 0.0
    return rank


@jit_internal
@no_type_check
def _predict_mean(
    transition: Array, state_offset: Array, t: int, mean: Array, scratch: Array
) -> None:
    """a = A a + B u + c."""
    matvec(transition, mean, scratch)
    for i in range(len(mean)):
        mean[i] = scratch[i] + state_offset[t, i]


@jit_internal
@no_type_check
def _predict_covariance(
    transition: Array,
    transposed: Array,
    process_noise: Array,
    t: int,
    covariance: Array,
    scratch: Array,
) -> None:
    """P = A P Aᵀ + Q; `transposed` is Aᵀ."""
    sandwich(transition, transposed, covariance, scratch, covariance)
    for i in range(len(covariance)):
        for j in range(len(covariance)):
            covariance[i, j] += process_noise[t, i, j]


@jit_internal
@no_type_check
def _next_missing(values: Array, t: int) -> int:
    """The first step from t on with a missing value."""
    while t < len(values):
        for i in range(values.shape[1]):
            if np.isnan(values[t, i]):
                return t
        t += 1
    return t


@jit_internal
@no_type_check
def _update_mean(
    design: Array, inverses: Array, values: Array, logs: float, mean: Array, cross: Array
) -> float:
    """Update by a step in the steady state: only the mean moves; returns the log-likelihood."""
    total = logs
    for i in range(len(values)):
        innovation = values[i]
        for k in range(len(mean)):
            innovation -= design[i, k] * mean[k]
        scaled = innovation * inverses[i]
        total += innovation * scaled
        for k in range(len(mean)):
            mean[k] += cross[i, k] * scaled
    return -0.5 * total


@jit_internal
@no_type_check
def _run_steady(
    model: FilterInput,
    t: int,
    stop: int,
    design: Array,
    factor: Array,
    variances: Array,
    logs: float,
    mean: Array,
    cross: Array,
    out: FilterOutput,
) -> None:
    """Steps t to stop in the steady state; the mean is then the one predicted for `stop`."""
    values, scratch = np.empty(len(variances)), np.empty(len(mean))
    inverses = np.zeros(len(variances))
    keeps_predicted, keeps_filtered = len(out.predicted) > 0, len(out.filtered) > 0
    transition, state_offset = model.transition[0], model.state_offset
    is_diagonal, log_likelihood, all_values = model.is_diagonal, out.log_likelihood, model.values
    for i in range(len(variances)):
        # F = 0 tells nothing: with an inverse of 0 the value moves nothing and adds nothing.
        inverses[i] = 1.0 / variances[i] if variances[i] > 0.0 else 0.0
    for now in range(t, stop):
        for i in range(len(values)):
            values[i] = all_values[now, i]
        if not is_diagonal:
            decorrelate(values, len(values), factor)
        if keeps_predicted:
            _put(mean, now, out.predicted)
        log_likelihood[now] = _update_mean(design, inverses, values, logs, mean, cross)
        if keeps_filtered:
            _put(mean, now, out.filtered)
        if now + 1 < len(all_values):
            offset = now + 1 if len(state_offset) > 1 else 0
            _predict_mean(transition, state_offset, offset, mean, scratch)


@jit_internal
@no_type_check
def _put(vector: Array, t: int, out: Array) -> None:
    for i in range(len(vector)):
        out[t, i] = vector[i]


@jit_internal
@no_type_check
def new_rows(width: int, states: int) -> tuple[Array, Array, Array, Array, Array]:
    """Room for the rows of a step: which values, the values, noise variances, L and L⁻¹ C."""
    where, factor = np.zeros(width, np.int64), np.zeros((width, width))
    return where, np.zeros(width), np.zeros(width), factor, np.zeros((width, states))


@jit_internal
@no_type_check
def new_update(width: int, states: int) -> tuple[Array, Array, Array]:
    """Room for M, F and v of each value of a step."""
    return np.zeros((width, states)), np.zeros(width), np.zeros(width)


@jit_internal
@no_type_check
def load_step(
    model: FilterInput,
    t: int,
    observed: int,
    where: Array,
    row: Array,
    noises: Array,
    factor: Array,
    design: Array,
) -> tuple[int, bool]:
    """Load the rows of step t: how many, and whether c and r are those of the step before.

    They are computed again only if the matrices change in time or other values are missing.
    """
    observation, noise = model.observation, model.observation_noise
    changes = len(observation) > 1 or len(noise) > 1
    observed, is_same_row = gather_observed(model.values, t, where, row, observed)
    if changes or not is_same_row:
        one, other = t if len(observation) > 1 else 0, t if len(noise) > 1 else 0
        prepare_rows(
            observation[one],
            noise[other],
            model.is_diagonal,
            where,
            observed,
            design,
            noises,
            factor,
        )
    if not model.is_diagonal:
        decorrelate(row, observed, factor)
    return observed, is_same_row and not changes


@jit
@no_type_check
def forward(model: FilterInput, keep: int) -> FilterOutput:  # noqa: C901, PLR0912, PLR0915 - one loop: calls that pass all of it cost more than they do
    """Kalman filter over a series.

    `keep` is 0 for the log-likelihood alone, 1 for predicted moments too, 2 for everything.
    """
    transition, process_noise = model.transition, model.process_noise
    state_offset, (time, width), states = model.state_offset, model.values.shape, len(model.mean)
    mean, covariance, diffuse = model.mean.copy(), model.covariance.copy(), model.diffuse.copy()
    where, row, noises, factor, design = new_rows(width, states)
    cross, variances, innovations = new_update(width, states)
    cross_diffuse, variances_diffuse, _ = new_update(width, states)
    before, transposed, scratch = covariance.copy(), covariance.copy(), covariance.copy()
    out, rank, count = _new_output(time, states, keep), _rank(diffuse), 0
    diffuse_steps, t, observed = 0, 0, -1
    is_positive, logs = True, 0.0
    transpose(transition[0], transposed)
    while t < time:
        observed, _ = load_step(model, t, observed, where, row, noises, factor, design)
        is_diffuse = rank > 0
        if keep > 0:
            out.which[t] = count
            _put(mean, t, out.predicted)
            copy(covariance, out.predicted_covariances[count])
            if is_diffuse:
                copy(diffuse, out.predicted_diffuse[t])
        if is_diffuse:
            diffuse_steps += 1
            total, rank = update_diffuse(
                *(design, noises, row, observed, mean, covariance, cross, variances, innovations),
                *(diffuse, rank, cross_diffuse, variances_diffuse),
            )
        else:
            copy(covariance, before)
            logs, squares = update(
                design, noises, row, observed, mean, covariance, cross, variances, innovations
            )
            total = logs + squares
        out.log_likelihood[t] = -0.5 * total
        is_positive = is_positive and not np.isnan(total)
        if keep > 1:
            _put(mean, t, out.filtered)
            copy(covariance, out.filtered_covariances[count])
            if is_diffuse:
                copy(diffuse, out.filtered_diffuse[t])
        count, t = count + 1, t + 1
        if t == time:
            break
        matrix = transition[t if len(transition) > 1 else 0]
        if len(transition) > 1:
            transpose(matrix, transposed)
        offset = t if len(state_offset) > 1 else 0
        _predict_mean(matrix, state_offset, offset, mean, scratch[0])
        if rank > 0:
            sandwich(matrix, transposed, diffuse, scratch, diffuse)
        noise = t if len(process_noise) > 1 else 0
        _predict_covariance(matrix, transposed, process_noise, noise, covariance, scratch)
        # Steady state: the predicted covariance is that of the step before, which was complete.
        # Then M and F repeat, too, until a value is missing.
        is_complete = model.is_constant and observed == width and not is_diffuse
        if is_complete and is_close(covariance, before, CONVERGED):
            stop = _next_missing(model.values, t)
            _run_steady(model, t, stop, design, factor, variances, logs, mean, cross, out)
            if keep > 0:
                out.which[t:stop] = count - 1
            t = stop
    return _trimmed(out, count, diffuse_steps, is_positive, rank == 0)


@jit_internal
@no_type_check
def _trimmed(
    out: FilterOutput, count: int, diffuse_steps: int, is_positive: bool, is_identified: bool
) -> FilterOutput:
    return FilterOutput(
        out.log_likelihood,
        out.predicted,
        out.filtered,
        out.which,
        out.predicted_covariances[:count],
        out.filtered_covariances[:count],
        out.predicted_diffuse[:diffuse_steps],
        out.filtered_diffuse[:diffuse_steps],
        count,
        diffuse_steps,
        is_positive,
        is_identified,
    )
