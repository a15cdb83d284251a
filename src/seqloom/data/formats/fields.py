"""From the fields of one line to a row: what tab-separated and comma-separated files share."""

from dataclasses import dataclass

from .found import Fault, Reading, Request, Row, count
from .roles import as_numbers, by_number

_WORDS = {1: "one", 2: "two", 3: "three", 4: "four"}
_ORDINALS = {1: "first", 2: "second", 3: "third", 4: "fourth", 5: "fifth", 6: "sixth"}
DELIMITER_NAMES = {"\t": "tab", ",": "comma", ";": "semicolon", "|": "bar", " ": "space"}


@dataclass(frozen=True)
class Record:
    """The fields of one row, with the line where it begins and that line's text."""

    line: int
    fields: list[str]
    text: str


@dataclass(frozen=True)
class Layout:
    """Where each role stands; `width` is the exact number of fields, where there must be one."""

    roles: tuple[str, ...]
    places: tuple[int, ...]
    width: int | None
    delimiter: str
    has_header: bool = False
    more: bool = False
    may_be_empty: frozenset[str] = frozenset()


def numbered(request: Request, delimiter: str) -> Layout | None:
    """The layout the user gave by numbers; what stands in other columns does not matter."""
    if not as_numbers(request.columns):
        return None
    places = by_number(request.path, request.roles, request.columns)
    empty = request.rules.empty
    return Layout(request.roles, places, None, delimiter, more=request.more, may_be_empty=empty)


def take(record: Record, layout: Layout, reading: Reading[Row]) -> None:
    """Add a record to what was read: as a row, a blank line or a fault."""
    if not any(field.strip() for field in record.fields):
        reading.blank.append(record.line)
        return
    fault = faulty(record, layout)
    if fault is not None:
        reading.faults.append(fault)
        return
    fields = [record.fields[place] for place in layout.places]
    if layout.more:
        extra = record.fields[max(layout.places) + 1 :]
        fields += [field for field in extra if field.strip()]
    reading.rows.append(Row(record.line, tuple(fields)))


def faulty(record: Record, layout: Layout) -> Fault | None:
    """What is wrong with a record, if anything is."""
    return _wrong_count(record, layout) or _empty_side(record, layout)


def _wrong_count(record: Record, layout: Layout) -> Fault | None:
    """A fault if the row has too few or too many fields."""
    found, least = len(record.fields), max(layout.places) + 1
    expected = least if layout.width is None else layout.width
    if found == expected or (layout.width is None and found > least):
        return None
    at_least = "at least " if layout.width is None else ""
    reason = f"row has {count(found, 'field')}, expected {at_least}{expected}"
    mark, note = _mark(record, expected, layout.delimiter)
    return Fault("D011", record.line, reason, record.text, mark, note, _remedies(found, layout))


def _empty_side(record: Record, layout: Layout) -> Fault | None:
    """A fault if there is nothing in the field of some role."""
    for role, place in zip(layout.roles, layout.places, strict=True):
        if not record.fields[place].strip() and role not in layout.may_be_empty:
            return Fault("D014", record.line, f'the field "{role}" is empty', record.text)
    return None


def _mark(record: Record, expected: int, delimiter: str) -> tuple[tuple[int, int] | None, str]:
    """The part of the line that is too much, or its end where something is missing."""
    end = len(record.text)
    if len(record.fields) < expected:
        sign = DELIMITER_NAMES.get(delimiter, delimiter)
        return (end, end + 1), f"expected a {sign} and the {_ordinal(len(record.fields) + 1)} field"
    # With quotation marks the length of the fields is not their length in the line.
    if '"' in record.text and delimiter != "\t":
        return None, ""
    start = sum(len(field) + 1 for field in record.fields[:expected])
    note = f"{_ordinal(expected + 1)} field" + (" on" if len(record.fields) > expected + 1 else "")
    return ((start, end) if start < end else (start - 1, end)), note


def _remedies(found: int, layout: Layout) -> tuple[str, ...]:
    """What to type, or to change in the file."""
    wanted = len(layout.roles)
    if layout.width is None or found < layout.width:
        return ()
    if layout.has_header:
        sign = DELIMITER_NAMES.get(layout.delimiter, layout.delimiter)
        return (f'put "…" around a field that holds a {sign}',)
    numbers = ",".join(str(number) for number in range(1, wanted + 1))
    only = "field" if wanted == 1 else _WORDS.get(wanted, str(wanted))
    return (f"--columns {numbers}   use only the first {only}",)


def _ordinal(number: int) -> str:
    return _ORDINALS.get(number, f"{number}th")
