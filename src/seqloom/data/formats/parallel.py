"""Parallel files (parallel corpora): line by line, one file for the source, one for the target."""

from pathlib import Path

from ...errors import DataError, Place, UsageError
from ..options import Data
from ..text.reading import read_lines
from .base import BadLine, ParseResult, Row, pluralize

_FORMATS = ("auto", "text")


def read(files: list[Path], name: Path, roles: tuple[str, ...], settings: Data) -> ParseResult[Row]:
    """Read parallel files: one row for each line that is not blank in all of them."""
    _check_settings(files, name, roles, settings)
    read = [read_lines(file, settings.encoding) for file in files]
    _check_lengths(files, read)
    result: ParseResult[Row] = ParseResult()
    for number, fields in enumerate(zip(*read, strict=True), 1):
        blank = [index for index, field in enumerate(fields) if not field.strip()]
        if len(blank) == len(files):
            result.blank.append(number)
        elif blank:
            other = next(field for field in fields if field.strip())
            reason = f'the line "{roles[blank[0]]}" is empty, beside {_short(other)!r}'
            result.bad_lines.append(BadLine("D014", number, reason, file=files[blank[0]]))
        else:
            result.rows.append(Row(number, fields))
    return result


def wrong_number_of_files(files: list[Path], name: Path, roles: tuple[str, ...]) -> UsageError:
    """An error for a name of more or fewer files than a task reads side by side."""
    needed = f"one for each of {' and '.join(roles)}" if len(roles) > 1 else "one alone"
    return UsageError(
        "U080",
        f"{name} names {len(files)} files, and this task reads {needed}",
        help=[
            "'train.{de,en}'   in quotes: two parallel files, the source first"
            if len(roles) == 2
            else "give one file"
        ],
    )


def _check_settings(files: list[Path], name: Path, roles: tuple[str, ...], settings: Data) -> None:
    if len(files) != len(roles):
        raise wrong_number_of_files(files, name, roles)
    if settings.format not in _FORMATS or settings.columns:
        option = "columns" if settings.columns else "format"
        raise UsageError(
            "U080",
            f"{option} = {getattr(settings, option)!r}: parallel files hold plain lines",
            help=[f"leave --{option} out, or give one file with both sides"],
        )


def _check_lengths(files: list[Path], read: list[list[str]]) -> None:
    """Refuse files with different numbers of lines: from some line on, pairs would be wrong."""
    lengths = list(map(len, read))
    if len(set(lengths)) == 1:
        return
    counts = " and ".join(
        f'"{file.name}" has {pluralize(length, "line")}'
        for file, length in zip(files, lengths, strict=True)
    )
    line, blank = _first_difference(files, read)
    note = f"Line {line:,} is the first that is blank in one of them only: {blank.name}."
    if line > min(lengths):
        note = f"They are blank at the same lines, up to line {min(lengths):,}, where one ends."
    raise DataError(
        "D090",
        f"parallel files need equally many lines: {counts}",
        place=Place(str(blank), min(line, lengths[files.index(blank)])),
        notes=[note],
        help=["look at the lines around it: one may be missing, or broken into two"],
    )


def _first_difference(files: list[Path], read: list[list[str]]) -> tuple[int, Path]:
    """The first line that is blank in some files only, and the first of these files.

    Lines after the end of a file count as blank.
    """
    for number in range(max(map(len, read))):
        blank = [number >= len(lines) or not lines[number].strip() for lines in read]
        if any(blank) and (not all(blank) or any(number >= len(lines) for lines in read)):
            return number + 1, files[blank.index(True)]
    raise ValueError("the files do not differ")


def _short(text: str, width: int = 40) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= width else flat[: width - 1] + "…"
