"""Numbers of series brought to one size, each series by itself, and back.

z = (x - shift) / factor     x is the number, its logarithm or its square root

standard   the mean and the standard deviation of the training part
mean       0 and the mean size
none       0 and 1

A series that training did not show is scaled by what is known of it.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from jaxtyping import Float

Kind = Literal["standard", "mean", "none"]
Transform = Literal["none", "log", "sqrt"]
Numbers = Float[np.ndarray, "..."]  # rows of any shape, each as wide as its series
_LEAST = 1e-3  # of a factor: a root of 0 counts as so much where its density is asked for
_FLAT = 1e-9  # a deviation beside the mean from which on numbers do not differ


@dataclass(frozen=True)
class Scale:
    """How the numbers of one series are written for a model."""

    shift: Float[np.ndarray, " width"]
    factor: Float[np.ndarray, " width"]
    transform: Transform = "none"

    def there(self, values: Numbers) -> Numbers:
        """As a model reads them."""
        found: np.ndarray = (bent(values, self.transform) - self.shift) / self.factor
        return found

    def back(self, values: Numbers, *, levels: bool = False) -> Numbers:
        """In the units of the file; with `levels`, the last axis are quantiles of each number."""
        shift, factor = self.shift, self.factor
        if levels:
            shift, factor = shift[:, None], factor[:, None]
        found: np.ndarray = values * factor + shift
        if self.transform == "sqrt":
            return np.maximum(found, 0) ** 2
        return np.exp(found) if self.transform == "log" else found

    def nats(self, values: Numbers) -> float:
        """How many nats more a density of the numbers has than one of what stands for them.

        p(x) = p(z) |dz/dx|, where dz/dx = 1 / factor, of logarithms 1 / (factor x), and of roots
        1 / (2 factor √x)
        """
        seen = ~np.isnan(values)
        factors = np.broadcast_to(self.factor, values.shape)[seen]
        cost = float(np.log(factors).sum())
        if self.transform == "log":
            cost += float(np.log(values[seen]).sum())
        if self.transform == "sqrt":
            cost += float(np.log(2 * np.maximum(np.sqrt(values[seen]), _LEAST * factors)).sum())
        return cost


def bent(values: Numbers, transform: Transform) -> Numbers:
    """The numbers, their logarithms or their square roots."""
    if transform == "none":
        return values
    return np.log(values) if transform == "log" else np.sqrt(values)


class Scaling:
    """The scale of each series, by its name, and those of the inputs: a codec."""

    def __init__(self, kind: Kind = "standard", *, transform: Transform = "none") -> None:
        self.kind, self.transform = kind, transform
        self._scales: dict[str, Scale] = {}
        self._inputs = Scale(np.zeros(0), np.ones(0))
        self.constant: list[str] = []  # names of series that never change

    def learn(self, series: Iterable[tuple[str, Numbers]], inputs: Numbers) -> None:
        """From the training parts of all series, and all their inputs."""
        self._scales, self.constant = {}, []
        for name, values in series:
            self._scales[name] = self._scale(values)
            if _is_constant(values):
                self.constant.append(name)
        self._inputs = Scale(np.zeros(inputs.shape[1]), np.ones(inputs.shape[1]))
        if self.kind != "none" and len(inputs):
            deviation = inputs.std(0)
            flat = deviation <= _FLAT * np.abs(inputs.mean(0))
            self._inputs = Scale(inputs.mean(0), np.where(flat, 1.0, deviation))

    def of(self, name: str, known: Numbers) -> Scale:
        """The scale of a series, of which so much is known."""
        if name in self._scales:
            return self._scales[name]
        return self._scale(known) if np.isfinite(known).any() else self.usual(known.shape[1])

    def usual(self, width: int) -> Scale:
        """Where no series is named and nothing known: the only one, or one in the middle of all."""
        if not self._scales:
            return Scale(np.zeros(width), np.ones(width), self.transform)
        if len(self._scales) == 1:
            return next(iter(self._scales.values()))
        shifts = np.median([scale.shift for scale in self._scales.values()], axis=0)
        factors = np.median([scale.factor for scale in self._scales.values()], axis=0)
        return Scale(shifts, factors, self.transform)

    @property
    def only(self) -> str:
        """The name of the series, where there is one only."""
        return next(iter(self._scales)) if len(self._scales) == 1 else ""

    def inputs(self, known: Numbers) -> Numbers:
        """Inputs as a model reads them; those of the calendar stand behind and stay."""
        count = len(self._inputs.shift)
        return np.concatenate([self._inputs.there(known[..., :count]), known[..., count:]], axis=-1)

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
        """From what was observed; numbers that never change keep their size."""
        width = values.shape[1]
        shift, factor = np.zeros(width), np.ones(width)
        for column, numbers in enumerate(values.T if self.kind != "none" else ()):
            seen = numbers[~np.isnan(numbers)]
            seen = bent(seen, self.transform)
            if not len(seen):
                continue
            if self.kind == "standard":
                shift[column] = seen.mean()
            size = float(seen.std() if self.kind == "standard" else np.abs(seen).mean())
            if size > _FLAT * abs(float(seen.mean())):
                factor[column] = size
        return Scale(shift, factor, self.transform)


def _is_constant(values: Numbers) -> bool:
    seen = values[~np.isnan(values).any(1)]
    return len(seen) > 1 and bool((seen == seen[0]).all())


def _pair(scale: Scale) -> list[list[float]]:
    return [scale.shift.tolist(), scale.factor.tolist()]
