"""Comma-separated values with a header, as spreadsheets write them."""

import csv
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice

from .base import Fault, Reading, Request, Row
from .columns_roles import by_name
from .delimited import Layout, Record, header_at, numbered, take

DELIMITERS = (",", ";", "\t", "|")
_LONGEST_FIELD = 2**31 - 1


def read(lines: list[str], request: Request) -> Reading[Row]:
    """One row a record, its fields by the header's names, or by number without a header."""
    delimiter = sniff(lines, request.roles)
    reading: Reading[Row] = Reading(delimiter=delimiter)
    records: list[Record] = []
    for found in records_of(lines, delimiter):
        if isinstance(found, Fault):
            reading.faults.append(found)
        elif any(field.strip() for field in found.fields):
            records.append(found)
        else:
            reading.blank.append(found.line)
    if not records:
        return reading
    layout, has_header = _layout(records, request, delimiter)
    if has_header:
        reading.header = [field.strip() for field in records[0].fields]
    for record in records[1:] if has_header else records:
        take(record, layout, reading)
    return reading


def sniff(lines: list[str], roles: tuple[str, ...]) -> str:
    """The delimiter that gives the most rows as many fields as the first row has."""

    def score(delimiter: str) -> float:
        found = islice(records_of(lines[:500], delimiter), 50)
        fields = [record.fields for record in found if isinstance(record, Record) and record.text]
        if not fields or len(fields[0]) < 2:
            return 0.0
        named = set(roles) <= {field.strip() for field in fields[0]}
        return named + sum(len(row) == len(fields[0]) for row in fields) / len(fields)

    # The first of equals wins, so a comma is preferred.
    return max(DELIMITERS, key=score)


def records_of(lines: list[str], delimiter: str) -> Iterator[Record | Fault]:
    """The records of a file; one with quotation marks may run over several lines."""
    place = 0
    while place < len(lines):
        line = lines[place]
        if '"' not in line:
            yield Record(place + 1, line.split(delimiter), line)
            place += 1
            continue
        found, used = _quoted(lines, place, delimiter)
        yield found
        place += used


def _quoted(lines: list[str], place: int, delimiter: str) -> tuple[Record | Fault, int]:
    """A record with quotation marks, and how many lines it took."""
    feed = (lines[number] + "\n" for number in range(place, len(lines)))
    # A field may be a whole document; the limit is the module's, so it is put back.
    limit = csv.field_size_limit(_LONGEST_FIELD)
    try:
        reader = csv.reader(feed, delimiter=delimiter, strict=True)
        return Record(place + 1, next(reader), lines[place]), reader.line_num
    except csv.Error as error:
        # After a fault, reading goes on at the very next line, so that one stray quotation mark
        # does not swallow the rest of the file.
        return _fault(lines[place], place + 1, str(error)), 1
    finally:
        csv.field_size_limit(limit)


def _fault(text: str, line: int, problem: str) -> Fault:
    """Why a record with quotation marks cannot be read."""
    reason = "the quotation marks in this row do not match"
    if "end of data" in problem:
        reason = "a quotation mark in this row is never closed"
    start = text.index('"')
    remedy = 'write a quotation mark inside a quoted field twice: ""'
    return Fault("D015", line, reason, text, (start, start + 1), "opened here", (remedy,))


def _layout(records: list[Record], request: Request, delimiter: str) -> tuple[Layout, bool]:
    """Where the roles stand, and whether the first record is a header."""
    header = [field.strip() for field in records[0].fields]
    given = numbered(request, delimiter)
    if given is not None:
        return given, header_at(header, given)

    def values(place: int) -> list[str]:
        return [record.fields[place] for record in records[1:] if place < len(record.fields)]

    places = by_name(request.path, request.roles, request.columns, header, values)
    layout = Layout(request.roles, places, len(header), delimiter, has_header=True)
    return replace(layout, may_be_empty=request.rules.empty), True
