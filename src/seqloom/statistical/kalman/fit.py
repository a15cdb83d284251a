"""Maximum likelihood of state-space models by BFGS, with exact gradients.

BFGS is the quasi-Newton method of Broyden, Fletcher, Goldfarb and Shanno (1970).
"""

from collections.abc import Callable

import numpy as np

from ...errors import ModelError
from .compiled import log_likelihoods
from .em import ExpectedMoments, e_step_of_all
from .shared import Dataset
from .structure import Parameters, Structure

Objective = Callable[[Parameters], tuple[float, Parameters]]  # the value and the gradient
LONGEST = 5.0  # the largest change of a parameter in one step
SUFFICIENT = 1e-4  # Armijo: the fraction of the predicted decrease that a step must reach
SMALLEST = 1e-12


def bfgs(
    function: Objective, parameters: Parameters, *, iterations: int, tolerance: float = 1e-6
) -> tuple[Parameters, float]:
    """Minimise a smooth function by BFGS; it ends when no gradient is above `tolerance`.

    Each step goes along -H g, where H approximates the inverse Hessian, with a backtracking line
    search. Values that are not finite are rejected by the line search.
    """
    value, gradient = function(parameters)
    inverse: np.ndarray | None = None
    for _ in range(iterations):
        if np.abs(gradient).max(initial=0.0) < tolerance:
            break
        direction = -gradient if inverse is None else -inverse @ gradient
        # Rounding can make H indefinite and the direction one of ascent: start again from steepest
        # descent.
        if direction @ gradient >= 0:
            direction, inverse = -gradient, None
        direction = direction * min(1.0, LONGEST / max(np.abs(direction).max(), SMALLEST))
        if inverse is None:
            direction = direction / max(1.0, np.linalg.norm(gradient))
        found = _line_search(function, parameters, value, direction, float(direction @ gradient))
        if found is None:
            if inverse is None:
                break  # no decrease even along the gradient: this is as low as rounding lets it go
            inverse = None
            continue
        before, old = parameters, gradient
        parameters, value, gradient = found
        inverse = _update_inverse_hessian(inverse, parameters - before, gradient - old)
    return parameters, value


def _line_search(
    function: Objective,
    parameters: Parameters,
    value: float,
    direction: Parameters,
    slope: float,
) -> tuple[Parameters, float, Parameters] | None:
    """Backtracking line search (Armijo): the first step length with a sufficient decrease."""
    length = 1.0
    while length > SMALLEST:
        there = parameters + length * direction
        found, gradient = function(there)
        if np.isfinite(found) and found <= value + SUFFICIENT * length * slope:
            return there, found, gradient
        length *= 0.5 if np.isfinite(found) else 0.1
    return None


def _update_inverse_hessian(
    inverse: np.ndarray | None, step: Parameters, change: Parameters
) -> np.ndarray | None:
    """BFGS update: H = (1 - s yᵀ/sᵀy) H (1 - y sᵀ/sᵀy) + s sᵀ/sᵀy, for s = step, y = change.

    Without positive curvature sᵀy the update would lose positive definiteness, and is left out. The
    first H is the identity scaled by sᵀy / yᵀy (Nocedal and Wright, 2006, 6.20).
    """
    curvature = float(step @ change)
    if curvature <= SMALLEST * float(np.linalg.norm(step) * np.linalg.norm(change)):
        return inverse
    if inverse is None:
        inverse = np.eye(len(step)) * curvature / float(change @ change)
    near = np.eye(len(step)) - np.outer(step, change) / curvature
    found: np.ndarray = near @ inverse @ near.T + np.outer(step, step) / curvature
    return found


def log_likelihood(structure: Structure, parameters: Parameters, dataset: Dataset) -> float:
    """Log-likelihood of all series."""
    model = structure.state_space(parameters)
    return float(sum(log_likelihoods(model, *series).sum() for series in dataset))


def expected_moments(
    structure: Structure, parameters: Parameters, dataset: Dataset
) -> ExpectedMoments:
    """E-step over all series."""
    return e_step_of_all(structure.state_space(parameters), dataset)


def maximum_likelihood(
    structure: Structure, parameters: Parameters, dataset: Dataset, iterations: int
) -> Parameters:
    """Maximise the log-likelihood by BFGS, starting from these parameters."""
    # Per value, so that the tolerance of the gradient does not depend on the length of the data.
    count = max(1, sum(int((~np.isnan(values)).sum()) for values, _ in dataset))

    def objective(at: Parameters) -> tuple[float, Parameters]:
        try:
            moments = expected_moments(structure, at, dataset)
        except (ModelError, np.linalg.LinAlgError):  # so far away that a covariance is singular
            return np.inf, np.zeros(len(at))
        return -moments.log_likelihood / count, structure.gradient(moments, at) / count

    return bfgs(objective, parameters, iterations=iterations, tolerance=1e-6)[0]


def best_start(structure: Structure, starts: list[Parameters], dataset: Dataset) -> Parameters:
    """The start with the highest log-likelihood."""
    return max(starts, key=lambda parameters: log_likelihood(structure, parameters, dataset))
