"""File formats of text data: plain text, TSV, CSV, JSON lines, CoNLL, fastText, treebanks.

`read_rows` reads tables, with a field for each role; `read_sentences` reads sentences with tags or
other columns for each word. The format is guessed by the file's extension and content.
"""

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from ...errors import DataError, Place, SeqloomError, UsageError, nearest, unknown
from ..options import Data
from ..text.reading import encoding_name, lazy_lines, read_lines
from . import conll, csv, delimited, fasttext, folders, jsonl, jsonl_tagged, parallel, treebank
from . import text as plain_text
from .base import (
    STRICT_RULES,
    FieldRules,
    ParsedFile,
    ParseResult,
    ReadRequest,
    Row,
    Sentence,
    parsed_file,
)
from .columns_roles import parse_columns, shorten
from .delimited import concatenate_columns
from .parallel_names import files_of

__all__ = [
    "EXTENSIONS",
    "FORMATS",
    "Row",
    "FieldRules",
    "Sentence",
    "ParsedFile",
    "guess_format",
    "read_column",
    "guess_sentence_format",
    "read_rows",
    "read_sentences",
]

FORMATS: dict[str, Callable[[list[str], ReadRequest], ParseResult[Row]]] = {
    "text": plain_text.read,
    "tsv": delimited.read,
    "csv": csv.read,
    "jsonl": jsonl.read,
    "label-first": fasttext.read,
    "trees": treebank.read,
}
TEXT_AND_LABEL = ("text", "label")  # the only roles of folders, label-first lines and trees
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
    extra_fields: bool = False,
    keep_blank: bool = False,
    rules: FieldRules = STRICT_RULES,
) -> ParsedFile:
    """Read a table: one row for each example, with a field for each role in order.

    With `extra_fields`, a tab-separated row may have further fields, which are kept: alternative
    targets. With `keep_blank`, blank lines of plain text are rows too. Parallel files, such as
    train.{de,en}, are read line by line, one file for each role. Columns can be concatenated to one
    field, as in text=title+body.
    """
    if len(files := files_of(path)) > 1:
        return parsed_file("parallel", parallel.read(files, path, roles, settings), path, settings)
    if path.is_dir() and roles == TEXT_AND_LABEL:
        return parsed_file("folder", folders.read(path, settings), path, settings)
    is_plain = settings.format == "auto" and path.suffix.lower() not in EXTENSIONS
    if len(roles) == 1 and (is_plain or settings.format == "text"):
        large = lazy_lines(path, settings.encoding)
        if large is not None:
            return plain_text.lazy_rows(large, path, encoding_name(settings.encoding), keep_blank)
    lines = read_lines(path, settings.encoding)
    name = _format(path, lines, roles, settings)
    extra_fields = extra_fields and name == "tsv"
    columns = parse_columns(settings.columns, roles)
    request = ReadRequest(path, roles, columns, extra_fields, keep_blank, rules)
    return parse_rows(lines, name, request, settings)


def parse_rows(lines: list[str], name: str, request: ReadRequest, settings: Data) -> ParsedFile:
    """The rows of a table in the format of this name; concatenated columns are one field."""
    columns = concatenate_columns(request.columns, request.roles, request.rules)
    rules = replace(request.rules, may_be_empty=columns.may_be_empty)
    by_column = replace(request, roles=columns.roles, columns=columns.columns, rules=rules)
    is_csv = name == "tsv" and settings.format == "auto" and delimited.is_quoted(lines)
    name = "csv" if is_csv else name
    try:
        result = FORMATS[name](lines, by_column)
    except DataError as error:
        raise columns.explain(error, settings.columns) from None
    if is_csv:
        result.notes.insert(0, "all fields are in quotation marks: read as CSV with tabs")
    return parsed_file(name, columns.apply(result), request.path, settings)


def _format(path: Path, lines: list[str], roles: tuple[str, ...], settings: Data) -> str:
    """The format that the user named, or the guessed one, if it can hold these roles."""
    name: str = settings.format
    if name == "auto":
        name = guess_format(path, lines, roles)
        if name == "columns":
            raise _not_this_kind(path, f"one word a line, not rows of {' and '.join(roles)}")
    check_format(name, roles)
    return name


def check_format(name: str, roles: tuple[str, ...]) -> None:
    """Refuse a format that cannot hold these roles."""
    choices = set(FORMATS) - (set() if roles == TEXT_AND_LABEL else {"label-first", "trees"})
    choices -= {"text"} if len(roles) > 1 else set()
    if name not in choices:
        raise _wrong_format(name, roles, choices)


def read_sentences(
    path: Path,
    roles: tuple[str, ...],
    settings: Data,
    tokenize: jsonl_tagged.TokenizeFunction | None = None,
) -> ParsedFile:
    """Read sentences, with a list for each role: CoNLL columns, or JSON lines.

    `tokenize` gives the spans of the words of raw text; by default, text is split at whitespace.
    """
    if len(files := files_of(path)) > 1:
        raise parallel.wrong_number_of_files(files, path, ("words in columns",))
    lines = read_lines(path, settings.encoding)
    if settings.format not in ("auto", "columns", "jsonl"):
        raise _wrong_format(settings.format, roles, {"columns", "jsonl"})
    name = guess_sentence_format(path, lines) if settings.format == "auto" else settings.format
    request = ReadRequest(path, roles, parse_columns(settings.columns, roles))
    if name == "jsonl":
        result = jsonl_tagged.read(lines, request, tokenize or _whitespace_spans)
    else:
        result = conll.read(lines, request)
    return parsed_file(name, result, path, settings)


def guess_sentence_format(path: Path, lines: list[str]) -> str:
    """CoNLL columns or JSON lines, by the file's extension, or else by its first line."""
    if EXTENSIONS.get(path.suffix.lower()) == "jsonl":
        return "jsonl"
    first = next((line for line in lines if line.strip()), "")
    return "jsonl" if re.match(r'\s*\{\s*"', first) else "columns"


def _whitespace_spans(text: str) -> list[tuple[int, int]]:
    return [match.span() for match in re.finditer(r"\S+", text)]


def read_column(file: ParsedFile, column: str, settings: Data) -> dict[int, str]:
    """Read one more column of a parsed file, for grouping: its fields by line.

    Of a sentence it is the field of the first word.
    """
    settings = replace(settings, columns=f"group={column}", skip_bad=True)
    try:
        if file.format == "columns":
            found = read_sentences(file.path, ("group",), replace(settings, format="auto"))
        elif file.format in FORMATS and file.format != "text":
            name: Any = file.format
            found = read_rows(file.path, ("group",), replace(settings, format=name))
        else:
            raise _no_column(file, column)
    except SeqloomError as error:  # the file was read before: it can only lack this column
        raise _no_column(file, column) from error
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
    """The format that the first line shows: a JSON object, a header, a tree; else None."""
    if re.match(r"\s*\{", line):
        return "jsonl"
    titles = {title.strip(' "') for title in re.split("[,;|\t]", line)}
    if set(roles) <= titles:
        return "tsv" if "\t" in line else "csv"
    return "trees" if roles == TEXT_AND_LABEL and treebank.looks_like_tree(line) else None


def _by_all_lines(lines: list[str], roles: tuple[str, ...]) -> str | None:
    """The format that only all lines show: labels before texts, or tabs; else None."""
    if roles == TEXT_AND_LABEL and fasttext.looks_like_fasttext(lines):
        return "label-first"
    return "tsv" if any("\t" in line for line in lines) else None


def _no_column(file: ParsedFile, column: str) -> DataError:
    """An error for a column that does not exist."""
    names = [title for title in file.header or () if title.strip()]
    near = nearest(column, names)
    shown = shorten(", ".join(names)) or "columns without names; give a number, from 1 on"
    return DataError(
        "D160",
        f'"{file.path.name}" has no column "{column}" to group by',
        place=Place(str(file.path)),
        notes=[f"found: {shown}"],
        help=[f"did you mean {near!r}?"] if near else ["--group COLUMN   a name or a number"],
    )


def _not_this_kind(path: Path, found: str, place: Place | None = None) -> DataError:
    """An error for a file whose format cannot be guessed."""
    return DataError(
        "D002",
        f'cannot guess the format of "{path.name}": {found}',
        place=place or Place(str(path)),
        help=["--format tsv   or csv, jsonl, label-first, columns, if you know it"],
    )


def _wrong_format(name: str, roles: tuple[str, ...], choices: set[str]) -> UsageError:
    """An error for a format that cannot hold these roles."""
    if name not in {*FORMATS, "columns"}:
        return unknown("format", name, {*choices, "auto"})
    return UsageError(
        "U010",
        f"format = {name!r}: it cannot hold {' and '.join(roles)}",
        help=[f"choose from: {', '.join(sorted(choices))}"],
    )
