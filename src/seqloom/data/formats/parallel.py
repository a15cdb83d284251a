"""Parallel files: the same line of each belongs together, one file for each role."""

from pathlib import Path

from ...errors import DataError, Place, UsageError
from ..options import Data
from ..text.reading import read_lines
from .base import Fault, Reading, Row, count

_LAID_OUT = ("auto", "text")


def read(files: list[Path], name: Path, roles: tuple[str, ...], settings: Data) -> Reading[Row]:
    """One row for each line that is not blank in all of the files."""
    _must_fit(files, name, roles, settings)
    read = [read_lines(file, settings.encoding) for file in files]
    _must_be_even(files, read)
    reading: Reading[Row] = Reading()
    for number, fields in enumerate(zip(*read, strict=True), 1):
        blank = [place for place, field in enumerate(fields) if not field.strip()]
        if len(blank) == len(files):
            reading.blank.append(number)
        elif blank:
            other = next(field for field in fields if field.strip())
            reason = f'the line "{roles[blank[0]]}" is empty, beside {_short(other)!r}'
            reading.faults.append(Fault("D014", number, reason, file=files[blank[0]]))
        else:
            reading.rows.append(Row(number, fields))
    return reading


def several(files: list[Path], name: Path, roles: tuple[str, ...]) -> UsageError:
    """A name of more files, or of fewer, than a task can read side by side."""
    wanted = f"one for each of {' and '.join(roles)}" if len(roles) > 1 else "one alone"
    return UsageError(
        "U080",
        f"{name} names {len(files)} files, and this task reads {wanted}",
        help=[
            "'train.{de,en}'   in quotes: two parallel files, the source first"
            if len(roles) == 2
            else "give one file"
        ],
    )


def _must_fit(files: list[Path], name: Path, roles: tuple[str, ...], settings: Data) -> None:
    if len(files) != len(roles):
        raise several(files, name, roles)
    if settings.format not in _LAID_OUT or settings.columns:
        option = "columns" if settings.columns else "format"
        raise UsageError(
            "U080",
            f"{option} = {getattr(settings, option)!r}: parallel files hold plain lines",
            help=[f"leave --{option} out, or give one file with both sides"],
        )


def _must_be_even(files: list[Path], read: list[list[str]]) -> None:
    """Refuse files of different length: from some line on, what stands together does not belong."""
    lengths = list(map(len, read))
    if len(set(lengths)) == 1:
        return
    told = " and ".join(
        f'"{file.name}" has {count(length, "line")}'
        for file, length in zip(files, lengths, strict=True)
    )
    line, blank = _first_difference(files, read)
    note = f"Line {line:,} is the first that is blank in one of them only: {blank.name}."
    if line > min(lengths):
        note = f"They are blank at the same lines, up to line {min(lengths):,}, where one ends."
    raise DataError(
        "D090",
        f"parallel files need as many lines as each other: {told}",
        place=Place(str(blank), min(line, lengths[files.index(blank)])),
        notes=[note],
        help=["look at the lines around it: one may be missing, or be cut in two"],
    )


def _first_difference(files: list[Path], read: list[list[str]]) -> tuple[int, Path]:
    """The first line that is blank in some files only, and the first of these files.

    Beyond its end a file counts as blank.
    """
    for number in range(max(map(len, read))):
        blank = [number >= len(lines) or not lines[number].strip() for lines in read]
        if any(blank) and (not all(blank) or any(number >= len(lines) for lines in read)):
            return number + 1, files[blank.index(True)]
    raise ValueError("the files do not differ")


def _short(text: str, width: int = 40) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= width else flat[: width - 1] + "…"
