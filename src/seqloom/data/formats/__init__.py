"""Files as rows of fields or as sentences of words, whatever their format."""

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from ...errors import DataError, Place, SeqloomError, UsageError, nearest, unknown
from ..options import Data
from ..text.reading import large_lines, read_lines, spoken
from . import conll, csv, delimited, fasttext, folders, jsonl, jsonl_tagged, parallel, treebank
from . import text as plain
from .base import STRICT, Reading, Request, Row, Rules, Sentence, Source, settle
from .columns_roles import parse_columns, shorten
from .delimited import joined
from .parallel_names import files_of

__all__ = [
    "EXTENSIONS",
    "FORMATS",
    "Row",
    "Rules",
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
    "tsv": delimited.read,
    "csv": csv.read,
    "jsonl": jsonl.read,
    "label-first": fasttext.read,
    "trees": treebank.read,
}
LABELLED = ("text", "label")  # the roles that folders, lines with a label first and trees can fill
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
    rules: Rules = STRICT,
) -> Source:
    """One row for each example, with a field for each role in order.

    With `more`, a tab-separated row may have further fields, which are kept: other right answers.
    With `keep_blank`, blank lines of plain text are rows too. The name of several files, such as
    train.{de,en}, is read line by line, one file for each role. Several columns can be one field,
    as in text=title+body.
    """
    if len(files := files_of(path)) > 1:
        return settle("parallel", parallel.read(files, path, roles, settings), path, settings)
    if path.is_dir() and roles == LABELLED:
        return settle("folder", folders.read(path, settings), path, settings)
    is_plain = settings.format == "auto" and path.suffix.lower() not in EXTENSIONS
    if len(roles) == 1 and (is_plain or settings.format == "text"):
        large = large_lines(path, settings.encoding)
        if large is not None:
            return plain.on_disk(large, path, spoken(settings.encoding), keep_blank)
    lines = read_lines(path, settings.encoding)
    name = _format(path, lines, roles, settings)
    found = joined(parse_columns(settings.columns, roles), roles, rules)
    allowed = replace(rules, empty=found.empty)
    request = Request(path, found.roles, found.columns, more and name == "tsv", keep_blank, allowed)
    try:
        reading = FORMATS[name](lines, request)
    except DataError as error:
        raise found.explained(error, settings.columns) from None
    return settle(name, found.together(reading), path, settings)


def _format(path: Path, lines: list[str], roles: tuple[str, ...], settings: Data) -> str:
    """The format the user named, or the one that can be told; one that can hold the roles."""
    able = set(FORMATS) - (set() if roles == LABELLED else {"label-first", "trees"})
    able -= {"text"} if len(roles) > 1 else set()
    name: str = settings.format
    if name == "auto":
        name = guess_format(path, lines, roles)
        if name == "columns":
            raise _not_this_kind(path, f"one word a line, not rows of {' and '.join(roles)}")
    if name not in able:
        raise _wrong_format(name, roles, able)
    return name


def read_sentences(
    path: Path,
    roles: tuple[str, ...],
    settings: Data,
    cutter: jsonl_tagged.Cutter | None = None,
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
        reading = jsonl_tagged.read(lines, request, cutter or _between_blanks)
    else:
        reading = conll.read(lines, request)
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
    name = _by_first_line(lines[first], roles) or _by_all_lines(lines, roles)
    if name is None:
        needs = f"no tab between {' and '.join(roles)}, no header, no JSON"
        raise _not_this_kind(path, needs, Place(str(path), first + 1, lines[first]))
    return name


def _by_first_line(line: str, roles: tuple[str, ...]) -> str | None:
    """The format, where the first line tells it: an object, a header, a tree."""
    if re.match(r"\s*\{", line):
        return "jsonl"
    titles = {title.strip(' "') for title in re.split("[,;|\t]", line)}
    if set(roles) <= titles:
        return "tsv" if "\t" in line else "csv"
    return "trees" if roles == LABELLED and treebank.fits(line) else None


def _by_all_lines(lines: list[str], roles: tuple[str, ...]) -> str | None:
    """The format, where it shows in all lines alone: labels before texts, or tabs."""
    if roles == LABELLED and fasttext.fits(lines):
        return "label-first"
    return "tsv" if any("\t" in line for line in lines) else None


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
        help=["--format tsv   or csv, jsonl, label-first, columns, if you know it"],
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
