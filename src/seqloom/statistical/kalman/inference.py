"""Kalman filter and smoother (Kalman, 1960): reference implementation, one value after another.

Everything is computed as if the initial state were diffuse, with P∞ = 0 where it is not: see
`kernels_diffuse`. `compiled` has the fast path.
"""

from math import log, pi

import numpy as np

from .compiled import Covariances, Inputs, SmootherResult, Values
from .kernels_diffuse import at_step, independent_values, smooth_diffuse, update_value
from .layout import FilterOutput, SmootherOutput
from .system import StateSpace


def kalman_filter(model: StateSpace, values: Values, inputs: Inputs) -> FilterOutput:
    """Kalman filter: the predicted and the filtered state of each step.

    update:    each value in turn, by `update_value`
    predict:   a = A a + B u + c,  P = A P Aᵀ + Q,  P∞ = A P∞ Aᵀ
    """
    data, states, time = model.filter_input(values, inputs), model.states, len(values)
    log_likelihood, means = np.zeros(time), np.zeros((2, time, states))
    covariances, diffuse = np.zeros((2, 2, time, states, states))
    state = (data.mean, data.covariance, data.diffuse)
    for t in range(time):
        if t:
            transition = at_step(data.transition, t)
            mean, covariance, far = state
            covariance = transition @ covariance @ transition.T + at_step(data.process_noise, t)
            mean = transition @ mean + at_step(data.state_offset, t)
            state = (mean, covariance, transition @ far @ transition.T)
        means[0, t], covariances[0, t], diffuse[0, t] = state
        for value in independent_values(data, t):
            update, state = update_value(*value, state)
            if update.variance_diffuse > 0:
                log_likelihood[t] -= 0.5 * log(2 * pi * update.variance_diffuse)
            elif update.variance > 0:
                squares = update.innovation**2 / update.variance
                log_likelihood[t] -= 0.5 * (log(2 * pi * update.variance) + squares)
        means[1, t], covariances[1, t], diffuse[1, t] = state
    (predicted, filtered), (predicted_diffuse, filtered_diffuse) = covariances, diffuse
    index, is_identified = np.arange(time), not state[2].any()
    kept = (predicted, filtered, predicted_diffuse, filtered_diffuse)
    return FilterOutput(
        log_likelihood, means[0], means[1], index, *kept, time, time, True, is_identified
    )


def kalman_smoother(model: StateSpace, values: Values, inputs: Inputs) -> SmootherResult:
    """Fixed-interval smoother: the state of each step given the whole series."""
    filtered, time, states = kalman_filter(model, values, inputs), len(values), model.states
    square = np.zeros((time, states, states))
    score, information = np.zeros(states), np.zeros((states, states))
    index = np.zeros(time, dtype=np.int64)
    out = SmootherOutput(
        np.zeros((time, states)), index, square, square.copy(), score, information, 0
    )
    smooth_diffuse(model.filter_input(values, inputs), filtered, out)
    lag = Covariances(out.lag_covariances, index[:-1])
    return SmootherResult(filtered.log_likelihood, out.means, Covariances(square, index), lag)
