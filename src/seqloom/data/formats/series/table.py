"""Series in tables: a column of times beside numbers, an id before them, or one series a row."""

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
from ...series.schema import MISSING, number_of
from ..base import Fault, count
from ..columns_roles import parse_columns, shorten
from ..csv import records_of, sniff
from ..delimited import Record
from .base import Found, Raw, must_be_finite, no_rows
from .columns import ROLES, Columns, Look, choose

__all__ = ["read_table"]
ENOUGH = 200  # cells of a column that tell what it holds


@dataclass
class Table:
    """The records of a file beside its header; `said` is what was guessed."""

    path: Path
    header: list[str]
    records: list[Record]
    delimiter: str
    width: int  # how many fields a row has
    is_lenient: bool  # what cannot be read is missing
    said: list[str] = field(default_factory=list)

    def number(self, record: Record, place: int) -> float:
        """A cell as a number, NaN where it is missing."""
        text = record.fields[place] if place < len(record.fields) else ""
        found = number_of(text, comma=self.delimiter == ";")
        if found is None:
            if self.is_lenient:
                return np.nan
            raise _text(self, record, place)
        if math.isinf(found):
            if self.is_lenient:
                return np.nan
            raise must_be_finite(self.path, record.line, text, self.header[place])
        return found


def read_table(lines: list[str], path: Path, settings: Data) -> Found:
    """All series of a table, laid out as the user says or as can be told."""
    table = _table(lines, path, settings)
    given = parse_columns(settings.columns, ROLES) if settings.columns else {}
    cells = _cells(table)
    kinds = _kinds(cells, table.delimiter == ";")
    look = Look(table.path, table.header, kinds, cells, table.width)
    chosen = choose(look, given, settings.format, table.said)
    if chosen.layout == "rows":
        return _rows(table, chosen)
    return _steps(table, chosen)


def _table(lines: list[str], path: Path, settings: Data) -> Table:
    """The records below the header, or all where there is none."""
    delimiter = _delimiter(lines)
    records = []
    for found in records_of(lines, delimiter):
        if isinstance(found, Fault):
            if settings.skip_bad:
                continue
            place = Place(str(path), found.line, found.text, found.mark, found.note)
            raise DataError(found.code, found.reason, place=place, help=found.help)
        if delimiter == " ":
            found = Record(found.line, found.text.split(), found.text)
        if any(cell.strip() for cell in found.fields):
            records.append(found)
    if not records:
        raise no_rows(path)
    first = [cell.strip() for cell in records[0].fields]
    has_header = not any(_is_number(cell) for cell in first if cell) and _names_numbers(records)
    sizes = Counter(len(record.fields) for record in records)
    usual, width = sizes.most_common(1)[0][0], max(sizes)
    usual = len(first) if has_header else usual
    header = first if has_header else [str(number) for number in range(1, width + 1)]
    header += [str(number) for number in range(len(header) + 1, width + 1)]
    header = [name or str(place) for place, name in enumerate(header, 1)]
    rest = records[1:] if has_header else records
    if not rest:
        raise no_rows(path)
    return Table(path, header, rest, delimiter, usual, settings.skip_bad)


def _delimiter(lines: list[str]) -> str:
    """What stands between cells; blanks where nothing else does and numbers have them between."""
    found = sniff(lines, ())
    first = next(line for line in lines if line.strip())
    parts = first.split()
    blanks = found not in first and len(parts) > 1 and all(map(_is_number, parts))
    return " " if blanks else found


def _is_number(cell: str) -> bool:
    found = number_of(cell)
    return found is not None and cell.strip().casefold() not in MISSING


def _names_numbers(records: list[Record]) -> bool:
    """Whether the first row has names: a date before no numbers is one only with numbers below."""
    cells = [cell.strip() for cell in records[0].fields]
    return not any(re.fullmatch(r"\d{4}[-/.]\d{1,2}([-/.]\d{1,2}.*)?", cell) for cell in cells)


def _cells(table: Table) -> list[list[str]]:
    """What stands in each column."""
    found: list[list[str]] = [[] for _ in table.header]
    for record in table.records:
        for place, cell in enumerate(record.fields):
            found[place].append(cell.strip())
    return found


def _kinds(columns: list[list[str]], comma: bool) -> list[str]:
    """For each column: number, text, or empty; a few stray words do not make a column of text."""
    kinds = []
    for cells in columns:
        written = [cell for cell in cells if cell.casefold() not in MISSING]
        written = written[:: max(1, len(written) // ENOUGH)]
        words = sum(number_of(cell, comma=comma) is None for cell in written)
        kinds.append("empty" if not written else "text" if 2 * words > len(written) else "number")
    return kinds


def _rows(table: Table, chosen: Columns) -> Found:
    """One series a row, as long as it has cells."""
    series = []
    names = Counter[str]()
    used = set(chosen.used) - set(chosen.value)
    for record in table.records:
        places = [place for place in range(len(record.fields)) if place not in used]
        while places and record.fields[places[-1]].strip() == "":
            places.pop()
        values = np.array([[table.number(record, place)] for place in places]).reshape(-1, 1)
        name = record.fields[chosen.id].strip() if chosen.id is not None else str(record.line)
        names[name] += 1
        if names[name] > 1:
            raise _same_name(table, record, name)
        label = record.fields[chosen.label].strip() if chosen.label is not None else ""
        static = [[_given(table, record, place) for place in chosen.static]] * len(values)
        known = np.array(static, dtype=np.float64).reshape(len(values), len(chosen.static))
        series.append(Raw(name, [record.line] * len(values), values, known, label=label))
    known_names = tuple(table.header[place] for place in chosen.static)
    return Found(table.path, series, ("value",), known_names, said=table.said)


def _steps(table: Table, chosen: Columns) -> Found:
    """One step a row, of one series or of that which the row names."""
    groups: dict[str, list[Record]] = {}
    for record in table.records:
        if len(record.fields) != table.width:
            if table.is_lenient:
                continue
            raise _ragged(table, record)
        name = record.fields[chosen.id].strip() if chosen.id is not None else ""
        groups.setdefault(name, []).append(record)
    inputs = [*chosen.known, *chosen.static]
    series = [_one(table, chosen, inputs, name, records) for name, records in groups.items()]
    return Found(
        table.path,
        series,
        tuple(table.header[place] for place in chosen.value),
        tuple(table.header[place] for place in inputs),
        table.header[chosen.time] if chosen.time is not None else "",
        table.said,
    )


def _one(
    table: Table, chosen: Columns, inputs: Sequence[int], name: str, records: list[Record]
) -> Raw:
    """The rows of one series."""
    values = _array([[table.number(r, place) for place in chosen.value] for r in records])
    known = _array([[_given(table, r, place) for place in inputs] for r in records])
    for column, place in enumerate(inputs[len(chosen.known) :], len(chosen.known)):
        if len(np.unique(known[:, column])) > 1:
            raise _not_static(table, records[0], place, name)
    times = [r.fields[chosen.time] for r in records] if chosen.time is not None else []
    labels = [r.fields[chosen.label].strip() for r in records] if chosen.label is not None else []
    label = labels[0] if labels and len(set(labels)) == 1 else ""
    return Raw(name, [r.line for r in records], values, known, times, labels, label)


def _array(rows: list[list[float]]) -> Float[np.ndarray, "time width"]:
    return np.array(rows, dtype=np.float64).reshape(len(rows), len(rows[0]))


def _given(table: Table, record: Record, place: int) -> float:
    """An input, which is never missing."""
    found = table.number(record, place)
    if np.isnan(found):
        raise DataError(
            "D209",
            f'"{table.header[place]}" is missing: an input must be known at every step, and in the'
            " future, too",
            place=Place(str(table.path), record.line, record.text),
            help=[f"fill it in, or do not use {table.header[place]} as an input"],
        )
    return found


def _text(table: Table, record: Record, place: int) -> DataError:
    text = record.fields[place].strip()
    start = record.text.find(text)
    mark = (start, start + len(text)) if start >= 0 else None
    return DataError(
        "D202",
        f'"{shorten(text, 30)}" in the column "{table.header[place]}" is not a number',
        place=Place(str(table.path), record.line, record.text, mark),
        help=["leave the cell empty where nothing was measured", "--skip-bad   read it as missing"],
    )


def _ragged(table: Table, record: Record) -> DataError:
    return DataError(
        "D210",
        f"row has {count(len(record.fields), 'field')}, expected {table.width}",
        place=Place(str(table.path), record.line, record.text),
        help=[
            "--skip-bad   leave such rows out",
            "--format rows   if each row is a series of its own",
        ],
    )


def _same_name(table: Table, record: Record, name: str) -> DataError:
    return DataError(
        "D214",
        f'a series called "{name}" came before',
        place=Place(str(table.path), record.line),
        help=[
            "give each row a name of its own",
            "--format long   if each row is one step of a series",
        ],
    )


def _not_static(table: Table, record: Record, place: int, name: str) -> DataError:
    of = f' in the series "{name}"' if name else ""
    return DataError(
        "D215",
        f'"{table.header[place]}" changes{of}: what is static is the same at every step',
        place=Place(str(table.path), record.line),
        help=[f"--columns known={table.header[place]}   if it changes and is known beforehand"],
    )
