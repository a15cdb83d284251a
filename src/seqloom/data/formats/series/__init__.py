"""File formats of time series: tables (wide, long, rows), JSON lines and .ts, also gzipped."""

import re
from pathlib import Path

import numpy as np

from ....errors import DataError, Place, UsageError
from ...options import Data
from ...series.schema import SeriesFile
from ...text.reading import read_lines
from .base import no_rows
from .detect import looks_like_series
from .jsonl import read_jsonl
from .resample import to_regular_steps
from .table import read_table
from .ts import read_ts

__all__ = ["TABLE_EXTENSIONS", "looks_like_series", "parse_series", "read_series"]

_READERS = {
    "table": read_table,
    "wide": read_table,
    "long": read_table,
    "rows": read_table,
    "csv": read_table,
    "tsv": read_table,
    "text": read_table,
    "jsonl": read_jsonl,
    "ts": read_ts,
}
TABLE_EXTENSIONS = {".csv", ".tsv", ".jsonl", ".ndjson", ".json", ".ts", ".gz"}
_EXTENSIONS = {".jsonl": "jsonl", ".ndjson": "jsonl", ".json": "jsonl", ".ts": "ts"}


def read_series(path: Path, settings: Data) -> SeriesFile:
    """Read the time series of a file on a regular time grid, with NaN for missing values.

    `settings.columns` has the column of each role, as in time=date,value=a+b,id=shop,known=price,
    static=size,label=class; with time=none, rows are time steps in their order. Other roles are
    guessed, with a sentence for each guess in the `notes` of the result.
    """
    return parse_series(read_lines(path, settings.encoding, unpack=True), path, settings)


def parse_series(lines: list[str], path: Path, settings: Data) -> SeriesFile:
    """The time series of the lines of a file."""
    name = _format(path, lines) if settings.format == "auto" else settings.format
    if name not in _READERS:
        raise UsageError(
            "U010",
            f"format = {name!r}: it cannot hold time series",
            help=["choose from: auto, csv, tsv, wide, long, rows, jsonl, ts"],
        )
    file = to_regular_steps(_READERS[name](lines, path, settings))
    if not file.series:
        raise no_rows(path)
    _refuse_empty(file, path)
    return file


def _format(path: Path, lines: list[str]) -> str:
    """The format by the extension of the file, without .gz, or else by its first line."""
    name = path.name.casefold().removesuffix(".gz")
    if (known := _EXTENSIONS.get(Path(name).suffix)) is not None:
        return known
    first = next(line for line in lines if line.strip())
    return "jsonl" if re.match(r"\s*\{", first) else "table"


def _refuse_empty(file: SeriesFile, path: Path) -> None:
    """Refuse a file or a column in which all values are missing."""
    every = np.concatenate([one.values for one in file.series])
    empty = np.isnan(every).all(0)
    if empty.any():
        column = file.names[int(empty.argmax())]
        what = "all values are" if empty.all() else f'all of "{column}" is'
        raise DataError(
            "D213",
            f'{what} missing in "{path.name}": there is nothing to learn',
            place=Place(str(path)),
            help=["--columns value=COLUMN   choose columns that have numbers"],
        )
