"""CoNLL columns: one word a line with its tags, a blank line between sentences."""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby

from ...errors import Place, UsageError, nearest
from .fields import Layout, Record, faulty
from .found import Fault, Reading, Request, Sentence

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
