"""The compiled Kalman filter: see a step, go on to the next.

A system that never changes soon knows each state as well as the one before: its covariances have
converged, and while nothing is missing only means are computed from there on.
"""

from typing import Any, no_type_check

import numpy as np

from ..compiled import compiled, compiled_inside
from .laid import Kept, Laid
from .observing import arranged, gathered, made_independent, observe, observe_diffuse
from .products import around, copied, is_same, onto, turned

Array = Any  # inside compiled functions shapes are what `laid` says
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
