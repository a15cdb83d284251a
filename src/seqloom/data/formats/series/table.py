"""Time series in tables: wide (a time step a row), long (with an id), rows (a series a row)."""

import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from jaxtyping import Float

from ....errors import DataError, Place
from ...options import Data
from ...series.schema import MISSING, parse_number
from ..base import BadLine, pluralize
from ..columns_roles import parse_columns, shorten
from ..csv import parse_records, sniff_delimiter
from ..delimited import RawRecord
from .base import RawSeries, RawSeriesFile, infinite_value, no_rows
from .columns import ROLES, SeriesColumns, TableProfile, assign_columns

__all__ = ["read_table"]
SAMPLE_CELLS = 200  # of a column, to guess its kind


@dataclass
class SeriesTable:
    """The header and the records of a table; `notes` say what was guessed."""

    path: Path
    header: list[str]
    records: list[RawRecord]
    delimiter: str
    num_fields: int  # of a row
    is_lenient: bool  # cells that cannot be read are missing values
    has_header: bool
    notes: list[str] = field(default_factory=list)

    def number(self, record: RawRecord, column: int) -> float:
        """A cell as a number, NaN if it is missing."""
        text = record.fields[column] if column < len(record.fields) else ""
        found = parse_number(text, comma=self.delimiter == ";")
        if found is None:
            if self.is_lenient:
                return np.nan
            raise _text(self, record, column)
        if math.isinf(found):
            if self.is_lenient:
                return np.nan
            raise infinite_value(self.path, record.line, text, self.header[column])
        return found


def read_table(lines: list[str], path: Path, settings: Data) -> RawSeriesFile:
    """Read the series of a table, whose layout the user says or is guessed."""
    table = _table(lines, path, settings)
    given = parse_columns(settings.columns, ROLES) if settings.columns else {}
    cells = _cells(table)
    kinds = _kinds(cells, table.delimiter == ";")
    profile = TableProfile(table.path, table.header, kinds, cells, table.num_fields)
    columns = assign_columns(profile, given, settings.format, table.notes)
    if columns.layout == "rows":
        return _rows(table, columns)
    file = _steps(table, columns)
    file.are_named, file.are_chosen = table.has_header, "value" in given
    return file


def _table(lines: list[str], path: Path, settings: Data) -> SeriesTable:
    """The records and their header; a table without one gets column numbers."""
    delimiter = _delimiter(lines)
    records = []
    for found in parse_records(lines, delimiter):
        if isinstance(found, BadLine):
            if settings.skip_bad:
                continue
            place = Place(str(path), found.line, found.text, found.mark, found.note)
            raise DataError(found.code, found.reason, place=place, help=found.help)
        if delimiter == " ":
            found = RawRecord(found.line, found.text.split(), found.text)
        if any(cell.strip() for cell in found.fields):
            records.append(found)
    if not records:
        raise no_rows(path)
    first = [cell.strip() for cell in records[0].fields]
    has_header = not any(_is_number(cell) for cell in first if cell) and _is_header(records)
    sizes = Counter(len(record.fields) for record in records)
    usual, width = sizes.most_common(1)[0][0], max(sizes)
    usual = len(first) if has_header else usual
    header = first if has_header else [str(number) for number in range(1, width + 1)]
    header += [str(number) for number in range(len(header) + 1, width + 1)]
    header = [name or str(column) for column, name in enumerate(header, 1)]
    rest = records[1:] if has_header else records
    if not rest:
        raise no_rows(path)
    return SeriesTable(path, header, rest, delimiter, usual, settings.skip_bad, has_header)


def _delimiter(lines: list[str]) -> str:
    """The delimiter of a table; whitespace if there is no other one and all fields are numbers."""
    found = sniff_delimiter(lines, ())
    first = next(line for line in lines if line.strip())
    parts = first.split()
    is_spaced = found not in first and len(parts) > 1 and all(map(_is_number, parts))
    return " " if is_spaced else found


def _is_number(cell: str) -> bool:
    found = parse_number(cell)
    return found is not None and cell.strip().casefold() not in MISSING


def _is_header(records: list[RawRecord]) -> bool:
    """Whether a first row without numbers is a header: it is not, if it has a date."""
    cells = [cell.strip() for cell in records[0].fields]
    return not any(re.fullmatch(r"\d{4}[-/.]\d{1,2}([-/.]\d{1,2}.*)?", cell) for cell in cells)


def _cells(table: SeriesTable) -> list[list[str]]:
    """The cells of each column."""
    found: list[list[str]] = [[] for _ in table.header]
    for record in table.records:
        for column, cell in enumerate(record.fields):
            found[column].append(cell.strip())
    return found


def _kinds(columns: list[list[str]], comma: bool) -> list[str]:
    """The kind of each column: number, text or empty; a few words do not make it text."""
    kinds = []
    for cells in columns:
        written = [cell for cell in cells if cell.casefold() not in MISSING]
        written = written[:: max(1, len(written) // SAMPLE_CELLS)]
        words = sum(parse_number(cell, comma=comma) is None for cell in written)
        kinds.append("empty" if not written else "text" if 2 * words > len(written) else "number")
    return kinds


def _rows(table: SeriesTable, columns: SeriesColumns) -> RawSeriesFile:
    """The series of a table with a series a row, without empty cells at the end."""
    series = []
    names = Counter[str]()
    used = set(columns.used) - set(columns.value)
    for record in table.records:
        cells = [column for column in range(len(record.fields)) if column not in used]
        while cells and record.fields[cells[-1]].strip() == "":
            cells.pop()  # the end of the series, not missing values
        values = np.array([[table.number(record, column)] for column in cells]).reshape(-1, 1)
        name = record.fields[columns.id].strip() if columns.id is not None else str(record.line)
        names[name] += 1
        if names[name] > 1:
            raise _same_name(table, record, name)
        label = record.fields[columns.label].strip() if columns.label is not None else ""
        static = [[_input(table, record, column) for column in columns.static]] * len(values)
        known = np.array(static, dtype=np.float64).reshape(len(values), len(columns.static))
        series.append(RawSeries(name, [record.line] * len(values), values, known, label=label))
    known_names = tuple(table.header[column] for column in columns.static)
    return RawSeriesFile(table.path, series, ("value",), known_names, notes=table.notes)


def _steps(table: SeriesTable, columns: SeriesColumns) -> RawSeriesFile:
    """The series of a table with a time step a row; the id column names the series."""
    groups: dict[str, list[RawRecord]] = {}
    for record in table.records:
        if len(record.fields) != table.num_fields:
            if table.is_lenient:
                continue
            raise _ragged(table, record)
        name = record.fields[columns.id].strip() if columns.id is not None else ""
        groups.setdefault(name, []).append(record)
    inputs = [*columns.known, *columns.static]
    series = [_one(table, columns, inputs, name, records) for name, records in groups.items()]
    return RawSeriesFile(
        table.path,
        series,
        tuple(table.header[column] for column in columns.value),
        tuple(table.header[column] for column in inputs),
        table.header[columns.time] if columns.time is not None else "",
        table.notes,
    )


def _one(
    table: SeriesTable,
    columns: SeriesColumns,
    inputs: Sequence[int],
    name: str,
    records: list[RawRecord],
) -> RawSeries:
    """One series, from its records."""
    values = _array([[table.number(r, column) for column in columns.value] for r in records])
    known = _array([[_input(table, r, column) for column in inputs] for r in records])
    for index, column in enumerate(inputs[len(columns.known) :], len(columns.known)):
        if len(np.unique(known[:, index])) > 1:
            raise _not_static(table, records[0], column, name)
    times = [r.fields[columns.time] for r in records] if columns.time is not None else []
    labels = [r.fields[columns.label].strip() for r in records] if columns.label is not None else []
    label = labels[0] if labels and len(set(labels)) == 1 else ""
    return RawSeries(name, [r.line for r in records], values, known, times, labels, label)


def _array(rows: list[list[float]]) -> Float[np.ndarray, "time width"]:
    return np.array(rows, dtype=np.float64).reshape(len(rows), len(rows[0]))


def _input(table: SeriesTable, record: RawRecord, column: int) -> float:
    """A known input, which must not be missing."""
    found = table.number(record, column)
    if np.isnan(found):
        raise DataError(
            "D209",
            f'"{table.header[column]}" is missing: known inputs need a value at every step, also in'
            " the future",
            place=Place(str(table.path), record.line, record.text),
            help=[f"fill it in, or do not use {table.header[column]} as a known input"],
        )
    return found


def _text(table: SeriesTable, record: RawRecord, column: int) -> DataError:
    text = record.fields[column].strip()
    start = record.text.find(text)
    mark = (start, start + len(text)) if start >= 0 else None
    return DataError(
        "D202",
        f'"{shorten(text, 30)}" in the column "{table.header[column]}" is not a number',
        place=Place(str(table.path), record.line, record.text, mark),
        help=["leave the cell empty if the value is missing", "--skip-bad   read it as missing"],
    )


def _ragged(table: SeriesTable, record: RawRecord) -> DataError:
    return DataError(
        "D210",
        f"row has {pluralize(len(record.fields), 'field')}, expected {table.num_fields}",
        place=Place(str(table.path), record.line, record.text),
        help=[
            "--skip-bad   skip such rows",
            "--format rows   if each row is a series",
        ],
    )


def _same_name(table: SeriesTable, record: RawRecord, name: str) -> DataError:
    return DataError(
        "D214",
        f'there are two series with the name "{name}"',
        place=Place(str(table.path), record.line),
        help=[
            "give each row a unique name",
            "--format long   if each row is one step of a series",
        ],
    )


def _not_static(table: SeriesTable, record: RawRecord, column: int, name: str) -> DataError:
    of = f' in the series "{name}"' if name else ""
    return DataError(
        "D215",
        f'"{table.header[column]}" changes{of}: static inputs must be the same at every step',
        place=Place(str(table.path), record.line),
        help=[f"--columns known={table.header[column]}   if it is a known input that changes"],
    )
