"""Arrays of the Kalman filter kernels: what the filter reads, what it writes, and the smoother's.

Named tuples and not dataclasses, because Numba can pass these to compiled functions.
"""

from typing import Any, NamedTuple

Array = Any


class FilterInput(NamedTuple):
    """A state-space model and one series; every matrix once, or once for each step.

    Inputs u are already multiplied in: `state_offset` is B u + c, and `values` are x - D u - d.
    """

    transition: Array  # (1 or time, states, states)
    process_noise: Array  # (1 or time, states, states)
    observation: Array  # (1 or time, width, states)
    observation_noise: Array  # (1 or time, width, width)
    state_offset: Array  # (1 or time, states)
    values: Array  # (time, width)
    mean: Array  # (states,)
    covariance: Array  # (states, states)
    diffuse: Array  # (states, states)
    is_diagonal: bool  # whether the observation noise is diagonal
    is_constant: bool  # whether no covariance and no matrix changes in time


class FilterOutput(NamedTuple):
    """Predicted and filtered means and covariances, and the log-likelihood of each step.

    Covariances that are equal are stored once: that of step t is number `which[t]`. A steady state
    would otherwise fill memory with copies of one matrix.
    """

    log_likelihood: Array  # (time,)
    predicted: Array  # (time, states) means before each step is observed
    filtered: Array  # (time, states) and after it
    which: Array  # (time,)
    predicted_covariances: Array
    filtered_covariances: Array
    predicted_diffuse: Array  # P∞, one for each step that begins with a diffuse part
    filtered_diffuse: Array
    stored: int  # how many covariances are stored
    diffuse_steps: int  # how many steps begin with a diffuse part
    is_positive: bool  # whether every innovation variance was positive
    is_identified: bool  # whether nothing of the state is diffuse after the last step


class SmootherOutput(NamedTuple):
    """Smoothed means and covariances, and the smoothing recursion where the backward pass ended.

    `score` is r and `information` is N of Durbin and Koopman (2012): as a function of the predicted
    state, the log-density of all later observations has the gradient r and the Hessian -N.
    """

    means: Array  # (time, states)
    which: Array  # (time,)
    covariances: Array
    lag_covariances: Array
    score: Array  # (states,)
    information: Array  # (states, states)
    stored: int  # how many covariances are stored
