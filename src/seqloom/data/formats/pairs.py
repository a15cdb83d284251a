"""Tab-separated fields, without quotation: what stands between tabs is the field."""

from dataclasses import replace

from .fields import Layout, Record, numbered, take
from .found import Reading, Request, Row
from .roles import by_name


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
