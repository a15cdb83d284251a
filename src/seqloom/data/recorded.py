"""A series as it was recorded: numbers at equal steps of time, and what is known beside them."""

from dataclasses import dataclass, field

import numpy as np
from jaxtyping import Float


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
