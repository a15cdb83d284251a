"""CoNLL columns: one word a line with its tags, a blank line between sentences."""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby

from ...errors import Place, UsageError
from .fields import Layout, Record, faulty, numbered
from .found import Reading, Request, Sentence

_COMMENT = re.compile(r"#(\s|$)")
_ABOUT = re.compile(r"#\s*(\w[\w.:-]*\s*=|newdoc\b|newpar\b)")
# In CoNLL-U, 3-4 spans two words that have their own lines, and 3.1 is a word nobody wrote.
_NOT_A_WORD = re.compile(r"\d+[-.]\d+$")
_NUMBER = re.compile(r"\d+([-.]\d+)?$")


@dataclass(frozen=True)
class _Shape:
    """Where word and tag stand, whether this is CoNLL-U, and the tags that certain words have."""

    layout: Layout
    is_universal: bool
    tags: set[str]


def read(lines: list[str], request: Request) -> Reading[Sentence]:
    """The sentences of a file; one with a bad line is left out whole, for a gap would mislead."""
    shape = _shape(lines, request)
    layout = shape.layout
    reading: Reading[Sentence] = Reading(delimiter=layout.delimiter)
    for group in _groups(lines, layout.delimiter):
        words = [record for record in group if not _is_aside(record, shape)]
        faults = [fault for record in words if (fault := faulty(record, layout)) is not None]
        reading.faults += faults
        if words and not faults:
            fields = tuple([record.fields[place] for record in words] for place in layout.places)
            reading.rows.append(Sentence(words[0].line, fields))
    return reading


def _groups(lines: list[str], delimiter: str) -> Iterator[list[Record]]:
    """The lines between blank lines, each cut into its columns."""
    for is_text, group in groupby(enumerate(lines, 1), key=lambda pair: bool(pair[1].strip())):
        if is_text:
            yield [Record(number, _cut(line, delimiter), line) for number, line in group]


def _cut(line: str, delimiter: str) -> list[str]:
    """The columns of a line; only spaces and tabs part words, not the other blanks of Unicode."""
    return line.split("\t") if delimiter == "\t" else re.split("[ \t]+", line.strip(" \t"))


def _shape(lines: list[str], request: Request) -> _Shape:
    """The layout of most lines; those that look like comments do not count."""
    words = [line for line in lines if line.strip() and not _COMMENT.match(line)]
    words = [line for line in words if not line.startswith("-DOCSTART-")]
    delimiter = "\t" if 2 * sum("\t" in line for line in words) > len(words) else " "
    cells = [_cut(line, delimiter) for line in words]
    width = Counter(len(cell) for cell in cells).most_common(1)[0][0] if cells else 0
    is_universal = delimiter == "\t" and width == 10 and bool(_NUMBER.match(cells[0][0].strip()))
    layout = numbered(request, delimiter) or _usual(request, delimiter, width, is_universal)
    place = layout.places[-1]
    return _Shape(layout, is_universal, {cell[place] for cell in cells if place < len(cell)})


def _usual(request: Request, delimiter: str, width: int, is_universal: bool) -> Layout:
    """Words come first and tags last, but for CoNLL-U."""
    if request.columns or len(request.roles) > 2:
        numbers = ",".join(f"{role}=NUMBER" for role in request.roles)
        raise UsageError(
            "U010",
            "the columns of this file have no names: give their numbers",
            place=Place(str(request.path)),
            help=[f"--columns {numbers}"],
        )
    width = max(width, len(request.roles))
    places = (1, 3) if is_universal else (0, width - 1)
    return Layout(request.roles, places[: len(request.roles)], width, delimiter)


def _is_aside(record: Record, shape: _Shape) -> bool:
    """Whether a line is a comment or a mark; a # with a known tag is a word."""
    if record.text.startswith("-DOCSTART-"):
        return True
    if shape.is_universal:
        return record.text.startswith("#") or bool(_NOT_A_WORD.match(record.fields[0]))
    if not _COMMENT.match(record.text):
        return False
    if _ABOUT.match(record.text) or faulty(record, shape.layout) is not None:
        return True
    return record.fields[shape.layout.places[-1]] not in shape.tags
