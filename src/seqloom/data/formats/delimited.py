"""Tab-separated files (TSV), and what all delimited files share: layouts, records, checks.

TSV is read without quotation marks: a field is the text between two tabs; a file in which every
field is quoted is read as CSV. Several columns can be
concatenated to one field: text=title+body.
"""

import re
from dataclasses import dataclass, replace
from typing import NamedTuple

from ...errors import DataError
from .base import BadLine, FieldRules, ParseResult, ReadRequest, Row, pluralize
from .columns_roles import all_numbers, columns_by_name, columns_by_number, shorten

_WORDS = {1: "one", 2: "two", 3: "three", 4: "four"}
_ORDINALS = {1: "first", 2: "second", 3: "third", 4: "fourth", 5: "fifth", 6: "sixth"}
QUOTED_SAMPLE = 500  # lines in which all fields are quoted, if a file is quoted
_FIELD = r'(?:"(?:[^"\t]|"")*"|[-+.\deE]*)'  # a quotation mark in a field stands there twice
_QUOTED = re.compile(rf"{_FIELD}(?:\t{_FIELD})+")
DELIMITER_NAMES = {"\t": "tab", ",": "comma", ";": "semicolon", "|": "bar", " ": "space"}


class RawRecord(NamedTuple):
    """The fields of one record, the line where it starts, and the text of that line."""

    line: int
    fields: list[str]
    text: str


@dataclass(frozen=True)
class ColumnLayout:
    """The column of each role; `num_fields` is the exact number of fields, None if any will do."""

    roles: tuple[str, ...]
    columns: tuple[int, ...]
    num_fields: int | None
    delimiter: str
    has_header: bool = False
    extra_fields: bool = False
    may_be_empty: frozenset[str] = frozenset()


def layout_by_number(request: ReadRequest, delimiter: str) -> ColumnLayout | None:
    """The layout that the user gave by numbers; other columns are ignored."""
    if not all_numbers(request.columns):
        return None
    return ColumnLayout(
        request.roles,
        columns_by_number(request.path, request.roles, request.columns),
        None,
        delimiter,
        extra_fields=request.extra_fields,
        may_be_empty=request.rules.may_be_empty,
    )


def add_record(record: RawRecord, layout: ColumnLayout, result: ParseResult[Row]) -> None:
    """Add a record to the result: as a row, a blank line or a bad line."""
    if not any(field.strip() for field in record.fields):
        result.blank.append(record.line)
        return
    bad_line = check_record(record, layout)
    if bad_line is not None:
        result.bad_lines.append(bad_line)
        return
    fields = [record.fields[column] for column in layout.columns]
    if layout.extra_fields:
        extra = record.fields[max(layout.columns) + 1 :]
        fields += [field for field in extra if field.strip()]
    result.rows.append(Row(record.line, tuple(fields)))


def check_record(record: RawRecord, layout: ColumnLayout) -> BadLine | None:
    """The bad line of a record with a wrong number of fields or an empty field; else None."""
    return _wrong_count(record, layout) or _empty_field(record, layout)


def _wrong_count(record: RawRecord, layout: ColumnLayout) -> BadLine | None:
    """A bad line if the record has too few or too many fields."""
    found, needed = len(record.fields), max(layout.columns) + 1
    expected = needed if layout.num_fields is None else layout.num_fields
    if found == expected or (layout.num_fields is None and found > needed):
        return None
    at_least = "at least " if layout.num_fields is None else ""
    reason = f"row has {pluralize(found, 'field')}, expected {at_least}{expected}"
    mark, note = _mark(record, expected, layout.delimiter)
    return BadLine("D011", record.line, reason, record.text, mark, note, _remedies(found, layout))


def _empty_field(record: RawRecord, layout: ColumnLayout) -> BadLine | None:
    """A bad line if the field of some role is empty."""
    for role, column in zip(layout.roles, layout.columns, strict=True):
        if not record.fields[column].strip() and role not in layout.may_be_empty:
            return BadLine("D014", record.line, f'the field "{role}" is empty', record.text)
    return None


def _mark(record: RawRecord, expected: int, delimiter: str) -> tuple[tuple[int, int] | None, str]:
    """The surplus part of the line to underline, or its end if a field is missing."""
    end = len(record.text)
    if len(record.fields) < expected:
        name = DELIMITER_NAMES.get(delimiter, delimiter)
        return (end, end + 1), f"expected a {name} and the {_ordinal(len(record.fields) + 1)} field"
    # With quotation marks, the length of a field is not its length in the line.
    if '"' in record.text and delimiter != "\t":
        return None, ""
    start = sum(len(field) + 1 for field in record.fields[:expected])
    note = f"{_ordinal(expected + 1)} field" + (" on" if len(record.fields) > expected + 1 else "")
    return ((start, end) if start < end else (start - 1, end)), note


def _remedies(found: int, layout: ColumnLayout) -> tuple[str, ...]:
    """The option to type, or what to change in the file."""
    needed = len(layout.roles)
    if layout.num_fields is None or found < layout.num_fields:
        return ()
    if layout.has_header:
        name = DELIMITER_NAMES.get(layout.delimiter, layout.delimiter)
        return (f'put "…" around a field that holds a {name}',)
    numbers = ",".join(str(number) for number in range(1, needed + 1))
    only = "field" if needed == 1 else _WORDS.get(needed, str(needed))
    return (f"--columns {numbers}   use only the first {only}",)


def _ordinal(number: int) -> str:
    return _ORDINALS.get(number, f"{number}th")


@dataclass(frozen=True)
class ColumnConcatenation:
    """Concatenation of columns to one field, as in text=title+body.

    Each column is read as a role of its own (text, text 2, …); `apply` joins them afterwards.
    """

    roles: tuple[str, ...]
    columns: dict[str, str]
    may_be_empty: frozenset[str]
    num_columns: dict[str, int]  # of each field
    rules: FieldRules

    def apply(self, result: ParseResult[Row]) -> ParseResult[Row]:
        """The rows with one field for each role; at least one of its columns must not be empty."""
        if all(number == 1 for number in self.num_columns.values()):
            return result
        rows, result.rows = result.rows, []
        for row in rows:
            fields, rest = [], list(row.fields)
            for role, number in self.num_columns.items():
                parts, rest = rest[:number], rest[number:]
                is_empty = not any(part.strip() for part in parts)
                if is_empty and role not in self.rules.may_be_empty:
                    reason = f'the field "{role}" is empty in all of its {number} columns'
                    result.bad_lines.append(BadLine("D014", row.line, reason))
                    break
                fields.append(self.rules.separator.join(parts) if number > 1 else parts[0])
            else:
                result.rows.append(Row(row.line, (*fields, *rest)))
        return result

    def explain(self, error: DataError, given: str) -> DataError:
        """An error about columns, with the option as the user typed it."""
        if error.code != "D010" or all(number == 1 for number in self.num_columns.values()):
            return error
        help = [f"--columns {given}   columns joined by + become one field"]
        return DataError(error.code, error.problem, place=error.place, notes=error.notes, help=help)


def concatenate_columns(
    columns: dict[str, str], roles: tuple[str, ...], rules: FieldRules
) -> ColumnConcatenation:
    """Parse columns such as {"text": "title+body"} into a role for each column."""
    found: dict[str, str] = {}
    order: list[str] = []
    may_be_empty, num_columns = set(rules.may_be_empty), {}
    for role in roles:
        names = [name.strip() for name in columns.get(role, "").split("+") if name.strip()]
        num_columns[role] = max(1, len(names))
        parts = [role, *(f"{role} {number}" for number in range(2, len(names) + 1))]
        order += parts
        found |= dict(zip(parts, names, strict=False))
        may_be_empty |= set(parts) if len(names) > 1 else set()
    return ColumnConcatenation(tuple(order), found, frozenset(may_be_empty), num_columns, rules)


def read(lines: list[str], request: ReadRequest) -> ParseResult[Row]:
    """Read TSV: one row a line, with columns by position, or by name if there is a header."""
    result: ParseResult[Row] = ParseResult(delimiter="\t")
    records = [RawRecord(number, line.split("\t"), line) for number, line in enumerate(lines, 1)]
    first = next(index for index, record in enumerate(records) if record.text.strip())
    layout, has_header = _layout(records[first:], request, result)
    if has_header:
        result.header = records[first].fields
        result.blank += [record.line for record in records[:first]]
        records = records[first + 1 :]
    for record in records:
        add_record(record, layout, result)
    return result


def _layout(
    records: list[RawRecord], request: ReadRequest, result: ParseResult[Row]
) -> tuple[ColumnLayout, bool]:
    """The column of each role, and whether the first record is a header."""
    header = [field.strip() for field in records[0].fields]
    given = layout_by_number(request, "\t")
    if given is not None:
        return given, is_header(header, given)
    roles = request.roles
    if not request.columns and not set(roles) <= set(header):
        columns = tuple(range(len(roles)))
        number = None if request.extra_fields else len(roles)
        layout = ColumnLayout(roles, columns, number, "\t", extra_fields=request.extra_fields)
        has_header = _names_a_role(records, roles)
        if has_header:
            names = shorten(", ".join(header), 60)
            result.notes.append(f"the first row is read as a header: {names}")
        return replace(layout, may_be_empty=request.rules.may_be_empty), has_header

    def values(column: int) -> list[str]:
        return [record.fields[column] for record in records[1:] if column < len(record.fields)]

    columns = columns_by_name(request.path, roles, request.columns, header, values)
    number = None if request.extra_fields else len(header)
    layout = ColumnLayout(
        roles, columns, number, "\t", has_header=True, extra_fields=request.extra_fields
    )
    return replace(layout, may_be_empty=request.rules.may_be_empty), True


def _names_a_role(records: list[RawRecord], roles: tuple[str, ...]) -> bool:
    """Whether the first row has the name of a role in its column, and no other row has."""
    cells = [[cell.strip().casefold() for cell in record.fields] for record in records]
    return len(cells) > 1 and any(
        [row[place] for row in cells if row[place : place + 1] == [role]] == [role]
        and cells[0][place : place + 1] == [role]
        for place, role in enumerate(roles)
    )


def is_quoted(lines: list[str]) -> bool:
    """Whether the fields of tab-separated lines are in quotation marks, as CSV writes them.

    Numbers need none, and a header may have none.
    """
    written = [line for line in lines[:QUOTED_SAMPLE] if line.strip()]
    rows = written[1:] if written and '"' not in written[0] else written
    return bool(rows) and all(_QUOTED.fullmatch(line) and '"' in line for line in rows)


def is_header(fields: list[str], layout: ColumnLayout) -> bool:
    """Whether the fields of the first row are the names of the roles."""
    chosen = [fields[column] for column in layout.columns if column < len(fields)]
    return chosen == list(layout.roles)
