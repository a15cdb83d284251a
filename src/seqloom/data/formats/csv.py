"""Comma-separated values (CSV) with a header and quotation marks, as spreadsheets write them."""

import csv
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import islice
from statistics import median

from ...errors import DataError
from .base import BadLine, ParseResult, ReadRequest, Row
from .columns_roles import columns_by_name, shorten
from .delimited import ColumnLayout, RawRecord, add_record, is_header, layout_by_number

DELIMITERS = (",", ";", "\t", "|")
_MAX_FIELD_SIZE = 2**31 - 1


def read(lines: list[str], request: ReadRequest) -> ParseResult[Row]:
    """Read CSV: one row a record, with columns by name, or by number if there is no header."""
    delimiter = sniff_delimiter(lines, request.roles)
    result: ParseResult[Row] = ParseResult(delimiter=delimiter)
    records: list[RawRecord] = []
    for found in parse_records(lines, delimiter):
        if isinstance(found, BadLine):
            result.bad_lines.append(found)
        elif any(field.strip() for field in found.fields):
            records.append(found)
        else:
            result.blank.append(found.line)
    if not records:
        return result
    layout, has_header = _layout(records, request, result)
    if has_header:
        result.header = [field.strip() for field in records[0].fields]
    for record in records[1:] if has_header else records:
        add_record(record, layout, result)
    return result


def sniff_delimiter(lines: list[str], roles: tuple[str, ...]) -> str:
    """The delimiter with which most rows have as many fields as the first row."""

    def score(delimiter: str) -> float:
        sample = islice(parse_records(lines[:500], delimiter), 50)
        records = [record for record in sample if isinstance(record, RawRecord)]
        fields = [record.fields for record in records if record.text]
        if not fields or len(fields[0]) < 2:
            return 0.0
        has_names = set(roles) <= {field.strip() for field in fields[0]}
        return has_names + sum(len(row) == len(fields[0]) for row in fields) / len(fields)

    # max returns the first of equals: commas are preferred.
    return max(DELIMITERS, key=score)


def parse_records(lines: list[str], delimiter: str) -> Iterator[RawRecord | BadLine]:
    """The records of a file; quoted fields may have line breaks."""
    index = 0
    while index < len(lines):
        line = lines[index]
        if '"' not in line:  # much faster than the csv module, which is needed for quotes only
            yield RawRecord(index + 1, line.split(delimiter), line)
            index += 1
            continue
        found, used = _quoted(lines, index, delimiter)
        yield found
        index += used


def _quoted(lines: list[str], index: int, delimiter: str) -> tuple[RawRecord | BadLine, int]:
    """A record with quotation marks, and its number of lines."""
    feed = (lines[number] + "\n" for number in range(index, len(lines)))
    # A field may be a whole document. The limit is global to the csv module, so it is restored.
    limit = csv.field_size_limit(_MAX_FIELD_SIZE)
    try:
        reader = csv.reader(feed, delimiter=delimiter, strict=True)
        return RawRecord(index + 1, next(reader), lines[index]), reader.line_num
    except csv.Error as error:
        # Parsing goes on at the next line, so that one stray quotation mark does not swallow the
        # rest of the file.
        return _bad_quotes(lines[index], index + 1, str(error)), 1
    finally:
        csv.field_size_limit(limit)


def _bad_quotes(text: str, line: int, problem: str) -> BadLine:
    """A bad line for a record whose quotation marks do not match."""
    reason = "the quotation marks in this row do not match"
    if "end of data" in problem:
        reason = "a quotation mark in this row is never closed"
    start = text.index('"')
    remedy = 'write a quotation mark inside a quoted field twice: ""'
    return BadLine("D015", line, reason, text, (start, start + 1), "opened here", (remedy,))


def _layout(
    records: list[RawRecord], request: ReadRequest, result: ParseResult[Row]
) -> tuple[ColumnLayout, bool]:
    """The column of each role, and whether the first record is a header.

    Where no column is named as a role, the first record may be a row: that is guessed, and noted.
    """
    header, delimiter = [field.strip() for field in records[0].fields], result.delimiter
    given = layout_by_number(request, delimiter)
    if given is not None:
        return given, is_header(header, given)

    def values(column: int) -> list[str]:
        return [record.fields[column] for record in records[1:] if column < len(record.fields)]

    names_roles = bool({title.casefold() for title in header} & set(request.roles))
    has_header = True
    if delimiter == "\t" and not request.columns and not names_roles:  # as in TSV
        columns, has_header = tuple(range(len(request.roles))), False
    else:
        columns = _columns(header, request, values, names_roles)
    if has_header and not request.columns and not names_roles:
        has_header = looks_like_header(header, columns, values)
        result.notes.append(
            f"the first row is read as a header: {shorten(', '.join(header), 60)}"
            f" (--columns {','.join(str(column + 1) for column in columns)}   if it is a row)"
            if has_header
            else f"no header: the first row is read as the others are ({shorten(header[0], 40)})"
        )
    layout = ColumnLayout(request.roles, columns, len(header), delimiter, has_header=has_header)
    return replace(layout, may_be_empty=request.rules.may_be_empty), has_header


def _columns(
    header: list[str],
    request: ReadRequest,
    values: Callable[[int], list[str]],
    names_roles: bool,
) -> tuple[int, ...]:
    """The column of each role by its name; an error tells how to do without a header."""
    try:
        return columns_by_name(request.path, request.roles, request.columns, header, values)
    except DataError as error:
        if error.code != "D010" or request.columns or names_roles:
            raise
        numbers = ",".join(map(str, range(1, len(request.roles) + 1)))
        raise error.with_help(f"--columns {numbers}   by number, if it has no header") from None


def looks_like_header(
    header: list[str], columns: tuple[int, ...], values: Callable[[int], list[str]]
) -> bool:
    """Whether a first row names columns: its label is none of the others, or it is a short text.

    A single word may name a column of words: it is taken for a header, unless it occurs again.
    """
    last, others = header[columns[-1]], [value.strip() for value in values(columns[-1])]
    if len(columns) > 1 or last in others or not others:
        return last not in others
    words = len(last.split())
    return words == 1 or 2 * words < median(len(value.split()) for value in others)
