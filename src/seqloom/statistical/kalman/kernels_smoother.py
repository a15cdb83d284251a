"""The compiled fixed-interval smoother: what the future says of each step, from the last back.

r and N are the slope and the bend of what is seen later, as functions of the state that is ahead
(de Jong, 1989; Durbin and Koopman, 2012). Gains are computed anew from what was ahead of each step,
so that they need no room; where neither covariances nor N change any more, only r is moved.
"""

from typing import Any, no_type_check

import numpy as np

from ..jit import compiled, compiled_inside
from .kernels_filter import CONVERGED, laid_out, new_rows, new_update, observe
from .kernels_matrix import (
    around,
    copied,
    dot_rows,
    even_out,
    is_same,
    multiply,
    onto,
    onto_row,
    turned,
)
from .layout import Back, Kept, Laid

Array = Any  # inside compiled functions shapes are what `laid` says


@compiled_inside
@no_type_check
def _unsee(
    show: Array, gains: Array, sizes: Array, residuals: Array, count: int, slope: Array
) -> None:
    """R = c (v - Mᵀ r) / F + r, from the last number of a step to the first."""
    for i in range(count - 1, -1, -1):
        if sizes[i] > 0.0:
            total = residuals[i]
            for k in range(len(slope)):
                total -= gains[i, k] * slope[k]
            total /= sizes[i]
            for k in range(len(slope)):
                slope[k] += show[i, k] * total


@compiled_inside
@no_type_check
def _unsee_bend(
    show: Array, gains: Array, sizes: Array, count: int, bend: Array, room: Array
) -> None:
    """N = c cᵀ / F + Lᵀ N L with L = 1 - M cᵀ / F."""
    for i in range(count - 1, -1, -1):
        if sizes[i] > 0.0:
            onto_row(bend, gains, i, room)
            inverse = 1.0 / sizes[i]
            factor = inverse + dot_rows(gains, room, i) * inverse * inverse
            for j in range(len(bend)):
                one, other = show[i, j] * factor - room[i, j] * inverse, show[i, j] * inverse
                for k in range(len(bend)):
                    bend[j, k] += one * show[i, k] - other * room[i, k]


@compiled_inside
@no_type_check
def _smooth_covariance(ahead: Array, bend: Array, room: Array, out: Array) -> None:
    """V = P - P N P."""
    around(ahead, ahead, bend, room, out)
    for i in range(len(out)):
        for j in range(len(out)):
            out[i, j] = ahead[i, j] - out[i, j]


@compiled_inside
@no_type_check
def _lag(
    covariance: Array, over: Array, ahead: Array, bend: Array, room: Array, other: Array, out: Array
) -> None:
    """Cov(z_{t+1}, z_t) = (1 - P N) A P_t: `ahead` and `bend` are of t + 1, `over` is Aᵀ."""
    multiply(covariance, over, other)  # P_t Aᵀ
    multiply(other, bend, room)
    multiply(room, ahead, out)
    for i in range(len(out)):
        for j in range(len(out)):
            out[i, j] = other[i, j] - out[i, j]
    turned(out, room)
    copied(room, out)


@compiled_inside
@no_type_check
def _see_again(
    show: Array, row: Array, mean: Array, gains: Array, sizes: Array, residuals: Array
) -> None:
    """Find by how much each number was off, where gains are those of the step after."""
    for i in range(len(row)):
        residual = row[i]
        for k in range(len(mean)):
            residual -= show[i, k] * mean[k]
        residuals[i] = residual
        if sizes[i] > 0.0:
            share = residual / sizes[i]
            for k in range(len(mean)):
                mean[k] += gains[i, k] * share


@compiled
@no_type_check
def backward(laid: Laid, kept: Kept, lagged: bool) -> Back:  # noqa: C901, PLR0915 - one loop: calls that pass all of it cost more than they do
    """All steps that begin with nothing diffuse; `slope` and `bend` are of the first of them."""
    transition, (time, width), states = laid.transition, laid.values.shape, len(laid.mean)
    where, row, errors, lower, show = new_rows(width, states)
    gains, sizes, residuals = new_update(width, states)
    unseen, vector, mean = np.zeros((width, states)), np.empty(states), np.empty(states)
    room, other = np.empty((states, states)), np.empty((states, states))
    covariance = np.empty((states, states))
    over, later, ahead = (
        np.empty((states, states)),
        np.empty((states, states)),
        kept.ahead_covariances,
    )
    back = _new_back(time, states, lagged)
    slope, bend = back.slope, back.bend
    turned(transition[0], over)
    is_steady, count, last, seen = False, 0, -1, -1
    for t in range(time - 1, kept.spread - 1, -1):
        seen, is_same_row = laid_out(laid, t, seen, where, row, errors, lower, show)
        place, now = kept.which[t], t + 1 if len(transition) > 1 else 0
        if t + 1 < time:
            if now > 0:
                turned(transition[now], over)
            onto(over, slope, vector)
            _put(vector, slope)
        _put(kept.ahead[t], mean)
        is_alike = place == last and is_same_row and seen == width
        if is_alike:
            _see_again(show, row, mean, gains, sizes, residuals)
        else:
            copied(ahead[place], covariance)
            observe(show, errors, row, seen, mean, covariance, gains, sizes, residuals)
        is_steady = is_steady and is_alike
        if not is_steady:
            copied(bend, later)
            if t + 1 < time:
                if lagged:
                    after = ahead[kept.which[t + 1]]
                    _lag(covariance, over, after, bend, room, other, back.lags[count])
                around(over, transition[now], bend, room, bend)
            _unsee_bend(show, gains, sizes, seen, bend, unseen)
            even_out(bend)
            _smooth_covariance(ahead[place], bend, room, back.covariances[count])
            count += 1
            is_steady = is_alike and laid.is_constant and is_same(bend, later, CONVERGED)
        back.which[t], last = count - 1, place
        _unsee(show, gains, sizes, residuals, seen, slope)
        onto(ahead[place], slope, vector)
        for k in range(states):
            back.means[t, k] = kept.ahead[t, k] + vector[k]
    return Back(back.means, back.which, back.covariances, back.lags, slope, bend, count)


@compiled_inside
@no_type_check
def _put(vector: Array, out: Array) -> None:
    for i in range(len(vector)):
        out[i] = vector[i]


@compiled_inside
@no_type_check
def _new_back(time: int, states: int, lagged: bool) -> Back:
    """Room for all that is found; a page of it is taken only when it is written to."""
    return Back(
        np.empty((time, states)),
        np.empty(time, np.int64),
        np.empty((time, states, states)),
        np.empty((time if lagged else 0, states, states)),
        np.zeros(states),
        np.zeros((states, states)),
        0,
    )
