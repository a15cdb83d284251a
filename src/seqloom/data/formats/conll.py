"""CoNLL and CoNLL-U files: one word a line with its tags, a blank line between sentences.

They are read, and written with predicted tags filled in; all other lines stay as they are.
"""

import json
import re
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path
from typing import Any

from ...errors import DataError, Place, UsageError, nearest
from ..options import Data
from ..text.reading import read_lines
from ..text.tag_schemes import entities, has_scheme
from . import jsonl_tagged
from .base import (
    PROBABILITY,
    BadLine,
    InputFile,
    JoinedPrediction,
    ParseResult,
    ReadRequest,
    Sentence,
    free_names,
    parsed_file,
)
from .columns_roles import parse_columns
from .delimited import ColumnLayout, RawRecord, check_record
from .jsonl_tagged import TokenizeFunction, find_keys

_COMMENT = re.compile(r"#(\s|$)")
_METADATA = re.compile(r"#\s*(\w[\w.:-]*\s*=|newdoc\b|newpar\b)")
# In CoNLL-U, 3-4 is a multiword token whose words have their own lines, and 3.1 an empty node.
_NOT_A_WORD = re.compile(r"\d+[-.]\d+$")
_WORD_ID = re.compile(r"\d+([-.]\d+)?$")
_COLUMN_NAMES = re.compile(r"#\s*global\.columns\s*=\s*(.+)")
CONLLU_COLUMNS = ("id", "form", "lemma", "upos", "xpos", "feats", "head", "deprel", "deps", "misc")
DEFAULT_COLUMNS = {"word": "form", "tag": "upos"}  # the columns of roles in CoNLL-U
NO_VALUE = "_"  # no tag; in the column feats it means that a word has no features


@dataclass(frozen=True)
class ConllLayout:
    """Layout of a CoNLL file: the column of each role, the column names, and all its tags."""

    columns: ColumnLayout
    names: tuple[str, ...]
    tags: frozenset[str]

    @property
    def is_conllu(self) -> bool:
        """Whether this is CoNLL-U or CoNLL-U Plus: columns have names."""
        return bool(self.names)


def read(lines: list[str], request: ReadRequest) -> ParseResult[Sentence]:
    """Read sentences; one with a bad line is left out, as a gap in it would change its meaning."""
    layout = detect_layout(lines, request)
    columns = layout.columns
    result: ParseResult[Sentence] = ParseResult(delimiter=columns.delimiter)
    for words in sentence_records(lines, layout):
        checked = [check_record(record, columns) for record in words]
        bad_lines = [bad_line for bad_line in checked if bad_line is not None]
        if words and not bad_lines:
            bad_lines = _untagged(words, layout)
        result.bad_lines += bad_lines
        if words and not bad_lines:
            fields = tuple(
                [record.fields[column] for record in words] for column in columns.columns
            )
            numbers = tuple(record.line for record in words)
            result.rows.append(Sentence(words[0].line, fields, numbers))
    return result


def sentence_records(lines: list[str], layout: ConllLayout) -> Iterator[list[RawRecord]]:
    """The words of each sentence as records; comments and markers are left out."""
    for is_text, group in groupby(enumerate(lines, 1), key=lambda pair: bool(pair[1].strip())):
        if is_text:
            delimiter = layout.columns.delimiter
            records = (RawRecord(n, split_fields(line, delimiter), line) for n, line in group)
            yield [record for record in records if not _is_comment(record, layout)]


def split_fields(line: str, delimiter: str) -> list[str]:
    """The columns of a line, separated by spaces or tabs; other whitespace is part of words."""
    return line.split("\t") if delimiter == "\t" else re.split("[ \t]+", line.strip(" \t"))


def detect_layout(lines: list[str], request: ReadRequest) -> ConllLayout:
    """The layout of most lines, without those that look like comments."""
    words = [line for line in lines if line.strip() and not _COMMENT.match(line)]
    words = [line for line in words if not line.startswith("-DOCSTART-")]
    delimiter = "\t" if 2 * sum("\t" in line for line in words) > len(words) else " "
    rows = [split_fields(line, delimiter) for line in words]
    width = Counter(len(row) for row in rows).most_common(1)[0][0] if rows else 0
    columns, names = _columns_of(request, delimiter, width, _names(lines, rows, width))
    last = columns.columns[-1]
    return ConllLayout(columns, names, frozenset(row[last] for row in rows if last < len(row)))


def _names(lines: list[str], rows: list[list[str]], width: int) -> tuple[str, ...]:
    """The names of the columns, of CoNLL-U Plus (# global.columns) or CoNLL-U; else none."""
    found = next((match for line in lines[:5] if (match := _COLUMN_NAMES.match(line))), None)
    if found is not None:
        return tuple(name.rpartition(":")[2].lower() for name in found.group(1).split())
    is_conllu = width == len(CONLLU_COLUMNS) and bool(_WORD_ID.match(rows[0][0].strip()))
    return CONLLU_COLUMNS if is_conllu else ()


def _columns_of(
    request: ReadRequest, delimiter: str, width: int, names: tuple[str, ...]
) -> tuple[ColumnLayout, tuple[str, ...]]:
    """The column of each role: as the user says, or words first and tags last; CoNLL-U by name."""
    width = max(width, len(request.roles))
    default = {"word": 0, "tag": width - 1}
    if names:
        named = DEFAULT_COLUMNS.items()
        default = {role: names.index(name) for role, name in named if name in names}
    columns = []
    for role in request.roles:
        given = request.columns.get(role, "")
        if re.fullmatch("[0-9]{1,6}", given):
            columns.append(int(given) - 1)
        elif not given and role in default:
            columns.append(default[role])
        elif (name := (given or role).lower()) in names:
            columns.append(names.index(name))
        else:
            raise _no_column(request, given or role, names)
    by_number = all(request.columns.get(role, "").isdigit() for role in request.roles)
    num_fields = None if by_number else width
    return ColumnLayout(request.roles, tuple(columns), num_fields, delimiter), names


def _no_column(request: ReadRequest, name: str, names: tuple[str, ...]) -> UsageError:
    """An error for a column name that the file does not have."""
    if names:
        near = nearest(name.lower(), names)
        return UsageError(
            "U010",
            f'this file has no column "{name}"',
            place=Place(str(request.path)),
            notes=[f"found: {', '.join(names)}"],
            help=[f"did you mean {near!r}?"] if near else [],
        )
    numbers = ",".join(f"{role}=NUMBER" for role in request.roles)
    return UsageError(
        "U010",
        f'which column is "{name}"? the columns of this file have no names: give their numbers',
        place=Place(str(request.path)),
        help=[f"--columns {numbers}"],
    )


def _untagged(words: list[RawRecord], layout: ConllLayout) -> list[BadLine]:
    """A bad line if no word of a sentence has a tag."""
    if "tag" not in layout.columns.roles:
        return []
    column = layout.columns.columns[layout.columns.roles.index("tag")]
    if layout.names[column : column + 1] == ("feats",):
        return []
    if any(record.fields[column] != NO_VALUE for record in words):
        return []
    return [BadLine("D120", words[0].line, "this sentence has no tags", words[0].text)]


def _is_comment(record: RawRecord, layout: ConllLayout) -> bool:
    """Whether a line is a comment or a marker; a # that has a known tag is a word."""
    if record.text.startswith("-DOCSTART-"):
        return True
    if layout.is_conllu:
        return record.text.startswith("#") or (
            layout.names[0] == "id" and bool(_NOT_A_WORD.match(record.fields[0]))
        )
    if not _COMMENT.match(record.text):
        return False
    if _METADATA.match(record.text) or check_record(record, layout.columns) is not None:
        return True
    return record.fields[layout.columns.columns[-1]] not in layout.tags


_FORMATS = {".conll": "columns", ".conllu": "columns", ".bio": "columns", ".iob": "columns"}
_FORMATS |= {".tsv": "columns", ".jsonl": "jsonl", ".ndjson": "jsonl", ".json": "jsonl"}


def read_untagged(
    path: Path,
    roles: tuple[str, ...],
    data: Data,
    tokenize: TokenizeFunction,
    tags: Collection[str] = (),
) -> InputFile | None:
    """The untagged sentences of a CoNLL or JSON lines file; None for plain text.

    Columns are known by the name of the file, or because most lines end with one of the `tags`.
    """
    if data.format == "text":
        return None
    if data.format not in ("auto", "columns", "jsonl"):
        raise _no_sentences(data.format)
    name = data.format if data.format != "auto" else _FORMATS.get(path.suffix.lower(), "")
    lines, guess = read_lines(path, data.encoding), ""
    if not name:
        name, guess = _looks_tagged(lines, tags)
    if not name:
        return None
    if name == "jsonl":
        return replace(_json_writer(path, lines, roles, data, tokenize), guess=guess)
    return replace(_conll_writer(path, lines, roles, data), guess=guess)


def _looks_tagged(lines: list[str], tags: Collection[str]) -> tuple[str, str]:
    """The format of a file whose name does not say it, and why; two empty texts for plain text."""
    written = [line for line in lines if line.strip() and not _COMMENT.match(line)]
    if written and re.match(r'\s*\{\s*"', written[0]):
        return "jsonl", "its first line is a JSON object"
    rows = [line.split() for line in written]
    tagged = sum(len(row) > 1 and row[-1] in tags for row in rows)
    is_even = len({len(row) for row in rows}) == 1
    if rows and is_even and 10 * tagged >= 9 * len(rows):
        return "columns", "its lines end with tags"
    return "", ""


def _no_sentences(name: str) -> UsageError:
    return UsageError(
        "U010",
        f"format = {name!r}: it cannot hold words and tags",
        help=["choose from: columns, jsonl, text"],
    )


def _conll_writer(path: Path, lines: list[str], roles: tuple[str, ...], data: Data) -> InputFile:
    """Tags replace the tag column; a file without one gets a new last column."""
    given, inputs = parse_columns(data.columns, roles), roles[:-1]
    layout = detect_layout(lines, ReadRequest(path, inputs, _without_tag(given)))
    sentences = [words for words in sentence_records(lines, layout) if words]
    width = max((len(record.fields) for words in sentences for record in words), default=0)
    column = width
    if layout.names or "tag" in given or width > len(inputs):
        column = detect_layout(lines, ReadRequest(path, roles, given)).columns.columns[-1]
    for record in (record for words in sentences for record in words):
        if (bad := check_record(record, layout.columns)) is not None:
            place = Place(str(path), bad.line, bad.text, bad.mark, bad.note)
            raise DataError(bad.code, bad.reason, place=place)
    rows = [_sentence(words, layout.columns.columns) for words in sentences]
    records = {record.line: record for words in sentences for record in words}

    def write(predictions: Sequence[JoinedPrediction | None]) -> Iterator[str]:
        filled = {}
        for row, one in zip(rows, predictions, strict=True):
            for number, tag, sure in _answers(row, one):
                fields = records[number].fields
                fields = _filled([*fields[:column], tag, *fields[column + 1 :]], sure, layout)
                filled[number] = layout.columns.delimiter.join(fields)
        yield from (filled.get(number, line) for number, line in enumerate(lines, 1))

    return InputFile("columns", rows, write)


def _answers(
    row: Sentence, prediction: JoinedPrediction | None
) -> Iterator[tuple[int, str, float | None]]:
    """The line of each word of a sentence, with its tag and the probability of it."""
    if prediction is None:
        return
    unknown: list[float | None] = [None] * len(row.lines)
    given = prediction.probability
    sure = [*given] if isinstance(given, list) else unknown
    yield from zip(row.lines, prediction.value, sure, strict=True)


def _filled(fields: list[str], probability: float | None, layout: ConllLayout) -> list[str]:
    """A word's columns with the probability of its tag as the last, or in MISC of CoNLL-U."""
    if probability is None:
        return fields
    filled = list(fields)
    if not layout.is_conllu:
        return [*filled, f"{probability:.6g}"]
    if "misc" in layout.names:
        place, said = layout.names.index("misc"), f"p={probability:.6g}"
        filled[place] = said if filled[place] == NO_VALUE else f"{filled[place]}|{said}"
    return filled


def _sentence(words: list[RawRecord], columns: Sequence[int]) -> Sentence:
    """A sentence with these columns, and an empty list for its tags."""
    fields = tuple([record.fields[column] for record in words] for column in columns)
    return Sentence(words[0].line, (*fields, []), tuple(record.line for record in words))


def _without_tag(given: dict[str, str]) -> dict[str, str]:
    return {role: name for role, name in given.items() if role != "tag"}


def _json_writer(
    path: Path, lines: list[str], roles: tuple[str, ...], data: Data, tokenize: TokenizeFunction
) -> InputFile:
    """Objects with words get tags, those with a text get spans; other keys stay."""
    given, inputs = parse_columns(data.columns, roles), roles[:-1]
    request = ReadRequest(path, inputs, _without_tag(given))
    file = parsed_file("jsonl", jsonl_tagged.read(lines, request, tokenize), path, data)
    sentences = [row for row in file.rows if isinstance(row, Sentence)]
    rows = [replace(row, fields=(*row.fields, [])) for row in sentences]

    def write(predictions: Sequence[JoinedPrediction | None]) -> Iterator[str]:
        for row, one in zip(rows, predictions, strict=True):
            item: dict[str, Any] = json.loads(lines[row.line - 1])
            if one is not None:
                key = find_keys(item, ReadRequest(path, roles, given)).tag
                sure = one.probability if isinstance(one.probability, list) else []
                item[key] = _spans(row, one.value, sure) if row.text else one.value
                if sure and not row.text:
                    item[free_names([PROBABILITY], list(item))[0]] = sure
            yield json.dumps(item, ensure_ascii=False)

    return InputFile("jsonl", rows, write)


def _spans(row: Sentence, tags: list[str], sure: Sequence[float]) -> list[dict[str, Any]]:
    """Tags as character spans: of entities, or of single words if tags mark no entities.

    A span is as probable as its least certain tag.
    """
    if has_scheme({*tags, "B"}):
        words = [(one.start, one.end, one.kind) for one in entities(tags)]
    else:
        words = [(place, place + 1, tag) for place, tag in enumerate(tags)]
    places = row.word_spans
    return [
        {"start": places[first][0], "end": places[end - 1][1], "label": label}
        | ({PROBABILITY: min(sure[first:end])} if sure else {})
        for first, end, label in words
    ]
