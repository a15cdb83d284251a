"""Series as they stand in a file, before their dates are looked at."""

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from jaxtyping import Float

from ....errors import DataError, Place


@dataclass
class Raw:
    """The rows of one series in the order of the file, each with its line; times as texts."""

    name: str
    lines: list[int]
    values: Float[np.ndarray, "time width"]
    known: Float[np.ndarray, "time known"]
    times: list[str] = field(default_factory=list)  # none: rows are steps
    labels: list[str] = field(default_factory=list)
    label: str = ""

    def __len__(self) -> int:
        return len(self.values)


@dataclass
class Found:
    """All series of a file, what their columns are called, and what was guessed on the way."""

    path: Path
    series: list[Raw]
    names: tuple[str, ...]
    known: tuple[str, ...] = ()
    time: str = ""  # the name of the column of times, if there is one
    said: list[str] = field(default_factory=list)


def must_be_finite(path: Path, line: int, text: str, column: str) -> DataError:
    """An error for a number without bound."""
    return DataError(
        "D203",
        f'{text.strip()} in "{column}" is not finite: no model can read it',
        place=Place(str(path), line),
        help=["leave the cell empty where nothing was measured"],
    )


def no_rows(path: Path) -> DataError:
    """An error for a file in which nothing is left to read."""
    return DataError("D023", f'"{path.name}" has no rows to use', place=Place(str(path)))
