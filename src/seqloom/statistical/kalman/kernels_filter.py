"""The compiled Kalman filter: see a step, go on to the next.

A system that never changes soon knows each state as well as the one before: its covariances have
converged, and while nothing is missing only means are computed from there on.

Compiled steps of the Kalman filter: numbers are seen one after another.

Koopman and Durbin (2000): a row of p numbers with independent errors is p rows of one number, and
no matrix is inverted. Errors that are not independent are made so by the lower triangle of
R = L D Lᵀ: L⁻¹ x has errors D and is shown by L⁻¹ C. A number that is missing is a row less.

Each array is an argument of its own: tuples of them are counted, one by one, at every call.
"""

from math import log, pi
from typing import Any, no_type_check

import numpy as np

from ..jit import compiled, compiled_inside
from .kernels_matrix import around, copied, dot_rows, is_same, onto, onto_row, turned
from .layout import Kept, Laid

Array = Any  # inside compiled functions shapes are what `laid` says
NOTHING = 1e-13  # a variance that is so small a share of what it is the difference of is 0
NEGATIVE = 1e-6  # one that is below 0 by so much is no variance
DIFFUSE = 1e-10  # a diffuse variance so small is none
LOG_2PI = log(2 * pi)


@compiled_inside
@no_type_check
def gathered(values: Array, t: int, where: Array, out: Array, before: int) -> tuple[int, bool]:
    """The numbers of step t that are not missing; how many, and whether the same as before."""
    count, is_same = 0, True
    for i in range(values.shape[1]):
        if not np.isnan(values[t, i]):
            is_same = is_same and count < before and where[count] == i
            where[count] = i
            out[count] = values[t, i]
            count += 1
    return count, is_same and count == before


@compiled_inside
@no_type_check
def arranged(
    observation: Array,
    error: Array,
    is_diagonal: bool,
    where: Array,
    count: int,
    show: Array,
    sizes: Array,
    factor: Array,
) -> None:
    """What shows these numbers and how large their errors are, made independent."""
    for i in range(count):
        sizes[i] = error[where[i], where[i]]
        for k in range(observation.shape[1]):
            show[i, k] = observation[where[i], k]
    if is_diagonal:
        return
    for j in range(count):
        _factorise(error, where, count, j, sizes, factor)
    for i in range(count):
        for j in range(i):
            for k in range(observation.shape[1]):
                show[i, k] -= factor[i, j] * show[j, k]


@compiled_inside
@no_type_check
def _factorise(error: Array, where: Array, count: int, j: int, sizes: Array, factor: Array) -> None:
    """Column j of L, and number j of D."""
    for m in range(j):
        sizes[j] -= factor[j, m] ** 2 * sizes[m]
    if sizes[j] < NOTHING * error[where[j], where[j]]:
        sizes[j] = 0.0
    for i in range(j + 1, count):
        total = error[where[i], where[j]]
        for m in range(j):
            total -= factor[i, m] * factor[j, m] * sizes[m]
        factor[i, j] = total / sizes[j] if sizes[j] > 0.0 else 0.0


@compiled_inside
@no_type_check
def made_independent(values: Array, count: int, factor: Array) -> None:
    """L⁻¹ x."""
    for i in range(count):
        for j in range(i):
            values[i] -= factor[i, j] * values[j]


@compiled_inside
@no_type_check
def observe_one(
    show: Array, error: float, value: float, i: int, mean: Array, covariance: Array, gains: Array
) -> tuple[float, float]:
    """See number i; F and v. F is 0 where nothing is to be learned, NaN where it is negative.

    M = P c,  F = cᵀ M + r,  v = x - cᵀ a,  a += M v / F,  P -= M Mᵀ / F
    """
    states = len(mean)
    onto_row(covariance, show, i, gains)
    size, whole, residual = error, error, value
    for k in range(states):
        size += show[i, k] * gains[i, k]
        whole += show[i, k] * show[i, k] * covariance[k, k]
        residual -= show[i, k] * mean[k]
    if size <= NOTHING * whole or size <= 0.0:
        return (np.nan if size < -NEGATIVE * whole else 0.0), residual
    inverse = 1.0 / size
    for j in range(states):
        share = gains[i, j] * inverse
        mean[j] += share * residual
        for k in range(states):
            covariance[j, k] -= share * gains[i, k]
    return size, residual


@compiled_inside
@no_type_check
def observe(
    show: Array,
    errors: Array,
    values: Array,
    count: int,
    mean: Array,
    covariance: Array,
    gains: Array,
    sizes: Array,
    residuals: Array,
) -> tuple[float, float]:
    """See all numbers of a step; Σ log 2πF and Σ v² / F, NaN where a variance is negative."""
    logs, squares = 0.0, 0.0
    for i in range(count):
        size, residual = observe_one(show, errors[i], values[i], i, mean, covariance, gains)
        sizes[i], residuals[i] = size, residual
        if size != 0.0:
            logs += LOG_2PI + log(size)
            squares += residual * residual / size
    return logs, squares


@compiled_inside
@no_type_check
def observe_diffuse(
    show: Array,
    errors: Array,
    values: Array,
    count: int,
    mean: Array,
    covariance: Array,
    gains: Array,
    sizes: Array,
    residuals: Array,
    diffuse: Array,
    rank: int,
    far: Array,
    spreads: Array,
) -> tuple[float, int]:
    """The same while the covariance is P + κ P∞ and κ grows without bound.

    Gives Σ (log 2πF + v² / F), in which a number by which the diffuse part becomes known counts
    with log 2πF∞ alone, and the rank that is left of P∞.
    """
    total = 0.0
    for i in range(count):
        onto_row(diffuse, show, i, far)
        spread = dot_rows(show, far, i)
        if rank == 0 or spread <= DIFFUSE * dot_rows(show, show, i):
            size, residual = observe_one(show, errors[i], values[i], i, mean, covariance, gains)
            sizes[i], residuals[i], spreads[i] = size, residual, 0.0
            if size != 0.0:
                total += LOG_2PI + log(size) + residual * residual / size
            continue
        onto_row(covariance, show, i, gains)
        rank -= 1
        spreads[i], sizes[i] = spread, dot_rows(show, gains, i) + errors[i]
        residuals[i] = values[i]
        for k in range(len(mean)):
            residuals[i] -= show[i, k] * mean[k]
        _take_diffuse(gains, far, i, sizes[i], spread, residuals[i], mean, covariance)
        _shrink(far, i, spread, rank, diffuse)
        total += LOG_2PI + log(spread)
    return total, rank


@compiled_inside
@no_type_check
def _take_diffuse(
    gains: Array,
    far: Array,
    i: int,
    size: float,
    spread: float,
    residual: float,
    mean: Array,
    covariance: Array,
) -> None:
    """A += M∞ v / F∞,  P += M∞ M∞ᵀ F / F∞² - (M M∞ᵀ + M∞ Mᵀ) / F∞."""
    for j in range(len(mean)):
        share = far[i, j] / spread
        mean[j] += share * residual
        for k in range(len(mean)):
            other = far[i, k] / spread
            covariance[j, k] += share * other * size - gains[i, j] * other - share * gains[i, k]


@compiled_inside
@no_type_check
def _shrink(far: Array, i: int, spread: float, rank: int, diffuse: Array) -> None:
    """P∞ -= M∞ M∞ᵀ / F∞; nothing but rounding is left once its rank is 0."""
    for j in range(len(diffuse)):
        for k in range(len(diffuse)):
            diffuse[j, k] -= far[i, j] * far[i, k] / spread
            if rank == 0:
                diffuse[j, k] = 0.0


CONVERGED = 1e-12  # covariances that change by less than this share of themselves


@compiled_inside
@no_type_check
def _new_kept(time: int, states: int, keep: int) -> Kept:
    """Room for all that is kept; a page of it is taken only when it is written to."""
    some, more = time if keep > 0 else 0, time if keep > 1 else 0
    return Kept(
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


@compiled_inside
@no_type_check
def _rank(diffuse: Array) -> int:
    """How many states are diffuse: P∞ is diagonal at first."""
    rank = 0
    for i in range(len(diffuse)):
        rank += diffuse[i, i] > 0.0
    return rank


@compiled_inside
@no_type_check
def _go_on(transition: Array, drift: Array, t: int, mean: Array, room: Array) -> None:
    """A = A a + B u + c."""
    onto(transition, mean, room)
    for i in range(len(mean)):
        mean[i] = room[i] + drift[t, i]


@compiled_inside
@no_type_check
def _spread_on(
    transition: Array, over: Array, process: Array, t: int, covariance: Array, room: Array
) -> None:
    """P = A P Aᵀ + Q; `over` is Aᵀ."""
    around(transition, over, covariance, room, covariance)
    for i in range(len(covariance)):
        for j in range(len(covariance)):
            covariance[i, j] += process[t, i, j]


@compiled_inside
@no_type_check
def _until_missing(values: Array, t: int) -> int:
    """The first step from t on that misses a number."""
    while t < len(values):
        for i in range(values.shape[1]):
            if np.isnan(values[t, i]):
                return t
        t += 1
    return t


@compiled_inside
@no_type_check
def _see_again(
    show: Array, shares: Array, values: Array, logs: float, mean: Array, gains: Array
) -> float:
    """See a whole step where covariances are as in the step before: only the mean moves."""
    total = logs
    for i in range(len(values)):
        residual = values[i]
        for k in range(len(mean)):
            residual -= show[i, k] * mean[k]
        share = residual * shares[i]
        total += residual * share
        for k in range(len(mean)):
            mean[k] += gains[i, k] * share
    return -0.5 * total


@compiled_inside
@no_type_check
def _run(
    laid: Laid,
    t: int,
    stop: int,
    show: Array,
    factor: Array,
    sizes: Array,
    logs: float,
    mean: Array,
    gains: Array,
    kept: Kept,
) -> None:
    """Steps up to stop in which nothing but means moves; the mean is then what is ahead of stop."""
    values, room, shares = np.empty(len(sizes)), np.empty(len(mean)), np.zeros(len(sizes))
    keeps_ahead, keeps_means = len(kept.ahead) > 0, len(kept.means) > 0
    transition, drift, is_diagonal = laid.transition[0], laid.drift, laid.is_diagonal
    said, all_values = kept.log_likelihood, laid.values
    for i in range(len(sizes)):
        shares[i] = 1.0 / sizes[i] if sizes[i] > 0.0 else 0.0
    for now in range(t, stop):
        for i in range(len(values)):
            values[i] = all_values[now, i]
        if not is_diagonal:
            made_independent(values, len(values), factor)
        if keeps_ahead:
            _put(mean, now, kept.ahead)
        said[now] = _see_again(show, shares, values, logs, mean, gains)
        if keeps_means:
            _put(mean, now, kept.means)
        if now + 1 < len(all_values):
            _go_on(transition, drift, now + 1 if len(drift) > 1 else 0, mean, room)


@compiled_inside
@no_type_check
def _put(vector: Array, t: int, out: Array) -> None:
    for i in range(len(vector)):
        out[t, i] = vector[i]


@compiled_inside
@no_type_check
def new_rows(width: int, states: int) -> tuple[Array, Array, Array, Array, Array]:
    """Room for what a step observes: which numbers, their values, errors, L and L⁻¹ C."""
    where, lower = np.zeros(width, np.int64), np.zeros((width, width))
    return where, np.zeros(width), np.zeros(width), lower, np.zeros((width, states))


@compiled_inside
@no_type_check
def new_update(width: int, states: int) -> tuple[Array, Array, Array]:
    """Room for what each number of a step does: M, F and v."""
    return np.zeros((width, states)), np.zeros(width), np.zeros(width)


@compiled_inside
@no_type_check
def laid_out(
    laid: Laid,
    t: int,
    seen: int,
    where: Array,
    row: Array,
    errors: Array,
    lower: Array,
    show: Array,
) -> tuple[int, bool]:
    """Lay out what step t observes: how many numbers, and whether the same as just before."""
    observation, error = laid.observation, laid.error
    changes = len(observation) > 1 or len(error) > 1
    seen, is_same_row = gathered(laid.values, t, where, row, seen)
    if changes or not is_same_row:
        shown, wrong = t if len(observation) > 1 else 0, t if len(error) > 1 else 0
        arranged(
            observation[shown], error[wrong], laid.is_diagonal, where, seen, show, errors, lower
        )
    if not laid.is_diagonal:
        made_independent(row, seen, lower)
    return seen, is_same_row and not changes


@compiled
@no_type_check
def forward(laid: Laid, keep: int) -> Kept:  # noqa: C901, PLR0912, PLR0915 - one loop: calls that pass all of it cost more than they do
    """All steps; keep 0 only what they say of the likelihood, 1 what was ahead, 2 everything."""
    transition, process, drift = laid.transition, laid.process, laid.drift
    (time, width), states = laid.values.shape, len(laid.mean)
    mean, covariance, diffuse = laid.mean.copy(), laid.covariance.copy(), laid.diffuse.copy()
    where, row, errors, lower, show = new_rows(width, states)
    gains, sizes, residuals = new_update(width, states)
    far, spreads, _ = new_update(width, states)
    before, over, room = covariance.copy(), covariance.copy(), covariance.copy()
    kept, rank, count, spread, t, seen = _new_kept(time, states, keep), _rank(diffuse), 0, 0, 0, -1
    is_sound, logs = True, 0.0
    turned(transition[0], over)
    while t < time:
        seen, _ = laid_out(laid, t, seen, where, row, errors, lower, show)
        is_spread = rank > 0
        if keep > 0:
            kept.which[t] = count
            _put(mean, t, kept.ahead)
            copied(covariance, kept.ahead_covariances[count])
            if is_spread:
                copied(diffuse, kept.ahead_diffuse[t])
        if is_spread:
            spread += 1
            said, rank = observe_diffuse(
                *(show, errors, row, seen, mean, covariance, gains, sizes, residuals),
                *(diffuse, rank, far, spreads),
            )
        else:
            copied(covariance, before)
            logs, squares = observe(
                show, errors, row, seen, mean, covariance, gains, sizes, residuals
            )
            said = logs + squares
        kept.log_likelihood[t] = -0.5 * said
        is_sound = is_sound and not np.isnan(said)
        if keep > 1:
            _put(mean, t, kept.means)
            copied(covariance, kept.covariances[count])
            if is_spread:
                copied(diffuse, kept.diffuse[t])
        count, t = count + 1, t + 1
        if t == time:
            break
        moves = transition[t if len(transition) > 1 else 0]
        if len(transition) > 1:
            turned(moves, over)
        _go_on(moves, drift, t if len(drift) > 1 else 0, mean, room[0])
        if rank > 0:
            around(moves, over, diffuse, room, diffuse)
        _spread_on(moves, over, process, t if len(process) > 1 else 0, covariance, room)
        is_whole = laid.is_constant and seen == width and not is_spread
        if is_whole and is_same(covariance, before, CONVERGED):
            stop = _until_missing(laid.values, t)
            _run(laid, t, stop, show, lower, sizes, logs, mean, gains, kept)
            if keep > 0:
                kept.which[t:stop] = count - 1
            t = stop
    return _trimmed(kept, count, spread, is_sound, rank == 0)


@compiled_inside
@no_type_check
def _trimmed(kept: Kept, count: int, spread: int, is_sound: bool, is_told: bool) -> Kept:
    return Kept(
        kept.log_likelihood,
        kept.ahead,
        kept.means,
        kept.which,
        kept.ahead_covariances[:count],
        kept.covariances[:count],
        kept.ahead_diffuse[:spread],
        kept.diffuse[:spread],
        count,
        spread,
        is_sound,
        is_told,
    )
