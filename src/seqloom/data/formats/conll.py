"""CoNLL columns: one word a line with its tags, a blank line between sentences.

Files of sentences that are answered in their own shape: each line stays, tags are filled in.
"""

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path
from typing import Any

from ...errors import DataError, Place, UsageError, nearest
from ..options import Data
from ..text.reading import read_lines
from ..text.tag_schemes import entities, has_scheme
from . import jsonl_tagged
from .base import Fault, Reading, Request, Sentence, settle
from .columns_roles import parse_columns
from .delimited import Layout, Record, faulty
from .jsonl_tagged import Cutter, keys_of

_COMMENT = re.compile(r"#(\s|$)")
_ABOUT = re.compile(r"#\s*(\w[\w.:-]*\s*=|newdoc\b|newpar\b)")
# In CoNLL-U, 3-4 spans two words that have their own lines, and 3.1 is a word nobody wrote.
_NOT_A_WORD = re.compile(r"\d+[-.]\d+$")
_NUMBER = re.compile(r"\d+([-.]\d+)?$")
_TITLES = re.compile(r"#\s*global\.columns\s*=\s*(.+)")
UNIVERSAL = ("id", "form", "lemma", "upos", "xpos", "feats", "head", "deprel", "deps", "misc")
USUAL = {"word": "form", "tag": "upos"}  # the column of a role, where columns have names
NOTHING = "_"  # no tag; among features it says that there are none


@dataclass(frozen=True)
class Shape:
    """Where each role stands, what the columns are called, and the tags that certain words have."""

    layout: Layout
    names: tuple[str, ...]
    tags: frozenset[str]

    @property
    def is_universal(self) -> bool:
        """Whether this is CoNLL-U, or one of its kind: columns have names, words have numbers."""
        return bool(self.names)


def read(lines: list[str], request: Request) -> Reading[Sentence]:
    """The sentences of a file; one with a bad line is left out whole, for a gap would mislead."""
    shape = shape_of(lines, request)
    layout = shape.layout
    reading: Reading[Sentence] = Reading(delimiter=layout.delimiter)
    for words in groups(lines, shape):
        faults = [fault for record in words if (fault := faulty(record, layout)) is not None]
        if words and not faults:
            faults = _untagged(words, shape)
        reading.faults += faults
        if words and not faults:
            fields = tuple([record.fields[place] for record in words] for place in layout.places)
            numbers = tuple(record.line for record in words)
            reading.rows.append(Sentence(words[0].line, fields, numbers))
    return reading


def groups(lines: list[str], shape: Shape) -> Iterator[list[Record]]:
    """The words of each sentence, each cut into its columns; lines that are no words left out."""
    for is_text, group in groupby(enumerate(lines, 1), key=lambda pair: bool(pair[1].strip())):
        if is_text:
            cut = (Record(n, cells(line, shape.layout.delimiter), line) for n, line in group)
            yield [record for record in cut if not _is_aside(record, shape)]


def cells(line: str, delimiter: str) -> list[str]:
    """The columns of a line; only spaces and tabs part words, not the other blanks of Unicode."""
    return line.split("\t") if delimiter == "\t" else re.split("[ \t]+", line.strip(" \t"))


def shape_of(lines: list[str], request: Request) -> Shape:
    """The layout of most lines; those that look like comments do not count."""
    words = [line for line in lines if line.strip() and not _COMMENT.match(line)]
    words = [line for line in words if not line.startswith("-DOCSTART-")]
    delimiter = "\t" if 2 * sum("\t" in line for line in words) > len(words) else " "
    cut = [cells(line, delimiter) for line in words]
    width = Counter(len(cell) for cell in cut).most_common(1)[0][0] if cut else 0
    layout, names = _layout(request, delimiter, width, _names(lines, cut, width))
    place = layout.places[-1]
    return Shape(layout, names, frozenset(cell[place] for cell in cut if place < len(cell)))


def _names(lines: list[str], cut: list[list[str]], width: int) -> tuple[str, ...]:
    """What the columns are called: by a line of CoNLL-U Plus, or by CoNLL-U itself."""
    titles = next((found for line in lines[:5] if (found := _TITLES.match(line))), None)
    if titles is not None:
        return tuple(title.rpartition(":")[2].lower() for title in titles.group(1).split())
    is_universal = width == len(UNIVERSAL) and bool(_NUMBER.match(cut[0][0].strip()))
    return UNIVERSAL if is_universal else ()


def _layout(
    request: Request, delimiter: str, width: int, names: tuple[str, ...]
) -> tuple[Layout, tuple[str, ...]]:
    """Words come first and tags last, but for CoNLL-U; or as the user says, by number or name."""
    width = max(width, len(request.roles))
    usual = {"word": 0, "tag": width - 1}
    if names:
        usual = {role: names.index(title) for role, title in USUAL.items() if title in names}
    places = []
    for role in request.roles:
        said = request.columns.get(role, "")
        if re.fullmatch("[0-9]{1,6}", said):
            places.append(int(said) - 1)
        elif not said and role in usual:
            places.append(usual[role])
        elif (title := (said or role).lower()) in names:
            places.append(names.index(title))
        else:
            raise _nameless(request, said or role, names)
    by_number = all(request.columns.get(role, "").isdigit() for role in request.roles)
    exact = None if by_number else width
    return Layout(request.roles, tuple(places), exact, delimiter), names


def _nameless(request: Request, title: str, names: tuple[str, ...]) -> UsageError:
    """A column that is asked for by a name that it does not have."""
    if names:
        near = nearest(title.lower(), names)
        return UsageError(
            "U010",
            f'this file has no column "{title}"',
            place=Place(str(request.path)),
            notes=[f"found: {', '.join(names)}"],
            help=[f"did you mean {near!r}?"] if near else [],
        )
    numbers = ",".join(f"{role}=NUMBER" for role in request.roles)
    return UsageError(
        "U010",
        f'which column is "{title}"? the columns of this file have no names: give their numbers',
        place=Place(str(request.path)),
        help=[f"--columns {numbers}"],
    )


def _untagged(words: list[Record], shape: Shape) -> list[Fault]:
    """A fault if no word of a sentence has a tag."""
    if "tag" not in shape.layout.roles:
        return []
    place = shape.layout.places[shape.layout.roles.index("tag")]
    if shape.names[place : place + 1] == ("feats",):
        return []
    if any(record.fields[place] != NOTHING for record in words):
        return []
    return [Fault("D120", words[0].line, "this sentence has no tags", words[0].text)]


def _is_aside(record: Record, shape: Shape) -> bool:
    """Whether a line is a comment or a mark; a # with a known tag is a word."""
    if record.text.startswith("-DOCSTART-"):
        return True
    if shape.is_universal:
        return record.text.startswith("#") or (
            shape.names[0] == "id" and bool(_NOT_A_WORD.match(record.fields[0]))
        )
    if not _COMMENT.match(record.text):
        return False
    if _ABOUT.match(record.text) or faulty(record, shape.layout) is not None:
        return True
    return record.fields[shape.layout.places[-1]] not in shape.tags


_MADE_FOR = {".conll": "columns", ".conllu": "columns", ".bio": "columns", ".iob": "columns"}
_MADE_FOR |= {".jsonl": "jsonl", ".ndjson": "jsonl", ".json": "jsonl"}


@dataclass(frozen=True)
class Sheet:
    """Sentences with no tags yet, and the lines of the file with tags written into them."""

    rows: Sequence[Sentence]
    write: Callable[[Sequence[list[str]]], Iterator[str]]


def sheet_of(path: Path, roles: tuple[str, ...], data: Data, cutter: Cutter) -> Sheet | None:
    """A file of sentences by its name, or by the format that was given; None of plain text."""
    name = data.format if data.format != "auto" else _MADE_FOR.get(path.suffix.lower())
    if name not in ("columns", "jsonl"):
        return None
    lines = read_lines(path, data.encoding)
    if name == "jsonl":
        return _json(path, lines, roles, data, cutter)
    return _columns(path, lines, roles, data)


def _columns(path: Path, lines: list[str], roles: tuple[str, ...], data: Data) -> Sheet:
    """The tag's column is written anew; where there is none yet, it becomes the last."""
    said, known = parse_columns(data.columns, roles), roles[:-1]
    bare = shape_of(lines, Request(path, known, _without_tag(said)))
    sentences = [words for words in groups(lines, bare) if words]
    width = max((len(record.fields) for words in sentences for record in words), default=0)
    place = width
    if bare.names or "tag" in said or width > len(known):
        place = shape_of(lines, Request(path, roles, said)).layout.places[-1]
    for record in (record for words in sentences for record in words):
        if (fault := faulty(record, bare.layout)) is not None:
            where = Place(str(path), fault.line, fault.text, fault.mark, fault.note)
            raise DataError(fault.code, fault.reason, place=where)
    rows = [_sentence(words, bare.layout.places) for words in sentences]
    records = {record.line: record for words in sentences for record in words}

    def write(answers: Sequence[list[str]]) -> Iterator[str]:
        filled = {}
        for row, tags in zip(rows, answers, strict=True):
            for number, tag in zip(row.lines, tags, strict=True):
                cells = records[number].fields
                cells = [*cells[:place], tag, *cells[place + 1 :]]
                filled[number] = bare.layout.delimiter.join(cells)
        yield from (filled.get(number, line) for number, line in enumerate(lines, 1))

    return Sheet(rows, write)


def _sentence(words: list[Record], places: Sequence[int]) -> Sentence:
    fields = tuple([record.fields[place] for record in words] for place in places)
    return Sentence(words[0].line, (*fields, []), tuple(record.line for record in words))


def _without_tag(said: dict[str, str]) -> dict[str, str]:
    return {role: name for role, name in said.items() if role != "tag"}


def _json(
    path: Path, lines: list[str], roles: tuple[str, ...], data: Data, cutter: Cutter
) -> Sheet:
    """Tags are written beside words, and spans beside texts; what else there is stays."""
    known = roles[:-1]
    said = parse_columns(data.columns, roles)
    request = Request(path, known, _without_tag(said))
    source = settle("jsonl", jsonl_tagged.read(lines, request, cutter), path, data)
    read = [row for row in source.rows if isinstance(row, Sentence)]
    rows = [replace(row, fields=(*row.fields, [])) for row in read]

    def write(answers: Sequence[list[str]]) -> Iterator[str]:
        for row, tags in zip(rows, answers, strict=True):
            item: dict[str, Any] = json.loads(lines[row.line - 1])
            key = keys_of(item, Request(path, roles, said)).tag
            item[key] = _spans(row, tags) if row.text else tags
            yield json.dumps(item, ensure_ascii=False)

    return Sheet(rows, write)


def _spans(row: Sentence, tags: list[str]) -> list[dict[str, Any]]:
    """The entities that tags stand for; of tags that mark none, each word is one."""
    if has_scheme({*tags, "B"}):
        found = entities(tags)
        spans = [(row.places[e.start][0], row.places[e.end - 1][1], e.kind) for e in found]
    else:
        spans = [(*place, tag) for place, tag in zip(row.places, tags, strict=True)]
    return [{"start": start, "end": end, "label": label} for start, end, label in spans]
