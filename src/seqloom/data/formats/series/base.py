"""Raw time series: the rows of a file before their dates are parsed."""

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from jaxtyping import Float

from ....errors import DataError, Place


@dataclass
class RawSeries:
    """The rows of one series in the order of the file, with their lines; times are texts."""

    name: str
    lines: list[int]
    values: Float[np.ndarray, "time width"]
    known: Float[np.ndarray, "time known"]
    times: list[str] = field(default_factory=list)  # empty: rows are time steps
    labels: list[str] = field(default_factory=list)
    label: str = ""

    def __len__(self) -> int:
        return len(self.values)


@dataclass
class RawSeriesFile:
    """All raw series of a file, the names of their columns, and notes on what was guessed."""

    path: Path
    series: list[RawSeries]
    names: tuple[str, ...]
    known: tuple[str, ...] = ()
    time: str = ""  # the name of the column of times, if there is one
    notes: list[str] = field(default_factory=list)
    are_named: bool = False  # whether a header names the columns
    are_chosen: bool = False  # whether the user did


def infinite_value(path: Path, line: int, text: str, column: str) -> DataError:
    """An error for an infinite value."""
    return DataError(
        "D203",
        f'{text.strip()} in "{column}" is not finite',
        place=Place(str(path), line),
        help=["leave the cell empty if the value is missing"],
    )


def no_rows(path: Path) -> DataError:
    """An error for a file without rows."""
    return DataError("D023", f'"{path.name}" has no rows to use', place=Place(str(path)))
