"""How arrays are laid out for the compiled loops."""

from typing import Any, NamedTuple

Array = Any


class Laid(NamedTuple):
    """A system and one series: every matrix once, or once for each step.

    Inputs are gone: `drift` is B u + c, and `values` are x - D u - d.
    """

    transition: Array  # (1 or time, states, states)
    process: Array  # (1 or time, states, states)
    observation: Array  # (1 or time, width, states)
    error: Array  # (1 or time, width, width)
    drift: Array  # (1 or time, states)
    values: Array  # (time, width)
    mean: Array  # (states,)
    covariance: Array  # (states, states)
    diffuse: Array  # (states, states)
    is_diagonal: bool  # whether all errors are independent
    is_constant: bool  # whether no covariance and no matrix ever changes


class Kept(NamedTuple):
    """What a filter keeps: covariances that are equal are kept once, `which` tells where."""

    log_likelihood: Array  # (time,)
    ahead: Array  # (time, states) means before each step was seen
    means: Array  # (time, states) and after it
    which: Array  # (time,)
    ahead_covariances: Array
    covariances: Array
    ahead_diffuse: Array  # one for each step that begins with a diffuse part
    diffuse: Array
    kept: int  # how many covariances there are
    spread: int  # steps that begin with a diffuse part
    is_sound: bool  # whether every variance that was met is positive
    is_told: bool  # whether nothing of the state is diffuse after the last step


class Back(NamedTuple):
    """What a smoother finds on its way back, and what the future says of the step it ends in."""

    means: Array  # (time, states)
    which: Array  # (time,)
    covariances: Array
    lags: Array
    slope: Array  # (states,)
    bend: Array  # (states, states)
    kept: int  # how many covariances there are
