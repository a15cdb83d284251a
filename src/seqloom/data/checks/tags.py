"""What is odd in tagged sentences: broken schemes, tags alike, columns that look swapped."""

from collections.abc import Iterator, Sequence
from typing import Protocol, runtime_checkable

from ...errors import DataError, Place
from ..formats.base import Sentence, Source, count
from ..formats.columns_roles import has_few_kinds
from ..text.tag_schemes import TITLES, Break, SchemeName, breaks, has_scheme, recognised
from .text import Finding, labels_alike

NAMED = 3  # so many places are told


@runtime_checkable
class TaggedSentence(Protocol):
    """A sentence with a tag for each word, and where they stand in a file."""

    @property
    def words(self) -> list[str]: ...
    @property
    def tags(self) -> list[str]: ...
    @property
    def line(self) -> int: ...
    @property
    def lines(self) -> tuple[int, ...]: ...


def remarks(sentences: Sequence[TaggedSentence], scheme: SchemeName) -> dict[str, str]:
    """A sentence for each oddity of examples that were read, by its code."""
    told = {}
    forms = labels_alike({tag for sentence in sentences for tag in sentence.tags})
    if forms:
        named = "; ".join(", ".join(map(repr, group)) for group in forms)
        told["D072"] = f"tags that differ only by case or space: {named}"
    found = list(broken(sentences, scheme))
    if found:
        told["D125"] = told_breaks(found)
    return told


def broken(
    sentences: Sequence[TaggedSentence], scheme: SchemeName
) -> Iterator[tuple[int, str, Break]]:
    """Where the scheme is broken: the line, the word, and what stands there."""
    for sentence in sentences:
        for found in breaks(sentence.tags, scheme):
            line = sentence.lines[found.place] if sentence.lines else sentence.line
            yield line, sentence.words[found.place], found


def scheme_findings(source: Source) -> list[Finding]:
    """The scheme of the tags of a file, and where it is broken."""
    rows = [_Row(row) for row in source.rows if isinstance(row, Sentence)]
    scheme = recognised(row.tags for row in rows)
    if scheme == "none":
        return []
    found = [Finding("note", "D128", f"the tags mark entities by {TITLES[scheme]}", [])]
    places = list(broken(rows, scheme))
    if places:
        lines = sorted({line for line, *_ in places})
        found.append(Finding("warning", "D125", told_breaks(places), lines))
    return found


class _Row:
    """A sentence of a file, the word first and its tag last."""

    def __init__(self, row: Sentence) -> None:
        self.words, self.tags = row.fields[0], row.fields[-1]
        self.line, self.lines = row.line, row.lines


def told_breaks(found: Sequence[tuple[int, str, Break]]) -> str:
    """The first places where a scheme is broken, and how they were read."""
    shown = [f'line {line}, "{word}": {where.told()}' for line, word, where in found[:NAMED]]
    more = f"; and {len(found) - NAMED:,} more" if len(found) > NAMED else ""
    places = count(len(found), "place")
    return f"the tag scheme is broken in {places}: {'; '.join(shown)}{more}"


def refuse_swapped(source: Source) -> None:
    """Words that repeat as tags do, beside tags that differ as words do, are in the wrong place."""
    words, tags = list[str](), list[str]()
    for row in source.rows:
        if isinstance(row, Sentence):
            words += row.fields[0]
            tags += row.fields[-1]
    kinds = len(set(words)), len(set(tags))
    by_letters = has_scheme(words) and not has_scheme(tags)
    by_number = has_few_kinds(words) and not has_few_kinds(tags) and kinds[1] >= 2 * kinds[0]
    if not by_letters and not (by_number and len(words) >= 100):
        return
    shown = [", ".join(sorted(set(column))[:5]) for column in (words, tags)]
    raise DataError(
        "D124",
        "words and tags look swapped: "
        f"{count(kinds[0], 'kind')} of words, {count(kinds[1], 'kind')} of tags",
        place=Place(str(source.path), source.rows[0].line),
        notes=[f"words: {shown[0]}", f"tags: {shown[1]}"],
        help=[
            "--columns word=2,tag=1   with the numbers, or names, that are right",
            "--columns word=1,tag=2   if they are right as they are: say so",
        ],
    )
