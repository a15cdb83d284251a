"""What of a series is read before a forecast: the rows at its end, and what they are called."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from ..batch import Batch, Sequences
from ..data.recorded import Recorded
from ..forecasting import AsksAhead
from ..forms import Series, Space
from ..model import Model
from ..task import Task

MISSING = "–"  # how a number is shown that was not observed


@dataclass(frozen=True)
class Reach:
    """How much of a past a model reads: so many rows, so many of them at a time.

    A model that does not say reads all of them, one by one.
    """

    rows: int
    together: int

    @classmethod
    def of(cls, model: Model) -> "Reach":
        """What the model says of itself."""
        return cls(getattr(model, "look_back", 0), getattr(model, "patch", 1))

    def places(self, past: int) -> list[range]:
        """The rows that each place stands for; all but the first place are full."""
        first = max(0, past - self.rows) if self.rows else 0
        ends = range(past, first, -self.together)
        return [range(max(first, end - self.together), end) for end in ends][::-1]


@dataclass(frozen=True, eq=False)
class Past:
    """The end of a series as a model reads it, to say what comes one step later.

    Args:
        names: what its places are called: their times, of several rows the first and the last.
        numbers: what was observed there, in the units of the file; of several rows their mean, of
            several numbers the first.
        rows: of the series, for each place.
        batch: the rows that are read, with the step ahead.
    """

    names: list[str]
    rows: list[range]
    numbers: Float[np.ndarray, " place"]
    batch: Batch

    @classmethod
    def of(cls, model: Model, task: Task, series: Recorded) -> "Past":
        """Of a series, at its end."""
        if not isinstance(task, AsksAhead):
            raise TypeError(f"{type(task).__name__} forecasts nothing")
        window = task.ahead(series, 1)
        rows = np.asarray(task.ask(window), dtype=np.float64)
        past = Reach.of(model).places(len(rows) - 1)
        places = [range(window.begin + few[0], window.begin + few[-1] + 1) for few in past]
        ahead = np.zeros((1, series.values.shape[1]))
        return cls(
            [_name(window.series, place) for place in places],
            places,
            np.array([_mean(window.series, place) for place in places]),
            Batch(Sequences.pad([rows]), Sequences.pad([ahead])),
        )

    def lesson(self) -> Batch:
        """The last number that was observed, to be foreseen from those before it."""
        rows, width = self.batch.source.values[0], self.batch.target.values.shape[-1]
        seen = np.flatnonzero(np.isfinite(rows[:, :width]).any(1))
        end = int(seen[-1]) + 1 if len(seen) else len(rows)
        rows, target = rows[:end].copy(), rows[end - 1 : end, :width].copy()
        rows[-1, :width] = np.nan
        return Batch(Sequences.pad([rows]), Sequences.pad([target]))

    def shown(self) -> dict[str, str]:
        """Its numbers as they are written, by the names of their places."""
        return dict(zip(self.names, map(written, self.numbers.tolist()), strict=True))


def written(number: float) -> str:
    """A number as short as a rail needs it."""
    return f"{number:.4g}" if np.isfinite(number) else MISSING


def sample(model: Model, source: Space, target: Space, most: int) -> tuple[Batch, int]:
    """A short series of zeros with one step ahead, and how many places of it are read."""
    if not isinstance(source, Series) or not isinstance(target, Series):
        raise TypeError("series are forecast from series")
    reach = Reach.of(model)
    past = min(most * reach.together, reach.rows or most * reach.together)
    rows = np.zeros((past + 1, source.width + source.known))
    rows[-1, : source.width] = np.nan
    ahead = Sequences.pad([np.zeros((1, target.width))])
    return Batch(Sequences.pad([rows]), ahead), len(reach.places(past))


def _name(series: Recorded, rows: range) -> str:
    first, last = series.times[rows[0]], series.times[rows[-1]]
    return first if len(rows) == 1 else f"{first} … {last}"


def _mean(series: Recorded, rows: range) -> float:
    few = series.values[rows[0] : rows[-1] + 1, 0]
    few = few[np.isfinite(few)]
    return float(few.mean()) if len(few) else float("nan")
