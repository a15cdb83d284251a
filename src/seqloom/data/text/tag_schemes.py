"""Tag schemes: how tags of words say which words are one entity.

BIO (IOB2)   B begins every entity, I goes on with it, O is outside
IOB1         I begins and goes on; B begins only what follows an entity of the same kind
BIOES        as BIO, but E ends an entity of several words, and S is an entity of one

Whatever the scheme, entities are read as conlleval reads them (Tjong Kim Sang & Buchholz, 2000): a
word goes on with the entity before it where it has I or E, the word before has B or I, and both
are of one kind. Tags that break their scheme are read in the same way.
"""

import re
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any, Literal, NamedTuple

SchemeName = Literal["none", "bio", "iob1", "bioes"]
TITLES: dict[str, str] = {"bio": "BIO (IOB2)", "iob1": "IOB1", "bioes": "BIOES"}
OUTSIDE = "O"
NAMELESS = "_"  # the kind of entities that tags do not name
_TAG = re.compile(r"O$|([BIES])(-.*)?$", re.DOTALL)


class Entity(NamedTuple):
    """Words that are one entity: its kind, the first of them, and the first after them."""

    kind: str
    start: int
    end: int


class Break(NamedTuple):
    """Two tags side by side that the scheme does not allow; `place` is that of the second."""

    place: int
    before: str
    after: str

    def told(self) -> str:
        """What stands there, and how it was read."""
        prefix, kind = cut(self.after)
        where = f"{self.after} after {self.before}" if self.before else f"{self.after} at the start"
        if prefix in "IE":
            return f"{where}: read as the beginning of a new {kind}"
        if self.before and cut(self.before)[0] in "BI" and prefix != "B":
            ended = f"{self.before} before {self.after or 'the end'}"
            return f"{ended}: read as the end of that {cut(self.before)[1]}"
        return f"{where}: read as the beginning of a new {kind}"


def cut(tag: str) -> tuple[str, str]:
    """The letter of a tag and the kind after it; the kind of O is empty."""
    if tag in (OUTSIDE, ""):
        return OUTSIDE, ""
    return tag[0], tag[2:] or NAMELESS


def has_scheme(tags: Iterable[str]) -> bool:
    """Whether tags say which words are one entity: all have a letter of a scheme, some not O."""
    kinds = set(tags)
    return bool(kinds - {OUTSIDE}) and all(map(_TAG.match, kinds))


def recognised(sentences: Iterable[Sequence[str]]) -> SchemeName:
    """The scheme that most entities follow."""
    known = list(sentences)
    tags = {tag for sentence in known for tag in sentence}
    if not has_scheme(tags):
        return "none"
    if any(tag[0] in "ES" for tag in tags):
        return "bioes"
    inside = needless = 0  # entities that BIO does not allow, and those that IOB1 does not
    for sentence in known:
        for before, after in pairwise(("", *sentence)):
            inside += not _may_follow("bio", before, after)
            needless += not _may_follow("iob1", before, after)
    return "iob1" if inside > needless else "bio"


def entities(tags: Sequence[str]) -> list[Entity]:
    """The entities that tags of any scheme stand for, as conlleval reads them."""
    found: list[Entity] = []
    before, kind_before = OUTSIDE, ""
    for place, tag in enumerate(tags):
        letter, kind = cut(tag)
        goes_on = letter in "IE" and before in "BI" and kind == kind_before
        if goes_on:
            found[-1] = found[-1]._replace(end=place + 1)
        elif letter != OUTSIDE:
            found.append(Entity(kind, place, place + 1))
        before, kind_before = letter, kind
    return found


def tags_of(found: Iterable[Entity], length: int, scheme: SchemeName) -> list[str]:
    """The tags of so many words that stand for these entities."""
    tags, last = [OUTSIDE] * length, Entity("", -1, -1)
    for entity in found:
        letters = ["I"] * (entity.end - entity.start)
        is_close = last.kind == entity.kind and last.end == entity.start
        if scheme != "iob1" or is_close:
            letters[0] = "B"
        if scheme == "bioes":
            letters[-1] = "S" if len(letters) == 1 else "E"
        ending = "" if entity.kind == NAMELESS else f"-{entity.kind}"
        tags[entity.start : entity.end] = [letter + ending for letter in letters]
        last = entity
    return tags


def breaks(tags: Sequence[str], scheme: SchemeName) -> list[Break]:
    """Where tags are side by side that the scheme does not allow."""
    if scheme == "none":
        return []
    pairs = enumerate(pairwise(("", *tags, "")))
    found = [Break(place, *pair) for place, pair in pairs if not _may_follow(scheme, *pair)]
    return [one._replace(place=min(one.place, len(tags) - 1)) for one in found]


def barred(labels: Sequence[str], scheme: SchemeName) -> frozenset[tuple[int, int]]:
    """The numbers of labels that never stand side by side, as `forms.Labels` has them."""
    if scheme == "none":
        return frozenset()
    names = [*labels, ""]
    found = {
        (i, j)
        for i, before in enumerate(names)
        for j, after in enumerate(names)
        if (before or after) and not _may_follow(scheme, before, after)
    }
    ends, alone = len(labels), range(len(labels))
    if all((ends, label) in found or (label, ends) in found for label in alone):
        # A sentence of one word could have no label at all, so any may be first and last.
        found = {pair for pair in found if ends not in pair}
    return frozenset(found)


def _may_follow(scheme: SchemeName, before: str, after: str) -> bool:
    """Whether two tags may stand side by side; an empty one is beyond the sentence."""
    (first, kind_before), (second, kind) = cut(before), cut(after)
    is_same = kind == kind_before
    if scheme == "bioes":
        is_open = first in "BI"
        return (second in "IE") == is_open and (is_same or not is_open)
    if scheme == "iob1":
        return second != "B" or (first != OUTSIDE and is_same)
    return second != "I" or (first != OUTSIDE and is_same)


class Scheme:
    """The scheme of a file, and the one a model learns; a codec, so that a run remembers both."""

    def __init__(self, wanted: Literal["as-is", "bio", "bioes"] = "as-is") -> None:
        self.wanted = wanted
        self.written: SchemeName = "none"

    @property
    def learned(self) -> SchemeName:
        """What the model's labels follow."""
        if self.written == "none" or self.wanted == "as-is":
            return self.written
        return self.wanted

    def barred(self, labels: Sequence[str]) -> frozenset[tuple[int, int]]:
        """The numbers of the model's labels that never stand side by side."""
        return barred(labels, self.learned)

    def read(self, tags: Sequence[str]) -> list[str]:
        """The tags of a file as the model learns them; what breaks the scheme is mended."""
        if self.written == "none" or not has_scheme({*tags, "B"}):
            return list(tags)
        return tags_of(entities(tags), len(tags), self.learned)

    def shown(self, labels: Sequence[str]) -> list[str]:
        """A model's labels as the file had them; where both are one, nothing is changed."""
        if self.learned == self.written:
            return list(labels)
        return tags_of(entities(labels), len(labels), self.written)

    def state(self) -> dict[str, Any]:
        return {"written": self.written}

    def restore(self, state: dict[str, Any]) -> None:
        self.written = state["written"]
