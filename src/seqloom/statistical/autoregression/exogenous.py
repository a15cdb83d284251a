"""Exogenous regressors of an autoregression: intercept, linear trend, seasonal dummies, inputs."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from ...errors import ModelError
from ...signature import Series


@dataclass(frozen=True)
class Regressors:
    """The exogenous columns, in this order: intercept, trend, seasonal dummies, inputs.

    Beside an intercept the first position of the season has no dummy variable: with one the columns
    would be collinear.
    """

    intercept: bool
    trend: bool
    season: bool
    period: int
    clock: bool
    known: int

    @classmethod
    def of(cls, space: Series, intercept: bool, trend: bool, season: bool) -> "Regressors":
        """Those that were chosen, for series that have a time index where they need one."""
        if (trend or season) and not space.clock:
            raise _no_clock("trend" if trend else "season")
        if season and space.period < 2:
            raise no_season("season")
        return cls(intercept, trend, season, space.period, space.clock, space.known)

    @property
    def inputs(self) -> int:
        """How many inputs there are; the time index is not one of them."""
        return self.known - self.clock

    @property
    def columns(self) -> int:
        """How many columns there are."""
        dummies = self.period - self.intercept if self.season else 0
        return self.intercept + self.trend + dummies + self.inputs

    def design_matrix(
        self, known: Float[np.ndarray, "time known"], later: int = 0
    ) -> Float[np.ndarray, "time columns"]:
        """The columns at each step, or so many steps later with the same inputs."""
        known = np.asarray(known, dtype=np.float64)
        found = [np.ones((len(known), 1))] if self.intercept else []
        if self.clock:
            steps = known[:, 0] + later
            if self.trend:
                found.append(steps[:, None])
            if self.season:
                positions = np.mod(np.rint(steps).astype(np.int64), self.period)
                dummies = positions[:, None] == np.arange(self.period)
                found.append(dummies[:, int(self.intercept) :].astype(np.float64))
        return np.concatenate([*found, known[:, int(self.clock) :]], axis=1)


def _no_clock(option: str) -> ModelError:
    return ModelError(
        "M442",
        f"model.{option} needs a time index, and the task does not give one",
        help=["--set task.clock=true"],
    )


def no_season(option: str) -> ModelError:
    """The error of an option that needs a season where there is none."""
    return ModelError(
        "M445",
        f"model.{option}: these series have no season, as their period is 1",
        help=["--set task.period=12   for months, 24 for hours", f"leave model.{option} out"],
    )
