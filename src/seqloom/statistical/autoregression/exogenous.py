"""What drives a series beside its own past: a constant, a trend, a season, inputs."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from ...errors import ModelError
from ...signature import Series


@dataclass(frozen=True)
class Driving:
    """Which columns there are, in this order: a constant, the number of the step, seasons, inputs.

    Beside a constant, the first place of a season has no column: it is what the others are measured
    from.
    """

    intercept: bool
    trend: bool
    season: bool
    period: int
    clock: bool
    known: int

    @classmethod
    def of(cls, space: Series, intercept: bool, trend: bool, season: bool) -> "Driving":
        """What was asked for, of series that have a clock where they need one."""
        if (trend or season) and not space.clock:
            raise _no_clock("trend" if trend else "season")
        if season and space.period < 2:
            raise no_season("season")
        return cls(intercept, trend, season, space.period, space.clock, space.known)

    @property
    def inputs(self) -> int:
        """How many inputs there are, the clock not being one."""
        return self.known - self.clock

    @property
    def width(self) -> int:
        """How many columns there are."""
        places = self.period - self.intercept if self.season else 0
        return self.intercept + self.trend + places + self.inputs

    def rows(
        self, known: Float[np.ndarray, "time known"], later: int = 0
    ) -> Float[np.ndarray, "time columns"]:
        """The columns at each step, or so many steps later, the inputs being the same."""
        known = np.asarray(known, dtype=np.float64)
        found = [np.ones((len(known), 1))] if self.intercept else []
        if self.clock:
            steps = known[:, 0] + later
            if self.trend:
                found.append(steps[:, None])
            if self.season:
                places = np.mod(np.rint(steps).astype(np.int64), self.period)
                dummies = places[:, None] == np.arange(self.period)
                found.append(dummies[:, int(self.intercept) :].astype(np.float64))
        return np.concatenate([*found, known[:, int(self.clock) :]], axis=1)


def _no_clock(option: str) -> ModelError:
    return ModelError(
        "M442",
        f"model.{option} needs the number of every step, and the task does not give it",
        help=["--set task.clock=true"],
    )


def no_season(option: str) -> ModelError:
    """For an option that needs a season where there is none."""
    return ModelError(
        "M445",
        f"model.{option}: these series have no season, as their period is 1",
        help=["--set task.period=12   for months, 24 for hours", f"leave model.{option} out"],
    )
