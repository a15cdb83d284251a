"""Scaling of time series: standardisation or mean scaling, for each series, and its inverse.

z = (x - shift) / factor     x: the value, its logarithm or its square root

standard   shift: mean, factor: standard deviation of the training part (z-scores)
mean       shift: 0, factor: mean absolute value
none       shift: 0, factor: 1

A series that was not in training is scaled by its own past.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from jaxtyping import Float

ScalingName = Literal["standard", "mean", "none"]
TransformName = Literal["none", "log", "sqrt"]
Numbers = Float[np.ndarray, "..."]  # any shape; the last axis are the columns of the series
_MIN_ROOT = 1e-3  # in units of the factor: the density of √x has a pole at 0
_CONSTANT = 1e-9  # relative standard deviation up to which values count as constant


@dataclass(frozen=True)
class Scale:
    """The scale of one series: a transform, then shift and factor."""

    shift: Float[np.ndarray, " width"]
    factor: Float[np.ndarray, " width"]
    transform: TransformName = "none"

    def apply(self, values: Numbers) -> Numbers:
        """Scaled values, as models see them."""
        found: np.ndarray = (apply_transform(values, self.transform) - self.shift) / self.factor
        return found

    def invert(self, values: Numbers, *, levels: bool = False) -> Numbers:
        """Values in the units of the file; with `levels`, the last axis are quantiles."""
        shift, factor = self.shift, self.factor
        if levels:
            shift, factor = shift[:, None], factor[:, None]
        found: np.ndarray = values * factor + shift
        if self.transform == "sqrt":
            return np.maximum(found, 0) ** 2
        return np.exp(found) if self.transform == "log" else found

    def log_jacobian(self, values: Numbers) -> float:
        """Log-Jacobian Σ log |dx/dz|, which is added to -log p(z) to get -log p(x).

        p(x) = p(z) |dz/dx|, where dz/dx is 1 / factor, for logarithms 1 / (factor x), for square
        roots 1 / (2 factor √x)
        """
        is_observed = ~np.isnan(values)
        factors = np.broadcast_to(self.factor, values.shape)[is_observed]
        total = float(np.log(factors).sum())
        if self.transform == "log":
            total += float(np.log(values[is_observed]).sum())
        if self.transform == "sqrt":
            roots = np.maximum(np.sqrt(values[is_observed]), _MIN_ROOT * factors)
            total += float(np.log(2 * roots).sum())
        return total


def apply_transform(values: Numbers, transform: TransformName) -> Numbers:
    """The values, their logarithms or their square roots."""
    if transform == "none":
        return values
    return np.log(values) if transform == "log" else np.sqrt(values)


class SeriesScaler:
    """Scaler of time series: a `Scale` for each series by name, one for the inputs; a codec."""

    def __init__(
        self, kind: ScalingName = "standard", *, transform: TransformName = "none"
    ) -> None:
        self.kind, self.transform = kind, transform
        self._scales: dict[str, Scale] = {}
        self._inputs = Scale(np.zeros(0), np.ones(0))
        self.constant_series: list[str] = []  # names

    def learn(self, series: Iterable[tuple[str, Numbers]], inputs: Numbers) -> None:
        """Fit scales to the training parts of the series, and to all known inputs."""
        self._scales, self.constant_series = {}, []
        for name, values in series:
            self._scales[name] = self._scale(values)
            if _is_constant(values):
                self.constant_series.append(name)
        self._inputs = Scale(np.zeros(inputs.shape[1]), np.ones(inputs.shape[1]))
        if self.kind != "none" and len(inputs):
            deviation = inputs.std(0)
            is_constant = deviation <= _CONSTANT * np.abs(inputs.mean(0))
            self._inputs = Scale(inputs.mean(0), np.where(is_constant, 1.0, deviation))

    def scale_of(self, name: str, past: Numbers) -> Scale:
        """The scale of a series: as fitted in training, or fitted to its past."""
        if name in self._scales:
            return self._scales[name]
        if np.isfinite(past).any():
            return self._scale(past)
        return self.default_scale(past.shape[1])

    def default_scale(self, width: int) -> Scale:
        """The scale of a series without name or past: the only one, or the median of all."""
        if not self._scales:
            return Scale(np.zeros(width), np.ones(width), self.transform)
        if len(self._scales) == 1:
            return next(iter(self._scales.values()))
        shifts = np.median([scale.shift for scale in self._scales.values()], axis=0)
        factors = np.median([scale.factor for scale in self._scales.values()], axis=0)
        return Scale(shifts, factors, self.transform)

    @property
    def only_name(self) -> str:
        """The name of the training series if there was only one, else empty."""
        return next(iter(self._scales)) if len(self._scales) == 1 else ""

    def scale_inputs(self, known: Numbers) -> Numbers:
        """Scaled known inputs; calendar features after them are not scaled."""
        count = len(self._inputs.shift)
        return np.concatenate([self._inputs.apply(known[..., :count]), known[..., count:]], axis=-1)

    def state(self) -> Any:
        rows = {name: _pair(scale) for name, scale in self._scales.items()}
        return {"series": rows, "inputs": _pair(self._inputs), "transform": self.transform}

    def restore(self, state: Any) -> None:
        self.transform = state["transform"]
        self._scales = {name: self._from(pair) for name, pair in state["series"].items()}
        shift, factor = map(np.array, state["inputs"])
        self._inputs = Scale(shift, factor)

    def _from(self, pair: list[list[float]]) -> Scale:
        return Scale(np.array(pair[0]), np.array(pair[1]), self.transform)

    def _scale(self, values: Numbers) -> Scale:
        """Fit a scale to observed values; constant values keep factor 1."""
        width = values.shape[1]
        shift, factor = np.zeros(width), np.ones(width)
        for column, numbers in enumerate(values.T if self.kind != "none" else ()):
            x = apply_transform(numbers[~np.isnan(numbers)], self.transform)
            if not len(x):
                continue
            if self.kind == "standard":
                shift[column] = x.mean()
            size = float(x.std() if self.kind == "standard" else np.abs(x).mean())
            if size > _CONSTANT * abs(float(x.mean())):
                factor[column] = size
        return Scale(shift, factor, self.transform)


def _is_constant(values: Numbers) -> bool:
    rows = values[~np.isnan(values).any(1)]
    return len(rows) > 1 and bool((rows == rows[0]).all())


def _pair(scale: Scale) -> list[list[float]]:
    return [scale.shift.tolist(), scale.factor.tolist()]
