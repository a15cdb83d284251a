"""The quick twin of `readable`: filter, smoother, forecasts and simulation, compiled.

Equations are in `readable` and `system`; here is what comes of them. The log-likelihood is that of
Durbin and Koopman: a number by which part of a diffuse start becomes known counts with
-½ log 2πF∞, so that all numbers have their constant.

Compiled loops, imported when they are first called: Numba takes a second to come.
"""

from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import Any, Literal

import numpy as np
from jaxtyping import Float, Int

from ...errors import ModelError
from .kernels_diffuse import smooth_back
from .layout import Back, Kept
from .system import System


@cache
def loops(name: Literal["filter", "smoother"]) -> Any:
    """The module of this name."""
    return import_module(f".kernels_{name}", __package__)


Values = Float[np.ndarray, "time width"]
Inputs = Float[np.ndarray, "time known"]


@dataclass(frozen=True)
class Covariances:
    """One for each step; those that are equal are kept once, and `which` tells where."""

    kept: Float[np.ndarray, "count states states"]
    which: Int[np.ndarray, " time"]

    def __getitem__(self, steps: Any) -> Float[np.ndarray, "..."]:
        """Those of a step, or of some."""
        found: np.ndarray = self.kept[self.which[steps]]
        return found

    def __len__(self) -> int:
        return len(self.which)

    def total(self, counted: Float[np.ndarray, " time"]) -> Float[np.ndarray, "states states"]:
        """Their sum, each as often as is said."""
        often = np.bincount(self.which, counted, len(self.kept))
        found: np.ndarray = np.tensordot(often, self.kept, 1)
        return found


@dataclass(frozen=True)
class Filtered:
    """What is known of the state before each step is seen (`ahead`) and after it.

    In the first `spread` steps part of the state is diffuse: the covariance is P + κ P∞.
    """

    log_likelihood: Float[np.ndarray, " time"]
    ahead: Float[np.ndarray, "time states"]
    ahead_covariance: Covariances
    mean: Float[np.ndarray, "time states"]
    covariance: Covariances
    ahead_diffuse: Float[np.ndarray, "spread states states"]
    diffuse: Float[np.ndarray, "spread states states"]

    @property
    def spread(self) -> int:
        """How many steps begin with a diffuse part."""
        return len(self.ahead_diffuse)


@dataclass(frozen=True)
class Smoothed:
    """What the whole series says of the state in each step; `lag` is Cov(z_{t+1}, z_t)."""

    log_likelihood: Float[np.ndarray, " time"]
    mean: Float[np.ndarray, "time states"]
    covariance: Covariances
    lag: Covariances | None = None


def log_likelihoods(
    system: System, values: Values, inputs: Inputs | None = None
) -> Float[np.ndarray, " time"]:
    """Log p(x_t | x_1 … x_{t-1}) of each step; 0 where nothing is observed."""
    return _forward(system, values, inputs, 0).log_likelihood


def filtered(system: System, values: Values, inputs: Inputs | None = None) -> Filtered:
    """What is known of the state when each step is seen."""
    kept = _forward(system, values, inputs, 2)
    return Filtered(
        kept.log_likelihood,
        kept.ahead,
        Covariances(kept.ahead_covariances, kept.which),
        kept.means,
        Covariances(kept.covariances, kept.which),
        kept.ahead_diffuse,
        kept.diffuse,
    )


def smoothed(
    system: System, values: Values, inputs: Inputs | None = None, *, lagged: bool = False
) -> Smoothed:
    """What is known of the state in each step once the whole series is seen."""
    laid = system.laid(values, _none(values) if inputs is None else inputs)
    kept = _sound(loops("filter").forward(laid, 1))
    back: Back = loops("smoother").backward(laid, kept, lagged)
    count = smooth_back(laid, kept, back) if kept.spread else back.kept
    lag = Covariances(back.lags[:count], back.which[:-1]) if lagged else None
    several = Covariances(back.covariances[:count], back.which)
    back.lags[:1] = 0.0  # nothing comes after the last step, which is the first to be kept
    return Smoothed(kept.log_likelihood, back.means, several, lag)


def is_told(system: System, values: Values, inputs: Inputs) -> bool:
    """Whether a series tells all that is diffuse at first."""
    if not system.start.diffuse.any():
        return True
    return _forward(system, values, inputs, 0).is_told


def shown(
    system: System,
    mean: Float[np.ndarray, "time states"],
    covariance: Float[np.ndarray, "time states states"],
) -> tuple[Float[np.ndarray, "time width"], Float[np.ndarray, "time width width"]]:
    """What states show, apart from inputs and offset: C z, and C P Cᵀ + R."""
    show = system.observation
    turned = np.swapaxes(show, -1, -2)
    return np.einsum("...ij,...j->...i", show, mean), show @ covariance @ turned + system.error


def offsets(system: System, inputs: Inputs) -> Float[np.ndarray, "time width"]:
    """D u + d of each step."""
    return -system.laid(np.zeros((len(inputs), system.width)), inputs).values


def _forward(system: System, values: Values, inputs: Inputs | None, keep: int) -> Kept:
    laid = system.laid(values, _none(values) if inputs is None else inputs)
    return _sound(loops("filter").forward(laid, keep))


def _none(values: Values) -> Inputs:
    return np.zeros((len(values), 0))


def _sound(kept: Kept) -> Kept:
    if kept.is_sound:
        return kept
    raise ModelError(
        "M402",
        "a covariance that is not positive was reached: the numbers are too far apart in size",
        help=["scale what is observed, or let the noise be larger"],
    )
