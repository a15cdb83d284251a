"""Single steps of hidden regimes: the chances of the states, row by row."""

from collections.abc import Callable, Sequence

import numpy as np
from jaxtyping import Float

from ..emissions.regimes import Regimes
from ..foreseen import LEVELS
from ..lattice.readable import add
from ..model import State

Check = Callable[[Float[np.ndarray, "rows width"]], None]


class _Walk:
    """Forward sums, one after another, in nats; the equations are in the lattice's `readable`."""

    def __init__(self, regimes: Sequence[Regimes], check: Check) -> None:
        self.regimes, self._check = regimes, check
        self._width = regimes[0].shown.means().shape[1]

    def begin(self) -> State:
        """Forward sums of nothing, for each walk, and how many rows were read."""
        count = len(self.regimes), len(self.regimes[0].first)
        return np.zeros(count), np.zeros(1)

    def read(self, row: Float[np.ndarray, " numbers"], state: State) -> State:
        """The forward sums with one row more."""
        (sums, steps), rows = state, row[None, : self._width].astype(np.float64)
        self._check(rows)
        found = []
        for regimes, before in zip(self.regimes, sums, strict=True):
            lattice, fits = regimes.lattice, regimes.shown.scores(rows)[0]
            ahead = add(before[:, None] + lattice.moves, axis=0) if steps[0] else lattice.first
            found.append(ahead + fits)
        return np.array(found), steps + 1


class ForecastSteps(_Walk):
    """What is next, and how likely each state is now."""

    def __init__(self, regimes: Regimes, check: Check) -> None:
        super().__init__([regimes], check)

    def step(
        self, value: Float[np.ndarray, " numbers"], state: State
    ) -> tuple[Float[np.ndarray, "rows width"], State]:
        """The mean of the next step and its quantiles, and the state with this row."""
        (sums, steps), (regimes,) = self.read(value, state), self.regimes
        sums = sums - add(sums)[:, None]  # what was read is not asked again: only the chances are
        ahead = np.exp(sums) @ regimes.moves
        quantiles = regimes.shown.quantiles(ahead, np.array(LEVELS))[0]
        return np.concatenate([ahead @ regimes.shown.means(), quantiles.T]), (sums, steps)

    def posterior(self, state: State) -> dict[str, Float[np.ndarray, "..."]]:
        """The chances of the states, given all rows so far; before the first, of being first."""
        sums, steps = state
        return {"states": np.exp(sums[0]) if steps[0] else self.regimes[0].first.copy()}


class LabelSteps(_Walk):
    """How likely each label is: of the whole as far as it was read, or of the last row."""

    def __init__(
        self, regimes: Sequence[Regimes], prior: Float[np.ndarray, " labels"] | None, check: Check
    ) -> None:
        super().__init__(regimes, check)
        self._prior = prior

    def step(
        self, value: Float[np.ndarray, " numbers"], state: State
    ) -> tuple[Float[np.ndarray, " labels"], State]:
        """Log-probabilities of the labels, and the state with this row."""
        sums, steps = self.read(value, state)
        if self._prior is None:
            scores = sums[0]
        else:
            with np.errstate(divide="ignore"):
                scores = add(sums) + np.log(self._prior)
        return scores - add(scores), (sums, steps)
