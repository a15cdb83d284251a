"""The number of every step of a series, counted from where it began in training: a codec."""

import re
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from jaxtyping import Float

from .dates import NotDatesError, find_step, read_dates
from .recorded import Recorded


class Clock:
    """Numbers steps, where it is on; else there is no column.

    A series of a later file goes on counting by its dates. Without dates, or under a name that
    training did not show, a series begins at 0.
    """

    def __init__(self, is_on: bool = False) -> None:
        self.is_on = is_on
        self._starts: dict[str, str] = {}

    def learn(self, series: Iterable[Recorded]) -> None:
        """Where each series begins."""
        self._starts = {one.name: one.times[0] for one in series if self.is_on and one.times}

    def column(self, series: Recorded, begin: int, end: int) -> Float[np.ndarray, "time columns"]:
        """The numbers of these rows, as one column or none."""
        if not self.is_on:
            return np.zeros((end - begin, 0))
        start = self._starts.get(series.name)
        late = steps_between(start, series.times) if start is not None and series.times else 0
        return np.arange(begin + late, end + late, dtype=np.float64)[:, None]

    def state(self) -> Any:
        return {"starts": self._starts}

    def restore(self, state: Any) -> None:
        self._starts = dict(state["starts"])


def steps_between(start: str, times: Sequence[str]) -> int:
    """How many steps after a date or a number a series begins; 0 where its steps have neither."""
    if times[0] == start or len(times) == 1:
        return 0
    numbers = [start, *times[:2]]
    if all(re.fullmatch(r"-?\d{1,15}", number) for number in numbers):
        first, here, next_one = map(int, numbers)
        return (here - first) // (next_one - here)
    try:
        dates = read_dates([start, *times]).values
    except NotDatesError:
        return 0
    step = find_step([dates[1:]])
    return (step.number(dates[1]) - step.number(dates[0])) // step.count if step else 0
