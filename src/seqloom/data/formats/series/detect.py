"""Whether a file looks like series of numbers, and by what."""

import json
from pathlib import Path

from ....errors import SeqloomError
from ...options import Data
from ...series.dates import NotDatesError, read_dates
from .base import Found
from .table import read_table

ENOUGH = 300  # lines that tell
FEW = 8  # numbers beside each other or below each other that are no series yet
_OF_TEXTS = {"text", "label", "source", "target", "word", "tag"}


def looks_like_series(lines: list[str], path: Path, settings: Data) -> str:
    """The reason in words why a file is one of series; nothing where it is none."""
    name = path.name.casefold().removesuffix(".gz")
    first = next((line for line in lines if line.strip()), "")
    if name.endswith(".ts") or settings.format == "ts":
        return "a .ts file" if any(line.strip().casefold() == "@data" for line in lines) else ""
    if settings.format in ("wide", "long", "rows"):
        return f"--format {settings.format}"
    if first.lstrip().startswith("{"):
        return "lists of numbers" if _has_numbers(first) else ""
    try:
        found = read_table(lines[:ENOUGH], path, settings)
    except SeqloomError:
        return ""
    return _of_table(found)


def _of_table(found: Found) -> str:
    """A table whose columns are all of series: with dates, or all of numbers."""
    names = {name.casefold() for name in found.names}
    is_whole = not any(sentence.startswith("not used") for sentence in found.said)
    if not is_whole or len(names) == 0:
        return ""
    if found.time:
        if _has_dates(found):
            return f'dates in "{found.time}", and numbers'
        return f'"{found.time}", and numbers' if not names & _OF_TEXTS else ""
    sizes = [len(raw) for raw in found.series]
    if len(sizes) > 1:
        return "one series a row" if max(sizes) >= FEW else ""
    return "columns of numbers" if sizes[0] >= FEW and not names & _OF_TEXTS else ""


def _has_dates(found: Found) -> bool:
    try:
        read_dates([time for raw in found.series for time in raw.times])
    except NotDatesError as error:
        return "two dates" in error.reason or error.place > 0
    return True


def _has_numbers(line: str) -> bool:
    try:
        item = json.loads(line)
    except (ValueError, RecursionError):
        return False
    numbers = item.get("values", item.get("target")) if isinstance(item, dict) else None
    found = numbers if isinstance(numbers, list) else []
    flat = found[0] if found and isinstance(found[0], list) else found
    return bool(flat) and all(one is None or isinstance(one, int | float) for one in flat)
