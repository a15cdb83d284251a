"""Detection of time series files, with the reason in words."""

import json
from pathlib import Path

from ....errors import SeqloomError
from ...options import Data
from ...series.date_styles import DateParseError, read_dates
from .base import RawSeriesFile
from .table import read_table

SAMPLE_LINES = 300  # of a file that are looked at
MIN_VALUES = 8  # of a series without dates
_TEXT_ROLES = {"text", "label", "source", "target", "word", "tag"}


def looks_like_series(lines: list[str], path: Path, settings: Data) -> str:
    """The reason why a file has time series, in words; empty if it has none."""
    name = path.name.casefold().removesuffix(".gz")
    first = next((line for line in lines if line.strip()), "")
    if name.endswith(".ts") or settings.format == "ts":
        return "a .ts file" if any(line.strip().casefold() == "@data" for line in lines) else ""
    if settings.format in ("wide", "long", "rows"):
        return f"--format {settings.format}"
    if first.lstrip().startswith("{"):
        return "lists of numbers" if _has_numbers(first) else ""
    try:
        file = read_table(lines[:SAMPLE_LINES], path, settings)
    except SeqloomError:
        return ""
    return _table_reason(file)


def _table_reason(file: RawSeriesFile) -> str:
    """The reason why a table has time series: dates, or columns of numbers only."""
    names = {name.casefold() for name in file.names}
    has_others = any(note.startswith("not used") for note in file.notes)
    if has_others or len(names) == 0:
        return ""
    if file.time:
        if _has_dates(file):
            return f'dates in "{file.time}", and numbers'
        return f'"{file.time}", and numbers' if not names & _TEXT_ROLES else ""
    sizes = [len(raw) for raw in file.series]
    if len(sizes) > 1:
        return "one series a row" if max(sizes) >= MIN_VALUES else ""
    return "columns of numbers" if sizes[0] >= MIN_VALUES and not names & _TEXT_ROLES else ""


def _has_dates(file: RawSeriesFile) -> bool:
    try:
        read_dates([time for raw in file.series for time in raw.times])
    except DateParseError as error:
        return "two dates" in error.reason or error.index > 0
    return True


def _has_numbers(line: str) -> bool:
    """Whether a JSON object has a list of numbers as its values."""
    try:
        item = json.loads(line)
    except (ValueError, RecursionError):
        return False
    numbers = item.get("values", item.get("target")) if isinstance(item, dict) else None
    found = numbers if isinstance(numbers, list) else []
    flat = found[0] if found and isinstance(found[0], list) else found
    return bool(flat) and all(one is None or isinstance(one, int | float) for one in flat)
