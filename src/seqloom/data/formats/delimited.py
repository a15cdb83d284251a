"""From the fields of one line to a row: what tab-separated and comma-separated files share.

Several columns that are one field: text=title+body.

Tab-separated fields, without quotation: what stands between tabs is the field.
"""

from dataclasses import dataclass, replace

from ...errors import DataError
from .base import Fault, Reading, Request, Row, Rules, count
from .columns_roles import as_numbers, by_name, by_number

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


@dataclass(frozen=True)
class Joined:
    """The columns to be read as roles of their own, and how they become fields again."""

    roles: tuple[str, ...]
    columns: dict[str, str]
    empty: frozenset[str]
    widths: dict[str, int]  # how many columns each field has
    rules: Rules

    def together(self, reading: Reading[Row]) -> Reading[Row]:
        """The rows with one field for each role; of several columns one must have something."""
        if all(width == 1 for width in self.widths.values()):
            return reading
        rows, reading.rows = reading.rows, []
        for row in rows:
            fields, rest = [], list(row.fields)
            for role, width in self.widths.items():
                parts, rest = rest[:width], rest[width:]
                has_some = any(part.strip() for part in parts)
                if not has_some and role not in self.rules.empty:
                    reason = f'the field "{role}" is empty in all of its {width} columns'
                    reading.faults.append(Fault("D014", row.line, reason))
                    break
                fields.append(self.rules.between.join(parts) if width > 1 else parts[0])
            else:
                reading.rows.append(Row(row.line, (*fields, *rest)))
        return reading

    def explained(self, error: DataError, given: str) -> DataError:
        """An error of columns, in the words of the user."""
        if error.code != "D010" or all(width == 1 for width in self.widths.values()):
            return error
        help = [f"--columns {given}   names columns; those with + between them are one field"]
        return DataError(error.code, error.problem, place=error.place, notes=error.notes, help=help)


def joined(columns: dict[str, str], roles: tuple[str, ...], rules: Rules) -> Joined:
    """A role for each column that has its own name, where some fields have several."""
    found: dict[str, str] = {}
    order: list[str] = []
    empty, widths = set(rules.empty), {}
    for role in roles:
        names = [name.strip() for name in columns.get(role, "").split("+") if name.strip()]
        widths[role] = max(1, len(names))
        own = [role, *(f"{role} {number}" for number in range(2, len(names) + 1))]
        order += own
        found |= dict(zip(own, names, strict=False))
        empty |= set(own) if len(names) > 1 else set()
    return Joined(tuple(order), found, frozenset(empty), widths, rules)


def read(lines: list[str], request: Request) -> Reading[Row]:
    """One row a line, its fields by position, or by name where the first row is a header."""
    reading: Reading[Row] = Reading(delimiter="\t")
    records = [Record(number, line.split("\t"), line) for number, line in enumerate(lines, 1)]
    first = next(place for place, record in enumerate(records) if record.text.strip())
    layout, skipped = _layout(records[first:], request)
    if skipped:
        reading.header = records[first].fields
        reading.blank += [record.line for record in records[:first]]
        records = records[first + 1 :]
    for record in records:
        take(record, layout, reading)
    return reading


def _layout(records: list[Record], request: Request) -> tuple[Layout, bool]:
    """Where the roles stand, and whether the first record is a header."""
    header = [field.strip() for field in records[0].fields]
    given = numbered(request, "\t")
    if given is not None:
        return given, header_at(header, given)
    roles = request.roles
    if not request.columns and not set(roles) <= set(header):
        width, places = None if request.more else len(roles), tuple(range(len(roles)))
        layout = Layout(roles, places, width, "\t", more=request.more)
        return replace(layout, may_be_empty=request.rules.empty), False

    def values(place: int) -> list[str]:
        return [record.fields[place] for record in records[1:] if place < len(record.fields)]

    places = by_name(request.path, roles, request.columns, header, values)
    width = None if request.more else len(header)
    layout = Layout(roles, places, width, "\t", has_header=True, more=request.more)
    return replace(layout, may_be_empty=request.rules.empty), True


def header_at(fields: list[str], layout: Layout) -> bool:
    """Whether the first row only repeats the names of the roles."""
    chosen = [fields[place] for place in layout.places if place < len(fields)]
    return chosen == list(layout.roles)
