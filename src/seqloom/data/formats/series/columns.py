"""Which columns of a table are times, names of series, numbers and inputs: as said, or guessed."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ....errors import DataError, Place, UsageError, nearest
from ...series.dates import NotDatesError, read_dates
from ..columns_roles import shorten

ROLES = ("time", "value", "id", "known", "static", "label")
_TIMES = {
    *("time", "date", "datetime", "timestamp", "ds", "month", "year", "day", "week", "quarter"),
    *("hour", "period", "date_time", "t", "step"),
}
_NAMES = {"id", "unique_id", "item_id", "series", "series_id", "name", "item", "store", "sensor"}
_VALUES = ("value", "y", "target")
NONE = "none"  # instead of a column: there is none


@dataclass(frozen=True)
class Look:
    """What can be seen of a table: its header, the kind of each column, and what stands in it."""

    path: Path
    header: list[str]
    kinds: Sequence[str]
    cells: list[list[str]]
    width: int  # how many fields most rows have

    def free(self, taken: set[int]) -> list[int]:
        """The columns that have no role yet."""
        return [place for place in range(self.width) if place not in taken]

    def title(self, place: int) -> str:
        """The name of a column, small and plain."""
        return self.header[place].strip().casefold().replace(" ", "_")

    def is_dates(self, place: int) -> bool:
        """Whether all of a column are dates, and not mere numbers."""
        cells = self.cells[place]
        if self.kinds[place] != "text" or not cells:
            return False
        try:
            read_dates(cells)
        except NotDatesError as error:
            # One that is wrong among many is told later; so is an order that cannot be.
            return "two dates" in error.reason or 2 * error.place > len(cells)
        return True

    def has_doubles(self, place: int) -> bool:
        """Whether something stands in a column twice."""
        return len(set(self.cells[place])) < len(self.cells[place])


@dataclass(frozen=True)
class Columns:
    """The place of each role, from 0."""

    layout: str  # rows: one series a row; else one step a row
    time: int | None
    id: int | None
    value: tuple[int, ...]
    known: tuple[int, ...] = ()
    static: tuple[int, ...] = ()
    label: int | None = None

    @property
    def used(self) -> list[int]:
        """All columns that have a role."""
        single = [place for place in (self.time, self.id, self.label) if place is not None]
        return [*single, *self.value, *self.known, *self.static]


def choose(look: Look, given: dict[str, str], layout: str, said: list[str]) -> Columns:
    """What the user said, and for the rest what can be told, with a sentence for each guess."""
    places = {role: _places(look, given[role]) for role in ROLES if role in given}
    taken = {place for found in places.values() for place in found}
    label = _one("label", places)
    name = _one("id", places)
    time = _one("time", places)
    if layout == "rows" or (layout == "auto" and _is_rows(look, places, taken)):
        return _rows(look, places, name, label, said)
    if "time" not in places:
        time = _time(look, taken, said)
    taken |= {time} if time is not None else set()
    if "id" not in places:
        name = _name(look, time, taken, layout, said)
    taken |= {name} if name is not None else set()
    values = places.get("value") or _values(look, taken, name is not None, said)
    if not values:
        raise _no_numbers(look)
    known, static = places.get("known", ()), places.get("static", ())
    return Columns("steps", time, name, tuple(values), tuple(known), tuple(static), label)


def _one(role: str, places: dict[str, list[int]]) -> int | None:
    """The column of a role that has one."""
    found = places.get(role, [])
    if len(found) > 1:
        raise UsageError(
            "U301", f"{role} is one column, not {len(found)}", help=[f"--columns {role}=NAME"]
        )
    return found[0] if found else None


def _places(look: Look, names: str) -> list[int]:
    """Columns by their names, or by their numbers from 1 on; those with + between are several."""
    if names.casefold() == NONE and NONE not in look.header:
        return []
    parts = [names] if names in look.header else [part.strip() for part in names.split("+")]
    found = []
    for part in parts:
        plain = [title.casefold() for title in look.header]
        if part in look.header:
            found.append(look.header.index(part))
        elif plain.count(part.casefold()) == 1:
            found.append(plain.index(part.casefold()))
        elif re.fullmatch("[0-9]{1,6}", part) and 1 <= int(part) <= len(look.header):
            found.append(int(part) - 1)
        else:
            raise _no_column(look, part)
    return found


def _is_rows(look: Look, places: dict[str, list[int]], taken: set[int]) -> bool:
    """Whether each row is a series: a name of its own, and many numbers behind it."""
    first = places["id"][0] if places.get("id") else 0
    numbers = [p for p, kind in enumerate(look.kinds) if kind == "number" and p not in taken]
    if {"time", "value", "known"} & set(places) or len(numbers) < 2:  # noqa: PLR2004
        return False
    if look.kinds[first] != "text" or look.has_doubles(first) or look.is_dates(first):
        return False
    others = [kind for place, kind in enumerate(look.kinds) if place not in {first, *taken}]
    return look.title(first) not in _TIMES and "text" not in others


def _rows(
    look: Look,
    places: dict[str, list[int]],
    name: int | None,
    label: int | None,
    said: list[str],
) -> Columns:
    """The first column that is no number names the series."""
    if name is None and look.kinds[0] == "text" and label != 0:
        name = 0
    said.append(
        "each row is a series of its own"
        + (f', named by "{look.header[name]}"' if name is not None else "")
    )
    used = {name, label, *places.get("static", [])}
    rest = tuple(place for place in range(len(look.header)) if place not in used)
    return Columns("rows", None, name, rest, static=tuple(places.get("static", ())), label=label)


def _time(look: Look, taken: set[int], said: list[str]) -> int | None:
    """The column of times: by its name, or because all of it are dates."""
    free = look.free(taken)
    named = [place for place in free if look.title(place) in _TIMES]
    dated = [place for place in free if look.is_dates(place)]
    both = [place for place in named if place in dated]
    found = next(iter([*both, *dated, *named]), None)
    if found is not None and len(free) == 1:  # a single column is what is to be forecast
        found = None if look.kinds[found] == "number" else found
    if found is not None:
        said.append(f'"{look.header[found]}" is read as the time')
    return found


def _name(
    look: Look, time: int | None, taken: set[int], layout: str, said: list[str]
) -> int | None:
    """The column that names the series: by its name, or because times come again and again."""
    if layout == "wide" or time is None:
        return None
    free = look.free(taken)
    named = [place for place in free if look.title(place) in _NAMES and look.has_doubles(place)]
    worded = [place for place in free if look.kinds[place] == "text" and look.has_doubles(place)]
    again = look.has_doubles(time) or layout == "long"
    found = next(iter(named if again else []), None)
    if found is None and again and len(worded) == 1:
        found = worded[0]
    if found is None and layout == "long":
        raise _no_column(look, "id")
    if found is not None:
        said.append(f'"{look.header[found]}" is read as the name of the series')
    return found


def _values(look: Look, taken: set[int], is_long: bool, said: list[str]) -> list[int]:
    """Every column of numbers that is nothing else; of a long file the one called so."""
    free = look.free(taken)
    numbers = [p for p in free if look.kinds[p] == "number"]
    called = [p for p in numbers if look.title(p) in _VALUES]
    found = called if is_long and len(called) == 1 else numbers
    if not found:  # a column without any number is told by itself
        found = [p for p in free if look.kinds[p] == "empty"][:1]
    left = [look.header[p] for p in free if p not in found and look.kinds[p] != "empty"]
    if found:
        names = [f'"{look.header[p]}"' for p in found]
        said.append(f"forecast: {shorten(', '.join(names), 60)}")
    if left:
        said.append(f"not used: {shorten(', '.join(left), 60)}")
    return found


def _no_numbers(look: Look) -> DataError:
    return DataError(
        "D201",
        f'"{look.path.name}" has no column of numbers',
        place=Place(str(look.path)),
        notes=[f"found: {shorten(', '.join(look.header))}"],
        help=["--columns time=COLUMN,value=COLUMN   say which column is what"],
    )


def _no_column(look: Look, name: str) -> DataError:
    near = nearest(name, look.header)
    return DataError(
        "D010",
        f'"{look.path.name}" has no column "{name}"',
        place=Place(str(look.path), 1),
        notes=[f"found: {shorten(', '.join(look.header))}"],
        help=[f"did you mean {near!r}?"] if near else [f"columns are {', '.join(ROLES)}=NAME"],
    )
