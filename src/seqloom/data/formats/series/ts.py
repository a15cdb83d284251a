"""The .ts format of the UEA and UCR archives: a header of @-lines, then one series a line.

Values are separated by commas, dimensions by colons, and the class comes last; a question mark is
a missing value.
"""

from pathlib import Path

import numpy as np

from ....errors import DataError, Place
from ...options import Data
from ...series.schema import parse_number
from .base import RawSeries, RawSeriesFile, infinite_value, no_rows


def read_ts(lines: list[str], path: Path, settings: Data) -> RawSeriesFile:
    """Read the series of a .ts file, with their labels."""
    head, rest = _head(lines, path)
    if head.get("timestamps", "false") == "true":
        raise _bad(path, rest[0][0], "files with time stamps in them (@timeStamps true)")
    series = [_one(text, number, path, head, settings) for number, text in rest]
    width = series[0].values.shape[1]
    for raw in series:
        if raw.values.shape[1] != width:
            found = raw.values.shape[1]
            raise _bad(path, raw.lines[0], f"{found} dimensions after {width} in the first series")
    return RawSeriesFile(path, series, tuple(str(number) for number in range(1, width + 1)))


def _head(lines: list[str], path: Path) -> tuple[dict[str, str], list[tuple[int, str]]]:
    """The header as a table, and the lines of the series with their numbers."""
    written = [(number, line.strip()) for number, line in enumerate(lines, 1)]
    written = [(number, text) for number, text in written if text and not text.startswith("#")]
    head: dict[str, str] = {}
    end = 0
    for end, (number, text) in enumerate(written, 1):  # noqa: B007 - the end of the header
        if not text.startswith("@"):
            raise _bad(path, number, "a line before @data that does not begin with @")
        key, _, value = text[1:].partition(" ")
        head[key.casefold()] = value.strip().casefold()
        if key.casefold() == "data":
            break
    else:
        raise _bad(path, 1, "no line @data")
    if end == len(written):
        raise no_rows(path)
    return head, written[end:]


def _one(text: str, number: int, path: Path, head: dict[str, str], settings: Data) -> RawSeries:
    """The series of one line; shorter dimensions are padded with NaN."""
    parts = text.split(":")
    label = ""
    if head.get("classlabel", "false").startswith("true") or "targetlabel" in head:
        label = parts.pop().strip()
    columns = [_numbers(part, number, path, settings) for part in parts]
    if not columns or not any(columns):
        raise _bad(path, number, "a series without numbers")
    values = np.full((max(map(len, columns)), len(columns)), np.nan)
    for index, column in enumerate(columns):
        values[: len(column), index] = column
    name, known = str(number), np.zeros((len(values), 0))
    return RawSeries(name, [number] * len(values), values, known, label=label)


def _numbers(part: str, line: int, path: Path, settings: Data) -> list[float]:
    """The values of one dimension."""
    found = []
    for text in part.split(",") if part.strip() else ():
        value = parse_number(text)
        if value is None or np.isinf(value):
            if settings.skip_bad:
                value = np.nan
            elif value is None:
                raise DataError(
                    "D202",
                    f'"{text.strip()[:30]}" is not a number',
                    place=Place(str(path), line),
                    help=["--skip-bad   read it as missing"],
                )
            else:
                raise infinite_value(path, line, text, "a series")
        found.append(value)
    return found


def _bad(path: Path, line: int, what: str) -> DataError:
    return DataError(
        "D211",
        f'"{path.name}" cannot be read as a .ts file: {what}',
        place=Place(str(path), line),
        help=["a header of @-lines, @data, then one series a line: 1,2,3:4,5,6:label"],
    )
