"""EM for constant state-space models (Shumway and Stoffer, 1982): E-step and M-step.

The E-step gathers expected sums of products given the whole series, by the Kalman smoother. The
M-step regresses states on the states before them, and observations on states. By Fisher's identity
the same sums give the gradient of the log-likelihood: it equals that of the expected log p(x, z).
"""

import operator
from dataclasses import dataclass, fields, replace
from functools import reduce

import numpy as np
from jaxtyping import Float

from .compiled import Inputs, SmootherResult, Values, kalman_smoother
from .shared import Dataset, SharedSmoother, shareable, shared_smoother
from .system import InitialDistribution, StateSpace

Square = Float[np.ndarray, "_ _"]


@dataclass(frozen=True)
class RegressionMoments:
    """Expected sums of products of a linear regression y = G g + noise; two can be added."""

    count: float
    targets: Square  # Σ E[y yᵀ]
    cross: Square  # Σ E[y gᵀ]
    regressors: Square  # Σ E[g gᵀ]

    def __add__(self, other: "RegressionMoments") -> "RegressionMoments":
        return RegressionMoments(
            self.count + other.count,
            self.targets + other.targets,
            self.cross + other.cross,
            self.regressors + other.regressors,
        )

    def coefficients(self) -> Square:
        """The least squares matrix G; lstsq and not solve, as regressors can be collinear."""
        found: Square = np.linalg.lstsq(self.regressors, self.cross.T, rcond=1e-12)[0].T
        return found

    def residual_squares(self, matrix: Square) -> Square:
        """Σ E[(y - G g)(y - G g)ᵀ]."""
        mixed = matrix @ self.cross.T
        found: Square = self.targets - mixed - mixed.T + matrix @ self.regressors @ matrix.T
        return (found + found.T) / 2


@dataclass(frozen=True)
class ExpectedMoments:
    """Expected sufficient statistics of one series, or of several together (E-step).

    In `transition` states are regressed on [the state before; inputs; 1], in `observation` values
    on [the state; inputs; 1].
    """

    log_likelihood: float
    series: float
    initial: Float[np.ndarray, " states"]  # Σ E[z_1]
    initial_squares: Square  # Σ E[z_1 z_1ᵀ]
    transition: RegressionMoments
    observation: RegressionMoments

    def __add__(self, other: "ExpectedMoments") -> "ExpectedMoments":
        pairs = {f.name: (getattr(self, f.name), getattr(other, f.name)) for f in fields(self)}
        return ExpectedMoments(**{name: one + two for name, (one, two) in pairs.items()})


def e_step(model: StateSpace, values: Values, inputs: Inputs) -> ExpectedMoments:
    """E-step: the expected sufficient statistics of one series."""
    smooth = kalman_smoother(model, values, inputs, lagged=True)
    states = model.states
    second = smooth.covariance[0] + np.outer(smooth.mean[0], smooth.mean[0])
    transition = _transition_moments(smooth, inputs)
    return ExpectedMoments(
        float(smooth.log_likelihood.sum()),
        1.0,
        smooth.mean[0],
        second,
        transition,
        _observation_moments(smooth, model, values, inputs) if states else transition,
    )


def e_step_of_all(model: StateSpace, dataset: Dataset) -> ExpectedMoments:
    """E-step over all series; those that can share their covariances do."""
    if not dataset:
        raise ValueError("no series")
    found: list[ExpectedMoments] = []
    can_share = shareable(model, dataset)
    if can_share.any():
        places = np.flatnonzero(can_share).tolist()
        smooth, serves = shared_smoother(model, [dataset[place] for place in places])
        can_share[places] = serves
        if smooth is not None:
            chosen = [
                series for series, is_shared in zip(dataset, can_share, strict=True) if is_shared
            ]
            found.append(_shared_moments(model, smooth, chosen))
    rest = (series for series, is_shared in zip(dataset, can_share, strict=True) if not is_shared)
    return reduce(operator.add, [*found, *(e_step(model, *series) for series in rest)])


def _shared_moments(model: StateSpace, smooth: SharedSmoother, dataset: Dataset) -> ExpectedMoments:
    """The moments of complete series that share their covariances."""
    means, states = smooth.means, model.states
    values, inputs = (np.concatenate(parts) for parts in zip(*dataset, strict=True))
    early, late, one = means[~smooth.last], means[~smooth.first], np.ones((len(means), 1))
    before = np.concatenate([early, inputs[~smooth.first], one[: len(early)]], axis=1)
    cross, regressors = late.T @ before, before.T @ before
    cross[:, :states] += smooth.lag_covariances
    regressors[:states, :states] += smooth.covariances - smooth.last_covariances
    targets = late.T @ late + smooth.covariances - smooth.first_covariances
    rows = np.concatenate([means, inputs, one], axis=1)
    squares = rows.T @ rows
    squares[:states, :states] += smooth.covariances
    matrices = stacked(model)[1], model.observation_noise
    observed = np.ones(model.width, dtype=bool)
    first = means[smooth.first]
    return ExpectedMoments(
        smooth.log_likelihood,
        float(len(dataset)),
        first.sum(0),
        first.T @ first + smooth.first_covariances,
        RegressionMoments(float(len(early)), targets, cross, regressors),
        _pattern_moments(values, rows, squares, observed, matrices),
    )


def stacked(model: StateSpace) -> tuple[Square, Square]:
    """The block matrices [A B c] and [C D d]."""
    states, width = model.states, model.width
    known = 0 if model.feedthrough is None else model.feedthrough.shape[-1]
    inputs = np.zeros((states, known)) if model.input_matrix is None else model.input_matrix
    state_offset = np.zeros(states) if model.state_offset is None else model.state_offset
    feedthrough = np.zeros((width, known)) if model.feedthrough is None else model.feedthrough
    offset = np.zeros(width) if model.observation_offset is None else model.observation_offset
    transition = np.concatenate([model.transition, inputs, state_offset[:, None]], axis=1)
    return transition, np.concatenate([model.observation, feedthrough, offset[:, None]], axis=1)


def m_step(moments: ExpectedMoments, model: StateSpace) -> StateSpace:
    """M-step: the maximum likelihood estimate of all matrices."""
    states = model.states
    transition = moments.transition.coefficients()
    observation = moments.observation.coefficients()
    mean = moments.initial / moments.series
    first = moments.initial_squares / moments.series - np.outer(mean, mean)
    process_noise = moments.transition.residual_squares(transition) / moments.transition.count
    noise = moments.observation.residual_squares(observation) / moments.observation.count
    return replace(
        model,
        transition=transition[:, :states],
        input_matrix=transition[:, states:-1],
        state_offset=transition[:, -1],
        process_noise=process_noise,
        observation=observation[:, :states],
        feedthrough=observation[:, states:-1],
        observation_offset=observation[:, -1],
        observation_noise=noise,
        initial=InitialDistribution.known(mean, (first + first.T) / 2),
    )


def _regressor_squares(
    means: Float[np.ndarray, "time states"], covariance: Square, inputs: Inputs
) -> Square:
    """Σ E[g gᵀ] of g = [state; inputs; 1]: products of means, and the covariance of the states."""
    rows = np.concatenate([means, inputs, np.ones((len(means), 1))], axis=1)
    found: Square = rows.T @ rows
    found[: len(covariance), : len(covariance)] += covariance
    return found


def _transition_moments(smooth: SmootherResult, inputs: Inputs) -> RegressionMoments:
    mean, covariance, lag = smooth.mean, smooth.covariance, smooth.lag_covariance
    time, states = mean.shape
    ones = np.ones(time)
    early, late = ones.copy(), ones.copy()
    early[-1:], late[:1] = 0, 0
    rows = np.concatenate([mean[:-1], inputs[1:], np.ones((time - 1, 1))], axis=1)
    cross = mean[1:].T @ rows
    if lag is not None and time > 1:
        cross[:, :states] += lag.weighted_sum(np.ones(time - 1))
    targets = mean[1:].T @ mean[1:] + covariance.weighted_sum(late)
    regressors = _regressor_squares(mean[:-1], covariance.weighted_sum(early), inputs[1:])
    return RegressionMoments(time - 1.0, targets, cross, regressors)


def _observation_moments(
    smooth: SmootherResult, model: StateSpace, values: Values, inputs: Inputs
) -> RegressionMoments:
    """Missing values are expected, too: given the state and the other values of their step.

    Steps are grouped by which values they miss, so there is one set of products for each pattern
    and not for each step.
    """
    there = ~np.isnan(values)
    _, observation = stacked(model)
    if model.feedthrough is None and inputs.shape[1]:
        raise ValueError("inputs need a `feedthrough` matrix in the model")
    patterns, place = np.unique(there, axis=0, return_inverse=True)
    total: RegressionMoments | None = None
    for number, observed in enumerate(patterns):
        steps = (place.reshape(-1) == number).astype(np.float64)
        chosen = steps > 0
        covariance = smooth.covariance.weighted_sum(steps)
        regressors = _regressor_squares(smooth.mean[chosen], covariance, inputs[chosen])
        rows = np.concatenate(
            [smooth.mean[chosen], inputs[chosen], np.ones((int(steps.sum()), 1))], axis=1
        )
        matrices = (observation, model.observation_noise)
        found = _pattern_moments(values[chosen][:, observed], rows, regressors, observed, matrices)
        total = found if total is None else total + found
    if total is None:
        raise ValueError("a series without steps")
    return total


def _pattern_moments(
    values: Values,
    rows: Square,
    regressors: Square,
    observed: np.ndarray,
    matrices: tuple[Square, Square],
) -> RegressionMoments:
    """Steps that miss the same values: x = E x_s + W g + e, e with the conditional covariance.

    x_missing = H_m g + R_ms R_ss⁻¹ (x_s - H_s g) + e,  Cov(e) = R_mm - R_ms R_ss⁻¹ R_sm
    """
    observation, noise = matrices
    fill = np.zeros((len(observed), int(observed.sum())))
    fill[observed] = np.eye(fill.shape[1])
    rest, left = np.zeros_like(observation), np.zeros_like(noise)
    if not observed.all():
        missing = ~observed
        # pinv: with noise that is singular, R_ss may have no inverse.
        slope = noise[np.ix_(missing, observed)] @ np.linalg.pinv(noise[np.ix_(observed, observed)])
        fill[missing] = slope
        rest[missing] = observation[missing] - slope @ observation[observed]
        known = slope @ noise[np.ix_(observed, missing)]
        left[np.ix_(missing, missing)] = noise[np.ix_(missing, missing)] - known
    whole = values @ fill.T
    cross = whole.T @ rows
    mixed = cross @ rest.T
    targets = whole.T @ whole + mixed + mixed.T + rest @ regressors @ rest.T + len(values) * left
    return RegressionMoments(float(len(values)), targets, cross + rest @ regressors, regressors)
