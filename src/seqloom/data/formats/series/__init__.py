"""Files of series: tables, JSON lines and .ts files, as they are or packed with gzip."""

import re
from pathlib import Path

import numpy as np

from ....errors import DataError, Place, UsageError
from ...options import Data
from ...series.schema import Recording
from ...text.reading import read_lines
from .base import no_rows
from .detect import looks_like_series
from .jsonl import read_json
from .resample import timed
from .table import read_table
from .ts import read_ts

__all__ = ["looks_like_series", "read_series"]

_READERS = {
    "table": read_table,
    "wide": read_table,
    "long": read_table,
    "rows": read_table,
    "csv": read_table,
    "tsv": read_table,
    "text": read_table,
    "jsonl": read_json,
    "ts": read_ts,
}
_EXTENSIONS = {".jsonl": "jsonl", ".ndjson": "jsonl", ".json": "jsonl", ".ts": "ts"}


def read_series(path: Path, settings: Data) -> Recording:
    """All series of a file at equal steps of time, NaN where a number is missing.

    `settings.columns` says which column is what, as time=date,value=a+b,id=shop,known=price,
    static=size,label=class; time=none takes the rows in their order. What is not said is guessed,
    and told in `said` of what is given back.
    """
    lines = read_lines(path, settings.encoding, unpack=True)
    name = _format(path, lines) if settings.format == "auto" else settings.format
    if name not in _READERS:
        raise UsageError(
            "U010",
            f"format = {name!r}: it cannot hold series",
            help=["choose from: auto, csv, tsv, wide, long, rows, jsonl, ts"],
        )
    found = _READERS[name](lines, path, settings)
    recording = timed(found)
    if not recording.series:
        raise no_rows(path)
    _must_have_some(recording, path)
    return recording


def _format(path: Path, lines: list[str]) -> str:
    """By the name of the file, without .gz, or else by its first line."""
    name = path.name.casefold().removesuffix(".gz")
    if (known := _EXTENSIONS.get(Path(name).suffix)) is not None:
        return known
    first = next(line for line in lines if line.strip())
    return "jsonl" if re.match(r"\s*\{", first) else "table"


def _must_have_some(recording: Recording, path: Path) -> None:
    """Refuse a file, or a column, in which nothing was measured."""
    every = np.concatenate([one.values for one in recording.series])
    empty = np.isnan(every).all(0)
    if empty.any():
        column = recording.names[int(empty.argmax())]
        what = "all values are" if empty.all() else f'all of "{column}" is'
        raise DataError(
            "D213",
            f'{what} missing in "{path.name}": there is nothing to learn',
            place=Place(str(path)),
            help=["--columns value=COLUMN   choose columns that have numbers"],
        )
