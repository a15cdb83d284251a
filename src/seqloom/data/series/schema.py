"""What is known of a file of series beside its numbers: a codec.

Numbers as files write them, and what stands for one that is missing.

A series as it was recorded: numbers at equal steps of time, and what is known beside them.

The number of every step of a series, counted from where it began in training: a codec.
"""

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from jaxtyping import Float

from ...errors import DataError, Place
from .dates import NotDatesError, find_step, read_dates

MISSING = frozenset({"", "na", "n/a", "nan", "null", "none", "?", "-"})
_DECIMAL = re.compile(r"[+-]?\d+,\d+")


def number_of(text: str, *, comma: bool = False) -> float | None:
    """A cell as a number, NaN where it is missing; None where it is text.

    With `comma`, a number may be written as 1,5.
    """
    try:
        return float(text) if "_" not in text else None  # Python would read 1_000
    except ValueError:
        written = text.strip()
    if written.casefold() in MISSING:
        return math.nan
    return float(written.replace(",", ".")) if comma and _DECIMAL.fullmatch(written) else None


def typed(text: str) -> list[float]:
    """Numbers as people type them, with blanks or commas between them; NaN where one is missing."""
    found = []
    for part in re.split(r"\s*,\s*|\s+", text.strip()) if text.strip() else []:
        number = number_of(part)
        if number is None or math.isinf(number):
            raise DataError(
                "D224",
                f"{part!r} is not a number",
                help=["type numbers with blanks between them; nan stands for a missing one"],
            )
        found.append(number)
    return found


def typed_rows(text: str, width: int) -> Float[np.ndarray, "time {width}"]:
    """Steps as people type them: with a ; between them where a step has several numbers."""
    rows = [typed(step) for step in text.split(";") if step.strip()]
    if width == 1:
        rows = [[number] for row in rows for number in row]
    for row in rows:
        if len(row) != width:
            raise DataError(
                "D224",
                f"a step has {len(row)} numbers; a step of this model has {width}",
                help=["write steps with ; between them, as 1 2; 3 4"],
            )
    return np.array(rows, dtype=np.float64).reshape(-1, width)


def shown_rows(values: Float[np.ndarray, "time width"]) -> list[tuple[str, bool]]:
    """Steps in short, as people read them, each with whether none of its numbers is missing."""
    return [(" ".join(f"{one:.6g}" for one in row), not np.isnan(row).any()) for row in values]


@dataclass(frozen=True, eq=False)
class Recorded:
    """One series: NaN where a number is missing; inputs are known beforehand, and never missing.

    `times` names the steps as the file does, or by their number from 1 on. A series may have one
    label, or one at each step.
    """

    name: str
    values: Float[np.ndarray, "time width"]
    known: Float[np.ndarray, "time known"]
    times: tuple[str, ...] = ()
    label: str = ""
    labels: tuple[str, ...] = ()
    line: int = 0  # where it begins in its file

    def __len__(self) -> int:
        return len(self.values)


@dataclass(frozen=True)
class Recording:
    """All series of a file, what their columns are called, and how they were read."""

    series: list[Recorded]
    names: tuple[str, ...]  # of the numbers that are observed
    known: tuple[str, ...] = ()  # of the inputs
    step: str = ""  # from one row to the next: "hour", "month", "7 days"; empty without dates
    period: int = 1  # after how many steps a season probably comes again, by the step alone
    said: list[str] = field(default_factory=list)  # what was guessed, a sentence each


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


USUAL_HORIZON = 10  # where no season says how far to look
SEASONS_NEEDED = 2  # a series shorter than that shows no season


class Outline:
    """The columns, the step, the season and how far forecasts look.

    A period or horizon of 0 is chosen by the step: a season is a day of hours, a week of days, a
    year of months; and a forecast is as long as a season, or 10 steps where there is none.
    """

    def __init__(self, period: int = 0, horizon: int = 0) -> None:
        self.period, self.horizon = period, horizon
        self.width, self.step, self.is_learned = 1, "", False
        self.names: tuple[str, ...] = ()
        self.known: tuple[str, ...] = ()

    def learn(self, recording: Recording, width: int, path: str) -> list[str]:
        """From the training file; what was chosen is told, a sentence each."""
        longest = max(len(one) for one in recording.series)
        self.names, self.known, self.step = recording.names, recording.known, recording.step
        self.width, said = width, []
        if self.period >= longest:
            raise DataError(
                "D221",
                f"a season of {self.period:,} steps is longer than the longest series"
                f" ({longest:,} steps)",
                place=Place(path),
                help=[f"--set task.period=1   no season, or one of less than {longest:,} steps"],
            )
        if not self.period:
            has_season = longest >= SEASONS_NEEDED * recording.period
            self.period = recording.period if has_season else 1
            if self.period > 1:
                said.append(f"a season has {self.period} steps, by the dates (--set task.period)")
        if not self.horizon:
            usual = self.period if self.period > 1 else USUAL_HORIZON
            self.horizon = max(1, min(usual, longest // 4))
            ahead = "one step is" if self.horizon == 1 else f"{self.horizon} steps are"
            said.append(f"{ahead} forecast (--set task.horizon)")
        self.is_learned = True
        return said

    def must_match(self, recording: Recording, width: int, path: str) -> None:
        """Refuse a file that has other columns than that of training."""
        if len(recording.known) != len(self.known):
            raise DataError(
                "D223",
                f"the file has {_named(recording.known)} as inputs, and training had"
                f" {_named(self.known)}",
                place=Place(path),
                help=["--columns known=COLUMN+COLUMN   the inputs, in the same order"],
            )
        if width != self.width:
            raise DataError(
                "D223",
                f"a step has {width} numbers here, and in training it had {self.width}",
                place=Place(path),
                help=[f"--columns value={'+'.join(self.names)}"] if self.width > 1 else [],
            )

    def state(self) -> Any:
        return dict(vars(self))

    def restore(self, state: Any) -> None:
        for name, value in state.items():
            setattr(self, name, tuple(value) if isinstance(value, list) else value)


def _named(names: tuple[str, ...]) -> str:
    return ", ".join(names) or "nothing"
