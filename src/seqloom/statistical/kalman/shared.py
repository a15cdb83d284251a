"""E-step of a state-space model over many series: covariances once, means in one compiled pass.

The covariances of a constant model depend on which values are missing and on the length of a
series alone. Where nothing is missing, those of the longest series serve all others: its filter has
their gains, and as long as its smoother has a steady stretch, a shorter series lacks steps of that
stretch and nothing else.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int

from .compiled import Inputs, SmootherResult, Values, checked, kalman_smoother, kernels
from .kernels_diffuse import independent_values, update_value
from .kernels_shared import SharedGains, smooth_means
from .layout import FilterInput, FilterOutput
from .system import StateSpace

Dataset = Sequence[tuple[Values, Inputs]]  # the values and the inputs of each series
LEAST = 4  # series, below which tables of gains cost more than they spare


@dataclass(frozen=True)
class SharedSmoother:
    """Smoothed means of several series, one after another, and sums of their covariances."""

    log_likelihood: float
    means: Float[np.ndarray, "steps states"]
    first: Bool[np.ndarray, " steps"]  # the first step of each series
    last: Bool[np.ndarray, " steps"]
    covariances: Float[np.ndarray, "states states"]  # summed over all steps of all series
    first_covariances: Float[np.ndarray, "states states"]  # over the first step of each
    last_covariances: Float[np.ndarray, "states states"]
    lag_covariances: Float[np.ndarray, "states states"]


def shareable(model: StateSpace, dataset: Dataset) -> Bool[np.ndarray, " series"]:
    """Which series may share their covariances: those without missing values, if there are many."""
    is_constant = model.states > 0 and all(
        part.ndim == 2  # noqa: PLR2004 - a matrix, not one for each step
        for part in (
            model.transition,
            model.process_noise,
            model.observation,
            model.observation_noise,
        )
    )
    found = [is_constant and not np.isnan(values).any() for values, _ in dataset]
    return np.array(found, dtype=bool) & (sum(found) >= LEAST)


def shared_smoother(
    model: StateSpace, dataset: Dataset
) -> tuple[SharedSmoother | None, Bool[np.ndarray, " series"]]:
    """Kalman smoother of complete series; and which of them it serves, as some may be too short."""
    lengths = np.array([len(values) for values, _ in dataset])
    longest = dataset[int(lengths.argmax())]
    smooth = kalman_smoother(model, *longest, lagged=True)
    counts = np.bincount(smooth.covariance.index)
    serves = lengths > lengths.max() - counts.max()
    if serves.sum() < LEAST:
        return None, np.zeros(len(dataset), dtype=bool)
    served = [one for one, is_served in zip(dataset, serves, strict=True) if is_served]
    values, inputs = (np.concatenate(parts) for parts in zip(*served, strict=True))
    ends = lengths[serves].cumsum()
    data = model.filter_input(values, inputs)
    gains, lower = _gains(model.filter_input(*longest))
    means, log_likelihoods = np.empty((len(values), model.states)), np.empty(len(ends))
    decorrelated = np.ascontiguousarray(np.linalg.solve(lower, data.values.T).T)
    smooth_means(gains, decorrelated, data.state_offset, ends, log_likelihoods, means)
    first, last = np.zeros(len(values), dtype=bool), np.zeros(len(values), dtype=bool)
    first[np.append(0, ends[:-1])] = last[ends - 1] = True
    sums = _covariance_sums(smooth, lengths[serves])
    return SharedSmoother(float(log_likelihoods.sum()), means, first, last, *sums), serves


def _covariance_sums(
    smooth: SmootherResult, lengths: Int[np.ndarray, " series"]
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Sums over all steps, over the first steps, the last ones, and of lag-one covariances.

    A series lacks as many steps of the steady stretch as it is shorter than the longest one.
    """
    covariance, lag, longest = smooth.covariance, smooth.lag_covariance, len(smooth.mean)
    steady, missing = int(np.bincount(covariance.index).argmax()), (longest - lengths).sum()
    one, count = covariance.weighted_sum(np.ones(longest)), len(lengths)
    total = count * one - missing * covariance.distinct[steady]
    lagged = np.zeros_like(total)
    if lag is not None and longest > 1:
        lagged = count * lag.weighted_sum(np.ones(longest - 1)) - missing * lag.distinct[steady]
    return total, count * covariance[0], count * covariance[-1], lagged


def _gains(data: FilterInput) -> tuple[SharedGains, Float[np.ndarray, "width width"]]:
    """The gains of each distinct step of a complete series, and L of its noise R = L D Lᵀ."""
    filtered: FilterOutput = checked(kernels("filter").forward(data, 1))
    count, (width, states) = filtered.stored, data.observation.shape[1:]
    gains, slopes = np.zeros((count, width, states)), np.zeros((count, width, states))
    variances, diffuse_variances = np.zeros((count, width)), np.zeros((count, width))
    diffuse = np.zeros((count, states, states))
    diffuse[: filtered.diffuse_steps] = filtered.predicted_diffuse
    # With an identity in place of the values, what is returned of them is L⁻¹.
    rows = [independent_values(data._replace(values=row[None]), 0) for row in np.eye(width)]
    inverse = np.array([[value for _, _, value in row] for row in rows]).T
    for k in range(count):
        state = np.zeros(states), filtered.predicted_covariances[k], diffuse[k]
        for m, (design, noise, _) in enumerate(rows[0]):
            update, state = update_value(design, noise, 0.0, state)
            variances[k, m], diffuse_variances[k, m] = update.variance, update.variance_diffuse
            if (far := update.variance_diffuse) > 0:
                gains[k, m] = update.cross_diffuse / far
                slopes[k, m] = (gains[k, m] * update.variance - update.cross) / far
            elif update.variance > 0:
                gains[k, m] = update.cross / update.variance
    shared = SharedGains(
        np.ascontiguousarray(data.transition[0]),
        np.array([design for design, _, _ in rows[0]]),
        data.mean,
        gains,
        variances,
        diffuse_variances,
        slopes,
        np.ascontiguousarray(filtered.predicted_covariances),
        diffuse,
    )
    return shared, np.linalg.inv(inverse)
