"""Files of sentences that are answered in their own shape: each line stays, tags are filled in."""

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ...errors import DataError, Place
from ..schemes import entities, has_scheme
from ..settings import Data
from ..text import read_lines
from . import columns, json_sentences
from .fields import Record, faulty
from .found import Request, Sentence, settle
from .json_sentences import Cutter, keys_of
from .roles import parse_columns

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
    bare = columns.shape_of(lines, Request(path, known, _without_tag(said)))
    groups = [words for words in columns.groups(lines, bare) if words]
    width = max((len(record.fields) for words in groups for record in words), default=0)
    place = width
    if bare.names or "tag" in said or width > len(known):
        place = columns.shape_of(lines, Request(path, roles, said)).layout.places[-1]
    for record in (record for words in groups for record in words):
        if (fault := faulty(record, bare.layout)) is not None:
            where = Place(str(path), fault.line, fault.text, fault.mark, fault.note)
            raise DataError(fault.code, fault.reason, place=where)
    rows = [_sentence(words, bare.layout.places) for words in groups]
    records = {record.line: record for words in groups for record in words}

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
    source = settle("jsonl", json_sentences.read(lines, request, cutter), path, data)
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
