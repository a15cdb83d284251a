"""Filter and smoother as their equations say: one series, one number after another.

Everything is computed as if the start were diffuse, P∞ being 0 where it is not: see `diffuse`.
"""

from math import log, pi

import numpy as np

from .compiled import Covariances, Inputs, Smoothed, Values
from .kernels_diffuse import at, numbers_of, observe, smooth_back
from .layout import Back, Kept
from .system import System


def filtered(system: System, values: Values, inputs: Inputs) -> Kept:
    """What is known of the state before and after each step.

    seen:   each number in turn, as `observe` has it
    next:   a = A a + B u + c,  P = A P Aᵀ + Q,  P∞ = A P∞ Aᵀ
    """
    laid, states, time = system.laid(values, inputs), system.states, len(values)
    said, means = np.zeros(time), np.zeros((2, time, states))
    covariances, diffuse = np.zeros((2, 2, time, states, states))
    state = (laid.mean, laid.covariance, laid.diffuse)
    for t in range(time):
        if t:
            move = at(laid.transition, t)
            mean, covariance, far = state
            covariance = move @ covariance @ move.T + at(laid.process, t)
            state = (move @ mean + at(laid.drift, t), covariance, move @ far @ move.T)
        means[0, t], covariances[0, t], diffuse[0, t] = state
        for number in numbers_of(laid, t):
            seen, state = observe(*number, state)
            if seen.spread > 0:
                said[t] -= 0.5 * log(2 * pi * seen.spread)
            elif seen.size > 0:
                said[t] -= 0.5 * (log(2 * pi * seen.size) + seen.residual**2 / seen.size)
        means[1, t], covariances[1, t], diffuse[1, t] = state
    (ahead, now), (far_ahead, far) = covariances, diffuse
    which, is_told = np.arange(time), not state[2].any()
    kept = (ahead, now, far_ahead, far)
    return Kept(said, means[0], means[1], which, *kept, time, time, True, is_told)


def smoothed(system: System, values: Values, inputs: Inputs) -> Smoothed:
    """What is known of the state in each step once the whole series is seen."""
    kept, time, states = filtered(system, values, inputs), len(values), system.states
    square = np.zeros((time, states, states))
    slope, bend = np.zeros(states), np.zeros((states, states))
    which = np.zeros(time, dtype=np.int64)
    back = Back(np.zeros((time, states)), which, square, square.copy(), slope, bend, 0)
    smooth_back(system.laid(values, inputs), kept, back)
    lag = Covariances(back.lags, which[:-1])
    return Smoothed(kept.log_likelihood, back.means, Covariances(square, which), lag)
