"""Tag schemes of entities: BIO (IOB2), IOB1 and BIOES (IOBES, BILOU).

BIO     IOB2 (Ramshaw & Marcus, 1995): B begins every entity, I continues it, O is outside
IOB1    I begins and continues entities; B begins an entity right after one of the same kind
BIOES   as BIO, but E ends an entity of several words, and S is an entity of a single word; with
        the letters L and U for E and S it is known as BILOU

In every scheme, entities are decoded as by conlleval (Tjong Kim Sang & Buchholz, 2000): a word
continues the entity before it if it has I or E, the word before has B or I, and both are of one
kind. Tags that violate their scheme are decoded in the same way.
"""

import re
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any, Literal, NamedTuple

SchemeName = Literal["none", "bio", "iob1", "bioes"]
SCHEME_TITLES: dict[str, str] = {"bio": "BIO (IOB2)", "iob1": "IOB1", "bioes": "BIOES"}
OUTSIDE = "O"
NAMELESS = "_"  # the kind of entities that tags do not name
_TAG = re.compile(r"O$|([BIES])(-.*)?$", re.DOTALL)


class Entity(NamedTuple):
    """An entity (chunk, span): its kind, its first word, and the first word after it."""

    kind: str
    start: int
    end: int


class SchemeViolation(NamedTuple):
    """Two adjacent tags that the scheme forbids; `position` is that of the second."""

    position: int
    before: str
    after: str

    def describe(self) -> str:
        """The tags, and how they were decoded, in words."""
        prefix, kind = split_tag(self.after)
        where = f"{self.after} after {self.before}" if self.before else f"{self.after} at the start"
        if prefix in "IE":
            return f"{where}: read as the beginning of a new {kind}"
        if self.before and split_tag(self.before)[0] in "BI" and prefix != "B":
            ended = f"{self.before} before {self.after or 'the end'}"
            return f"{ended}: read as the end of that {split_tag(self.before)[1]}"
        return f"{where}: read as the beginning of a new {kind}"


def split_tag(tag: str) -> tuple[str, str]:
    """The letter of a tag and its kind, as B and person of B-person; the kind of O is empty."""
    if tag in (OUTSIDE, ""):
        return OUTSIDE, ""
    return tag[0], tag[2:] or NAMELESS


def has_scheme(tags: Iterable[str]) -> bool:
    """Whether tags mark entities: all have a letter of a scheme, and not all are O."""
    kinds = set(tags)
    return bool(kinds - {OUTSIDE}) and all(map(_TAG.match, kinds))


def detect_scheme(sentences: Iterable[Sequence[str]]) -> SchemeName:
    """The scheme with the fewest violations; none if tags do not mark entities."""
    known = list(sentences)
    tags = {tag for sentence in known for tag in sentence}
    if not has_scheme(tags):
        return "none"
    if any(tag[0] in "ES" for tag in tags):
        return "bioes"
    of_bio = of_iob1 = 0  # violations
    for sentence in known:
        for before, after in pairwise(("", *sentence)):
            of_bio += not _may_follow("bio", before, after)
            of_iob1 += not _may_follow("iob1", before, after)
    return "iob1" if of_bio > of_iob1 else "bio"


def entities(tags: Sequence[str]) -> list[Entity]:
    """Decode the tags of any scheme to entities, as conlleval does."""
    found: list[Entity] = []
    before, kind_before = OUTSIDE, ""
    for position, tag in enumerate(tags):
        letter, kind = split_tag(tag)
        continues = letter in "IE" and before in "BI" and kind == kind_before
        if continues:
            found[-1] = found[-1]._replace(end=position + 1)
        elif letter != OUTSIDE:
            found.append(Entity(kind, position, position + 1))
        before, kind_before = letter, kind
    return found


def entity_tags(found: Iterable[Entity], length: int, scheme: SchemeName) -> list[str]:
    """Encode the entities of a sentence of `length` words as tags."""
    tags, last = [OUTSIDE] * length, Entity("", -1, -1)
    for entity in found:
        letters = ["I"] * (entity.end - entity.start)
        is_adjacent = last.kind == entity.kind and last.end == entity.start
        if scheme != "iob1" or is_adjacent:
            letters[0] = "B"
        if scheme == "bioes":
            letters[-1] = "S" if len(letters) == 1 else "E"
        ending = "" if entity.kind == NAMELESS else f"-{entity.kind}"
        tags[entity.start : entity.end] = [letter + ending for letter in letters]
        last = entity
    return tags


def violations(tags: Sequence[str], scheme: SchemeName) -> list[SchemeViolation]:
    """The violations of a scheme in the tags of a sentence."""
    if scheme == "none":
        return []
    pairs = enumerate(pairwise(("", *tags, "")))
    found = [SchemeViolation(i, *pair) for i, pair in pairs if not _may_follow(scheme, *pair)]
    return [one._replace(position=min(one.position, len(tags) - 1)) for one in found]


def forbidden_transitions(labels: Sequence[str], scheme: SchemeName) -> frozenset[tuple[int, int]]:
    """The forbidden transitions between label ids, as in `signature.Labels`."""
    if scheme == "none":
        return frozenset()
    names = [*labels, ""]
    found = {
        (i, j)
        for i, before in enumerate(names)
        for j, after in enumerate(names)
        if (before or after) and not _may_follow(scheme, before, after)
    }
    boundary = len(labels)  # the id of the start and the end of a sentence
    if all((boundary, i) in found or (i, boundary) in found for i in range(len(labels))):
        # No label would be left for a sentence of one word, so any label may be first and last.
        found = {pair for pair in found if boundary not in pair}
    return frozenset(found)


def _may_follow(scheme: SchemeName, before: str, after: str) -> bool:
    """Whether a scheme allows two adjacent tags; an empty one is the boundary of the sentence."""
    (first, kind_before), (second, kind) = split_tag(before), split_tag(after)
    is_same = kind == kind_before
    if scheme == "bioes":
        is_open = first in "BI"
        return (second in "IE") == is_open and (is_same or not is_open)
    if scheme == "iob1":
        return second != "B" or (first != OUTSIDE and is_same)
    return second != "I" or (first != OUTSIDE and is_same)


class TagScheme:
    """The tag scheme of a file and that of the model, with conversion between them. A codec."""

    def __init__(self, requested: Literal["as-is", "bio", "bioes"] = "as-is") -> None:
        self.requested = requested
        self.file_scheme: SchemeName = "none"

    @property
    def model_scheme(self) -> SchemeName:
        """The scheme of the labels of the model."""
        if self.file_scheme == "none" or self.requested == "as-is":
            return self.file_scheme
        return self.requested

    def forbidden_transitions(self, labels: Sequence[str]) -> frozenset[tuple[int, int]]:
        """The forbidden transitions between the label ids of the model."""
        return forbidden_transitions(labels, self.model_scheme)

    def to_model(self, tags: Sequence[str]) -> list[str]:
        """Tags of the file converted to the scheme of the model, with violations repaired."""
        if self.file_scheme == "none" or not has_scheme({*tags, "B"}):
            return list(tags)
        return entity_tags(entities(tags), len(tags), self.model_scheme)

    def to_file(self, labels: Sequence[str]) -> list[str]:
        """Labels of the model converted to the scheme of the file; unchanged if it is the same."""
        if self.model_scheme == self.file_scheme:
            return list(labels)
        return entity_tags(entities(labels), len(labels), self.file_scheme)

    def state(self) -> dict[str, Any]:
        return {"written": self.file_scheme}

    def restore(self, state: dict[str, Any]) -> None:
        self.file_scheme = state["written"]
