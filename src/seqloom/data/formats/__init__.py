"""Files as rows of fields or as sentences of words, whatever their format."""

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from ...errors import DataError, Place, SeqloomError, UsageError, nearest, unknown
from ..names import files_of
from ..settings import Data
from ..text import large_lines, read_lines, spoken
from . import columns, json_lines, json_sentences, pairs, parallel, plain, table
from .found import Reading, Request, Row, Sentence, Source, settle
from .roles import parse_columns, shorten

__all__ = [
    "EXTENSIONS",
    "FORMATS",
    "Row",
    "Sentence",
    "Source",
    "guess_format",
    "read_column",
    "guess_sentences",
    "read_rows",
    "read_sentences",
]

FORMATS: dict[str, Callable[[list[str], Request], Reading[Row]]] = {
    "text": plain.read,
    "tsv": pairs.read,
    "csv": table.read,
    "jsonl": json_lines.read,
}
EXTENSIONS = {
    ".tsv": "tsv",
    ".csv": "csv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "jsonl",
    ".conll": "columns",
    ".conllu": "columns",
    ".bio": "columns",
    ".iob": "columns",
}


def read_rows(
    path: Path,
    roles: tuple[str, ...],
    settings: Data,
    *,
    more: bool = False,
    keep_blank: bool = False,
) -> Source:
    """One row for each example, with a field for each role in order.

    With `more`, a tab-separated row may have further fields, which are kept: other right answers.
    With `keep_blank`, blank lines of plain text are rows too. The name of several files, such as
    train.{de,en}, is read line by line, one file for each role.
    """
    if len(files := files_of(path)) > 1:
        return settle("parallel", parallel.read(files, path, roles, settings), path, settings)
    name: str = settings.format
    is_text = name == "text" or (name == "auto" and path.suffix.lower() not in EXTENSIONS)
    if is_text and len(roles) == 1:
        large = large_lines(path, settings.encoding)
        if large is not None:
            return plain.on_disk(large, path, spoken(settings.encoding), keep_blank)
    lines = read_lines(path, settings.encoding)
    if name == "auto":
        name = guess_format(path, lines, roles)
        if name == "columns":
            raise _not_this_kind(path, f"one word a line, not rows of {' and '.join(roles)}")
    elif name not in FORMATS:
        raise _wrong_format(name, roles, set(FORMATS))
    if name == "text" and len(roles) > 1:
        raise _wrong_format(name, roles, set(FORMATS) - {"text"})
    columns = parse_columns(settings.columns, roles)
    request = Request(path, roles, columns, more and name == "tsv", keep_blank)
    return settle(name, FORMATS[name](lines, request), path, settings)


def read_sentences(
    path: Path,
    roles: tuple[str, ...],
    settings: Data,
    cutter: json_sentences.Cutter | None = None,
) -> Source:
    """One list for each role and sentence: columns with one word a line, or JSON lines.

    The cutter says where the words of a text are; left out, they are what stands between blanks.
    """
    if len(files := files_of(path)) > 1:
        raise parallel.several(files, path, ("words in columns",))
    lines = read_lines(path, settings.encoding)
    if settings.format not in ("auto", "columns", "jsonl"):
        raise _wrong_format(settings.format, roles, {"columns", "jsonl"})
    name = guess_sentences(path, lines) if settings.format == "auto" else settings.format
    request = Request(path, roles, parse_columns(settings.columns, roles))
    if name == "jsonl":
        reading = json_sentences.read(lines, request, cutter or _between_blanks)
    else:
        reading = columns.read(lines, request)
    return settle(name, reading, path, settings)


def guess_sentences(path: Path, lines: list[str]) -> str:
    """Columns or JSON lines, by the file's extension, or else by its first line."""
    if EXTENSIONS.get(path.suffix.lower()) == "jsonl":
        return "jsonl"
    first = next((line for line in lines if line.strip()), "")
    return "jsonl" if re.match(r'\s*\{\s*"', first) else "columns"


def _between_blanks(text: str) -> list[tuple[int, int]]:
    return [match.span() for match in re.finditer(r"\S+", text)]


def read_column(source: Source, column: str, settings: Data) -> dict[int, str]:
    """What stands in one more column of a file that was read, by the line of each row.

    Of a sentence it is what its first word has.
    """
    asked = replace(settings, columns=f"group={column}", skip_bad=True)
    try:
        if source.format == "columns":
            found = read_sentences(source.path, ("group",), replace(asked, format="auto"))
        elif source.format in FORMATS and source.format != "text":
            name: Any = source.format
            found = read_rows(source.path, ("group",), replace(asked, format=name))
        else:
            raise _no_column(source, column)
    except SeqloomError as error:  # that the file can be read is known: it has no such column
        raise _no_column(source, column) from error
    fields = {row.line: row.fields[0] for row in found.rows}
    return {line: field if isinstance(field, str) else field[0] for line, field in fields.items()}


def guess_format(path: Path, lines: list[str], roles: tuple[str, ...]) -> str:
    """The format by the file's extension, or else by its content."""
    known = EXTENSIONS.get(path.suffix.lower())
    if known is not None:
        return known
    if len(roles) == 1:
        return "text"
    first = next(number for number, line in enumerate(lines) if line.strip())
    if re.match(r"\s*\{", lines[first]):
        return "jsonl"
    if "\t" in lines[first]:
        return "tsv"
    header = re.split("[,;|]", lines[first])
    if set(roles) <= {title.strip(' "') for title in header}:
        return "csv"
    if any("\t" in line for line in lines):
        return "tsv"
    needs = f"no tab between {' and '.join(roles)}, no header, no JSON"
    raise _not_this_kind(path, needs, Place(str(path), first + 1, lines[first]))


def _no_column(source: Source, column: str) -> DataError:
    """An error for a column that is not there."""
    names = [title for title in source.header or () if title.strip()]
    near = nearest(column, names)
    shown = shorten(", ".join(names)) or "no names of columns; they go by number, from 1 on"
    return DataError(
        "D160",
        f'"{source.path.name}" has no column "{column}" to group by',
        place=Place(str(source.path)),
        notes=[f"found: {shown}"],
        help=[f"did you mean {near!r}?"] if near else ["--group COLUMN   a name or a number"],
    )


def _not_this_kind(path: Path, found: str, place: Place | None = None) -> DataError:
    """An error for a file that does not look like any table."""
    return DataError(
        "D002",
        f'cannot tell how "{path.name}" is laid out: {found}',
        place=place or Place(str(path)),
        help=["--format tsv   or csv, jsonl, columns, if you know it"],
    )


def _wrong_format(name: str, roles: tuple[str, ...], choices: set[str]) -> UsageError:
    """An error for a format that cannot hold what is asked for."""
    if name not in {*FORMATS, "columns"}:
        return unknown("format", name, {*choices, "auto"})
    return UsageError(
        "U010",
        f"format = {name!r}: it cannot hold {' and '.join(roles)}",
        help=[f"choose from: {', '.join(sorted(choices))}"],
    )
