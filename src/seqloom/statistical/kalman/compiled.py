"""Kalman filter, smoother and log-likelihood of linear-Gaussian models: fast path, by Numba.

The equations are in `system` and in the reference implementation `inference`; this module runs the
kernels and names their results. The log-likelihood is that of Durbin and Koopman (2012): a value
that identifies part of a diffuse initial state adds -½ log 2πF∞, so all values have their constant.
"""

from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import Any, Literal

import numpy as np
from jaxtyping import Float, Int

from ...errors import ModelError
from .kernels_diffuse import smooth_diffuse
from .layout import FilterOutput, SmootherOutput
from .system import StateSpace


@cache
def kernels(name: Literal["filter", "smoother"]) -> Any:
    """The module `kernels_{name}`, imported when first used: importing Numba takes a second."""
    return import_module(f".kernels_{name}", __package__)


Values = Float[np.ndarray, "time width"]
Inputs = Float[np.ndarray, "time known"]


@dataclass(frozen=True)
class Covariances:
    """The covariance of each step; equal ones are stored once, at `index[t]`."""

    distinct: Float[np.ndarray, "count states states"]
    index: Int[np.ndarray, " time"]

    def __getitem__(self, steps: Any) -> Float[np.ndarray, "..."]:
        """The covariance of one step, or those of some."""
        found: np.ndarray = self.distinct[self.index[steps]]
        return found

    def __len__(self) -> int:
        return len(self.index)

    def weighted_sum(
        self, weights: Float[np.ndarray, " time"]
    ) -> Float[np.ndarray, "states states"]:
        """Σ_t weight_t P_t, by the few distinct covariances."""
        count = np.bincount(self.index, weights, len(self.distinct))
        found: np.ndarray = np.tensordot(count, self.distinct, 1)
        return found


@dataclass(frozen=True)
class FilterResult:
    """Predicted state (before each step is observed) and filtered state (after it).

    In the first `diffuse_steps` steps part of the state is diffuse: the covariance is P + κ P∞.
    """

    log_likelihood: Float[np.ndarray, " time"]
    predicted_mean: Float[np.ndarray, "time states"]
    predicted_covariance: Covariances
    mean: Float[np.ndarray, "time states"]
    covariance: Covariances
    predicted_diffuse: Float[np.ndarray, "diffuse_steps states states"]
    diffuse: Float[np.ndarray, "diffuse_steps states states"]

    @property
    def diffuse_steps(self) -> int:
        """How many steps begin with a diffuse part."""
        return len(self.predicted_diffuse)


@dataclass(frozen=True)
class SmootherResult:
    """Smoothed state: given the whole series. `lag_covariance` is Cov(z_{t+1}, z_t)."""

    log_likelihood: Float[np.ndarray, " time"]
    mean: Float[np.ndarray, "time states"]
    covariance: Covariances
    lag_covariance: Covariances | None = None


def log_likelihoods(
    model: StateSpace, values: Values, inputs: Inputs | None = None
) -> Float[np.ndarray, " time"]:
    """log p(x_t | x_1 … x_{t-1}) of each step; 0 where nothing is observed."""
    return _forward(model, values, inputs, 0).log_likelihood


def kalman_filter(model: StateSpace, values: Values, inputs: Inputs | None = None) -> FilterResult:
    """Kalman filter: the predicted and the filtered state of each step."""
    out = _forward(model, values, inputs, 2)
    return FilterResult(
        out.log_likelihood,
        out.predicted,
        Covariances(out.predicted_covariances, out.which),
        out.filtered,
        Covariances(out.filtered_covariances, out.which),
        out.predicted_diffuse,
        out.filtered_diffuse,
    )


def kalman_smoother(
    model: StateSpace, values: Values, inputs: Inputs | None = None, *, lagged: bool = False
) -> SmootherResult:
    """Kalman smoother (fixed interval): the state of each step given the whole series.

    With `lagged` also the lag-one covariances, which the E-step of EM needs.
    """
    data = model.filter_input(values, _no_inputs(values) if inputs is None else inputs)
    filtered = checked(kernels("filter").forward(data, 1))
    out: SmootherOutput = kernels("smoother").backward(data, filtered, lagged)
    count = smooth_diffuse(data, filtered, out) if filtered.diffuse_steps else out.stored
    lag = Covariances(out.lag_covariances[:count], out.which[:-1]) if lagged else None
    covariance = Covariances(out.covariances[:count], out.which)
    # The last step is stored first and has no step after it: its slot was never written.
    out.lag_covariances[:1] = 0.0
    return SmootherResult(filtered.log_likelihood, out.means, covariance, lag)


def is_identified(model: StateSpace, values: Values, inputs: Inputs) -> bool:
    """Whether the observations identify the diffuse initial state."""
    if not model.initial.diffuse.any():
        return True
    return _forward(model, values, inputs, 0).is_identified


def observation_moments(
    model: StateSpace,
    mean: Float[np.ndarray, "time states"],
    covariance: Float[np.ndarray, "time states states"],
) -> tuple[Float[np.ndarray, "time width"], Float[np.ndarray, "time width width"]]:
    """Mean C z and covariance C P Cᵀ + R of observations, apart from inputs and offset."""
    design = model.observation
    transposed = np.swapaxes(design, -1, -2)
    observed = design @ covariance @ transposed + model.observation_noise
    return np.einsum("...ij,...j->...i", design, mean), observed


def observation_offsets(model: StateSpace, inputs: Inputs) -> Float[np.ndarray, "time width"]:
    """D u + d of each step."""
    return -model.filter_input(np.zeros((len(inputs), model.width)), inputs).values


def _forward(model: StateSpace, values: Values, inputs: Inputs | None, keep: int) -> FilterOutput:
    data = model.filter_input(values, _no_inputs(values) if inputs is None else inputs)
    return checked(kernels("filter").forward(data, keep))


def _no_inputs(values: Values) -> Inputs:
    return np.zeros((len(values), 0))


def checked(out: FilterOutput) -> FilterOutput:
    """The output of the filter, or an error if an innovation variance was negative."""
    if out.is_positive:
        return out
    raise ModelError(
        "M402",
        "an innovation variance became negative: the values are too far apart in size",
        help=["scale the observations, or increase the noise variances"],
    )
