"""Column roles in tables of time series: time, id, value, known and static inputs, label.

As the user says (`--columns`), or guessed.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ....errors import DataError, Place, UsageError, nearest
from ...series.date_styles import DateParseError, are_compact_dates, read_dates
from ..columns_roles import shorten

ROLES = ("time", "value", "id", "known", "static", "label")
_TIMES = {
    *("time", "date", "datetime", "timestamp", "ds", "month", "year", "day", "week", "quarter"),
    *("hour", "period", "date_time", "t", "step"),
}
_NAMES = {"id", "unique_id", "item_id", "series", "series_id", "name", "item", "store", "sensor"}
_VALUES = ("value", "y", "target")
COMPACT_LENGTHS = (8, 10, 12, 14)  # of dates of digits alone; six digits may be any number
NO_COLUMN = "none"  # as in time=none: no column has this role


@dataclass(frozen=True)
class TableProfile:
    """Profile of a table: its header, and the kind and the cells of each column."""

    path: Path
    header: list[str]
    kinds: Sequence[str]
    cells: list[list[str]]
    num_fields: int  # of most rows

    def unassigned(self, taken: set[int]) -> list[int]:
        """The columns without a role yet."""
        return [column for column in range(self.num_fields) if column not in taken]

    def normalized_name(self, column: int) -> str:
        """The name of a column in lower case, with underscores."""
        return self.header[column].strip().casefold().replace(" ", "_")

    def is_dates(self, column: int) -> bool:
        """Whether all cells of a column are dates, not just numbers; 20230131 is a date."""
        cells = self.cells[column]
        if self.kinds[column] == "number":
            return are_compact_dates(cells, COMPACT_LENGTHS)
        if self.kinds[column] != "text" or not cells:
            return False
        try:
            read_dates(cells)
        except DateParseError as error:
            # A single wrong date, or an ambiguous order of day and month, is an error later.
            return "two dates" in error.reason or 2 * error.index > len(cells)
        return True

    def has_duplicates(self, column: int) -> bool:
        """Whether a value occurs twice in a column."""
        return len(set(self.cells[column])) < len(self.cells[column])


@dataclass(frozen=True)
class SeriesColumns:
    """The columns of each role, from 0."""

    layout: str  # rows: a series a row; steps: a time step a row
    time: int | None
    id: int | None
    value: tuple[int, ...]
    known: tuple[int, ...] = ()
    static: tuple[int, ...] = ()
    label: int | None = None

    @property
    def used(self) -> list[int]:
        """All columns that have a role."""
        single = [column for column in (self.time, self.id, self.label) if column is not None]
        return [*single, *self.value, *self.known, *self.static]


def assign_columns(
    profile: TableProfile, given: dict[str, str], layout: str, notes: list[str]
) -> SeriesColumns:
    """Assign roles to columns: as the user says, and else guessed, with a note for each guess."""
    columns = {role: _columns(profile, given[role]) for role in ROLES if role in given}
    taken = {column for found in columns.values() for column in found}
    label = _one("label", columns)
    name = _one("id", columns)
    time = _one("time", columns)
    if layout == "rows" or (layout == "auto" and _is_rows(profile, columns, taken)):
        return _rows(profile, columns, name, label, notes)
    if "time" not in columns:
        time = _time(profile, taken, notes)
    taken |= {time} if time is not None else set()
    if "id" not in columns:
        name = _name(profile, time, taken, layout, notes)
    taken |= {name} if name is not None else set()
    values = columns.get("value") or _values(profile, taken, name is not None, notes)
    if not values:
        raise _no_numbers(profile)
    known, static = columns.get("known", ()), columns.get("static", ())
    return SeriesColumns("steps", time, name, tuple(values), tuple(known), tuple(static), label)


def _one(role: str, columns: dict[str, list[int]]) -> int | None:
    """The column of a role that has only one; None if it has none."""
    found = columns.get(role, [])
    if len(found) > 1:
        raise UsageError(
            "U301", f"{role} is one column, not {len(found)}", help=[f"--columns {role}=NAME"]
        )
    return found[0] if found else None


def _columns(profile: TableProfile, names: str) -> list[int]:
    """Columns that the user named, or numbered from 1 on; several are joined by +."""
    if names.casefold() == NO_COLUMN and NO_COLUMN not in profile.header:
        return []
    parts = [names] if names in profile.header else [part.strip() for part in names.split("+")]
    found = []
    for part in parts:
        plain = [title.casefold() for title in profile.header]
        if part in profile.header:
            found.append(profile.header.index(part))
        elif plain.count(part.casefold()) == 1:
            found.append(plain.index(part.casefold()))
        elif re.fullmatch("[0-9]{1,6}", part) and 1 <= int(part) <= len(profile.header):
            found.append(int(part) - 1)
        else:
            raise _no_column(profile, part)
    return found


def _is_rows(profile: TableProfile, columns: dict[str, list[int]], taken: set[int]) -> bool:
    """Whether each row is a series: a unique name, and at least two numbers."""
    first = columns["id"][0] if columns.get("id") else 0
    numbers = [p for p, kind in enumerate(profile.kinds) if kind == "number" and p not in taken]
    if {"time", "value", "known"} & set(columns) or len(numbers) < 2:  # noqa: PLR2004
        return False
    if profile.kinds[first] != "text" or profile.has_duplicates(first) or profile.is_dates(first):
        return False
    others = [kind for column, kind in enumerate(profile.kinds) if column not in {first, *taken}]
    return profile.normalized_name(first) not in _TIMES and "text" not in others


def _rows(
    profile: TableProfile,
    columns: dict[str, list[int]],
    name: int | None,
    label: int | None,
    notes: list[str],
) -> SeriesColumns:
    """The columns of a table with a series a row; its first column may be the name."""
    if name is None and profile.kinds[0] == "text" and label != 0:
        name = 0
    notes.append(
        "each row is a series"
        + (f', named by "{profile.header[name]}"' if name is not None else "")
    )
    used = {name, label, *columns.get("static", [])}
    rest = tuple(column for column in range(len(profile.header)) if column not in used)
    return SeriesColumns(
        "rows", None, name, rest, static=tuple(columns.get("static", ())), label=label
    )


def _time(profile: TableProfile, taken: set[int], notes: list[str]) -> int | None:
    """The time column: by its name, or because all its cells are dates; None if there is none."""
    free = profile.unassigned(taken)
    named = [column for column in free if profile.normalized_name(column) in _TIMES]
    dated = [column for column in free if profile.is_dates(column)]
    both = [column for column in named if column in dated]
    found = next(iter([*both, *dated, *named]), None)
    if found is not None and len(free) == 1:  # a single column of numbers has the values
        found = None if profile.kinds[found] == "number" else found
    if found is not None:
        notes.append(f'"{profile.header[found]}" is read as the time')
    return found


def _name(
    profile: TableProfile, time: int | None, taken: set[int], layout: str, notes: list[str]
) -> int | None:
    """The column with the names of series: by its name, or because times are repeated."""
    if layout == "wide" or time is None:
        return None
    free = profile.unassigned(taken)
    named = [
        column
        for column in free
        if profile.normalized_name(column) in _NAMES and profile.has_duplicates(column)
    ]
    texts = [column for column in free if profile.kinds[column] == "text"]
    texts = [column for column in texts if profile.has_duplicates(column)]
    is_long = profile.has_duplicates(time) or layout == "long"
    found = next(iter(named if is_long else []), None)
    if found is None and is_long and len(texts) == 1:
        found = texts[0]
    if found is None and layout == "long":
        raise _no_column(profile, "id")
    if found is not None:
        notes.append(f'"{profile.header[found]}" is read as the name of the series')
    return found


def _values(profile: TableProfile, taken: set[int], is_long: bool, notes: list[str]) -> list[int]:
    """The value columns: all other columns of numbers; of a long table the one with that name."""
    free = profile.unassigned(taken)
    numbers = [p for p in free if profile.kinds[p] == "number"]
    named = [p for p in numbers if profile.normalized_name(p) in _VALUES]
    found = named if is_long and len(named) == 1 else numbers
    if not found:  # a column of missing values only is an error of its own, later
        found = [p for p in free if profile.kinds[p] == "empty"][:1]
    left = [profile.header[p] for p in free if p not in found and profile.kinds[p] != "empty"]
    if found:
        names = [f'"{profile.header[p]}"' for p in found]
        notes.append(f"forecast: {shorten(', '.join(names), 60)}")
    if left:
        notes.append(f"not used: {shorten(', '.join(left), 60)}")
    return found


def _no_numbers(profile: TableProfile) -> DataError:
    return DataError(
        "D201",
        f'"{profile.path.name}" has no column of numbers',
        place=Place(str(profile.path)),
        notes=[f"found: {shorten(', '.join(profile.header))}"],
        help=["--columns time=COLUMN,value=COLUMN   say which column is what"],
    )


def _no_column(profile: TableProfile, name: str) -> DataError:
    near = nearest(name, profile.header)
    return DataError(
        "D010",
        f'"{profile.path.name}" has no column "{name}"',
        place=Place(str(profile.path), 1),
        notes=[f"found: {shorten(', '.join(profile.header))}"],
        help=[f"did you mean {near!r}?"] if near else [f"columns are {', '.join(ROLES)}=NAME"],
    )
