"""One number of a series with its future: the numbers behind the bands of a fan."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from jaxtyping import Float

from ..foreseen import LEVELS, Foreseen
from .time_chart import places_of

BANDS = (0.95, 0.8, 0.5)  # from the outside to the inside


@dataclass(frozen=True, eq=False)
class Fan:
    """One number of a series: its past, what was foreseen, and what came, where that is known.

    Args:
        name: what it is called.
        past: the numbers up to now; NaN where one is missing.
        mean: what is expected at each step ahead.
        quantiles: at LEVELS, at each step ahead.
        times: what the steps are called, of the past and then of those ahead; numbered from 1 if
            left out.
        actual: what came; NaN where that is not known, and empty where nothing is.
        paths: futures drawn at random.
    """

    name: str
    past: Float[np.ndarray, " past"]
    mean: Float[np.ndarray, " ahead"]
    quantiles: Float[np.ndarray, "ahead levels"]
    times: tuple[str, ...] = ()
    actual: Float[np.ndarray, " known"] | None = None
    paths: Float[np.ndarray, "samples ahead"] | None = None

    def __post_init__(self) -> None:
        steps = len(self.past) + len(self.mean)
        if not len(self.mean) or self.quantiles.shape != (len(self.mean), len(LEVELS)):
            raise ValueError("expected a mean at each of at least one step, and its quantiles")
        if not self.times:
            object.__setattr__(self, "times", tuple(map(str, range(1, steps + 1))))
        if len(self.times) != steps:
            raise ValueError(f"expected {steps} names of steps, not {len(self.times)}")
        came = np.full(len(self.mean), np.nan)
        given = np.zeros(0) if self.actual is None else self.actual[: len(came)]
        came[: len(given)] = given
        object.__setattr__(self, "actual", came)

    @property
    def came(self) -> Float[np.ndarray, " ahead"]:
        """What came at each step ahead; NaN where it is not known."""
        return np.zeros(0) if self.actual is None else self.actual

    def band(self, share: float) -> tuple[np.ndarray, np.ndarray]:
        """Where the middle share of chance begins and ends."""
        whole = Foreseen(self.mean[:, None], self.quantiles[:, None, :])
        low, high = whole.band(share)
        return low[:, 0], high[:, 0]

    def held(self, share: float) -> tuple[int, int]:
        """How many of the numbers that came lie within a band, and how many came."""
        low, high = self.band(share)
        known = np.isfinite(self.came)
        inside = known & (self.came >= low) & (self.came <= high)
        return int(inside.sum()), int(known.sum())

    def late(self, steps: int) -> "Fan":
        """With no more than so many steps of the past."""
        cut = max(0, len(self.past) - steps)
        return replace(self, past=self.past[cut:], times=self.times[cut:])


def fans_of(
    names: Sequence[str],
    past: Float[np.ndarray, "past width"],
    foreseen: Foreseen,
    times: Sequence[str] = (),
    actual: Float[np.ndarray, "known width"] | None = None,
) -> list[Fan]:
    """A fan for each number of a series."""
    return [
        Fan(
            name,
            past[:, number],
            foreseen.mean[:, number],
            foreseen.quantiles[:, number],
            tuple(times),
            None if actual is None else actual[:, number],
            None if foreseen.paths is None else foreseen.paths[:, :, number],
        )
        for number, name in enumerate(names)
    ]


def table_of(fan: Fan) -> list[list[str]]:
    """For each step ahead its time, the mean, the bands from the inside out, and what came."""
    edges = [edge for share in reversed(BANDS) for edge in fan.band(share)]
    places = places_of([*fan.mean, *(value for edge in edges for value in edge)])
    times = fan.times[len(fan.past) :]
    columns = zip(times, fan.mean, *edges, fan.came, strict=True)
    return [[time, *(_cell(float(value), places) for value in values)] for time, *values in columns]


def _cell(value: float, places: int) -> str:
    return f"{value:,.{places}f}" if math.isfinite(value) else ""


def plain_fan(fan: Fan) -> dict[str, Any]:
    """A fan for programs: quantiles by their level, null where a number is not known."""
    past, ahead = fan.times[: len(fan.past)], fan.times[len(fan.past) :]
    quantiles = {f"{level:g}": numbers(fan.quantiles[:, n]) for n, level in enumerate(LEVELS)}
    known = bool(np.isfinite(fan.came).any())
    found: dict[str, Any] = {
        "name": fan.name,
        "times": {"past": list(past), "ahead": list(ahead)},
        "past": numbers(fan.past),
        "mean": numbers(fan.mean),
        "quantiles": quantiles,
        "actual": numbers(fan.came) if known else None,
    }
    if fan.paths is not None:
        found["paths"] = [numbers(path) for path in fan.paths]
    return found


def numbers(values: Sequence[float] | np.ndarray) -> list[float | None]:
    """Numbers as JSON has them: null where one is missing."""
    return [float(value) if math.isfinite(value) else None for value in values]
