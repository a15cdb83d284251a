"""What a reader is asked for and what it finds: rows, sentences, and lines it cannot read."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Generic, TypeVar

from ...errors import DataError, Place
from ..options import Data
from ..text.reading import spoken

Item = TypeVar("Item")


@dataclass(frozen=True)
class Row:
    """One example: a field for each role, and the line where it begins."""

    line: int
    fields: tuple[str, ...]


@dataclass(frozen=True)
class Sentence:
    """One sentence: a list for each role, one entry a word, and the line where it begins.

    Where words have lines of their own, there are those; where they were cut from a text, there is
    the text and where each word begins and ends in it.
    """

    line: int
    fields: tuple[list[str], ...]
    lines: tuple[int, ...] = field(default=(), compare=False)
    text: str = field(default="", compare=False)
    places: tuple[tuple[int, int], ...] = field(default=(), compare=False)


@dataclass(frozen=True)
class Source:
    """All that was found in a file."""

    path: Path
    format: str
    encoding: str
    header: list[str] | None
    rows: Sequence[Row | Sentence]
    blank: list[int]
    bad: list[tuple[int, str]]
    delimiter: str = ""


@dataclass(frozen=True)
class Rules:
    """What a field may be beside one text that is not empty.

    `empty` are the roles that may have nothing, `lists` those that may have a list of texts, which
    are kept with LISTED between them. `between` stands between columns that are one field.
    """

    empty: frozenset[str] = frozenset()
    lists: frozenset[str] = frozenset()
    between: str = " "


LISTED = "\x1f"  # Unicode's mark between units: no text has it
STRICT = Rules()


@dataclass(frozen=True)
class Request:
    """What to look for: the roles in order, and the columns the user named for them."""

    path: Path
    roles: tuple[str, ...]
    columns: dict[str, str]
    more: bool = False
    keep_blank: bool = False
    rules: Rules = STRICT


@dataclass(frozen=True)
class Fault:
    """A line that cannot be read, and why."""

    code: str
    line: int
    reason: str
    text: str | None = None
    mark: tuple[int, int] | None = None
    note: str = ""
    help: tuple[str, ...] = ()
    file: Path | None = None  # where several are read side by side


@dataclass
class Reading(Generic[Item]):
    """What a reader has gathered so far."""

    rows: list[Item] = field(default_factory=list)
    blank: list[int] = field(default_factory=list)
    faults: list[Fault] = field(default_factory=list)
    header: list[str] | None = None
    delimiter: str = ""


def settle(
    name: str, reading: Reading[Row] | Reading[Sentence], path: Path, settings: Data
) -> Source:
    """The source, or an error for its first bad line unless bad lines are to be left out."""
    faults = sorted(reading.faults, key=lambda fault: fault.line)
    if faults and not settings.skip_bad:
        raise _error(faults, path)
    if not reading.rows:
        left_out = f" ({count(len(faults), 'bad line')} left out)" if faults else ""
        raise DataError(
            "D023", f'"{path.name}" has no rows to use{left_out}', place=Place(str(path))
        )
    return Source(
        path=path,
        format=name,
        encoding=spoken(settings.encoding),
        header=reading.header,
        rows=reading.rows,
        blank=reading.blank,
        bad=[(fault.line, f"{fault.code}: {fault.reason}") for fault in faults],
        delimiter=reading.delimiter,
    )


def count(number: int, what: str) -> str:
    """A number with its noun: 1 row, 1,204 rows."""
    return f"{number:,} {what}" if number == 1 else f"{number:,} {what}s"


def listed(lines: Sequence[int], most: int = 3) -> str:
    """The first few line numbers, and a sign that there are more."""
    return ", ".join(str(line) for line in lines[:most]) + (", …" if len(lines) > most else "")


def _error(faults: list[Fault], path: Path) -> DataError:
    """The first fault as an error, with the number of those like it and of the others."""
    alike: dict[str, list[int]] = defaultdict(list)
    for fault in faults:
        alike[fault.code].append(fault.line)
    first = faults[0]
    same = alike.pop(first.code)
    notes = [f"{count(len(same), 'row')} are like this ({listed(same)})."] if len(same) > 1 else []
    notes += [
        f"{count(len(lines), 'other bad row')}: {code} at line {listed(lines)}"
        for code, lines in alike.items()
    ]
    drop = f"--skip-bad   drop {'them' if len(faults) > 1 else 'it'}"
    place = Place(str(first.file or path), first.line, first.text, first.mark, first.note)
    return DataError(first.code, first.reason, place=place, notes=notes, help=[drop, *first.help])
