"""Checks of tagged sentences: violations of the tag scheme, swapped columns, similar tags."""

from collections.abc import Iterator, Sequence
from typing import Protocol, runtime_checkable

from ...errors import DataError, Place
from ..formats.base import ParsedFile, Sentence, pluralize
from ..formats.columns_roles import looks_like_labels
from ..text.tag_schemes import (
    SCHEME_TITLES,
    SchemeName,
    SchemeViolation,
    detect_scheme,
    has_scheme,
    violations,
)
from .text import Finding, case_variants

MAX_SHOWN = 3  # violations in a message


@runtime_checkable
class TaggedSentence(Protocol):
    """A sentence with a tag for each word, and their lines in a file."""

    @property
    def words(self) -> list[str]: ...
    @property
    def tags(self) -> list[str]: ...
    @property
    def line(self) -> int: ...
    @property
    def lines(self) -> tuple[int, ...]: ...


def tag_warnings(sentences: Sequence[TaggedSentence], scheme: SchemeName) -> dict[str, str]:
    """Warnings about the tags of examples, by code."""
    warnings = {}
    variants = case_variants({tag for sentence in sentences for tag in sentence.tags})
    if variants:
        listed = "; ".join(", ".join(map(repr, group)) for group in variants)
        warnings["D072"] = f"tags that differ only by case or space: {listed}"
    found = list(scheme_violations(sentences, scheme))
    if found:
        warnings["D125"] = describe_violations(found)
    return warnings


def scheme_violations(
    sentences: Sequence[TaggedSentence], scheme: SchemeName
) -> Iterator[tuple[int, str, SchemeViolation]]:
    """Violations of the tag scheme, each with its line and word."""
    for sentence in sentences:
        for found in violations(sentence.tags, scheme):
            line = sentence.lines[found.position] if sentence.lines else sentence.line
            yield line, sentence.words[found.position], found


def scheme_findings(file: ParsedFile) -> list[Finding]:
    """Findings about the tags of a file: their scheme, and its violations."""
    rows = [_Row(row) for row in file.rows if isinstance(row, Sentence)]
    scheme = detect_scheme(row.tags for row in rows)
    if scheme == "none":
        return []
    found = [Finding("note", "D128", f"the tags mark entities by {SCHEME_TITLES[scheme]}", [])]
    broken = list(scheme_violations(rows, scheme))
    if broken:
        lines = sorted({line for line, *_ in broken})
        found.append(Finding("warning", "D125", describe_violations(broken), lines))
    return found


class _Row:
    """A sentence of a file as `TaggedSentence`: words in the first column, tags in the last."""

    def __init__(self, row: Sentence) -> None:
        self.words, self.tags = row.fields[0], row.fields[-1]
        self.line, self.lines = row.line, row.lines


def describe_violations(found: Sequence[tuple[int, str, SchemeViolation]]) -> str:
    """The first violations of a scheme, and how they were read."""
    shown = [f'line {line}, "{word}": {one.describe()}' for line, word, one in found[:MAX_SHOWN]]
    more = f"; and {len(found) - MAX_SHOWN:,} more" if len(found) > MAX_SHOWN else ""
    places = pluralize(len(found), "place")
    return f"the tag scheme is broken in {places}: {'; '.join(shown)}{more}"


def refuse_swapped_columns(file: ParsedFile) -> None:
    """Refuse swapped columns: words that repeat as tags do, and tags that differ as words do."""
    words, tags = list[str](), list[str]()
    for row in file.rows:
        if isinstance(row, Sentence):
            words += row.fields[0]
            tags += row.fields[-1]
    kinds = len(set(words)), len(set(tags))
    by_scheme = has_scheme(words) and not has_scheme(tags)
    by_number = looks_like_labels(words) and not looks_like_labels(tags)
    by_number = by_number and kinds[1] >= 2 * kinds[0] and len(words) >= 100
    if not by_scheme and not by_number:
        return
    shown = [", ".join(sorted(set(column))[:5]) for column in (words, tags)]
    raise DataError(
        "D124",
        "words and tags look swapped: "
        f"{pluralize(kinds[0], 'kind')} of words, {pluralize(kinds[1], 'kind')} of tags",
        place=Place(str(file.path), file.rows[0].line),
        notes=[f"words: {shown[0]}", f"tags: {shown[1]}"],
        help=[
            "--columns word=2,tag=1   with the numbers, or names, that are right",
            "--columns word=1,tag=2   if they are right as they are: say so",
        ],
    )
