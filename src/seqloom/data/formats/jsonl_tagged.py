"""JSON lines of sentences: words with a tag each, or a text with spans of its characters.

{"words": ["Ada", "wrote"], "tags": ["B-person", "O"]}
{"text": "Ada wrote", "spans": [{"start": 0, "end": 3, "label": "person"}]}
"""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from ..text.reading import unwritable
from ..text.tag_schemes import Entity, tags_of
from .base import Fault, Reading, Request, Sentence
from .columns_roles import shorten
from .jsonl import objects_of

Cutter = Callable[[str], list[tuple[int, int]]]  # where the words of a text begin and end
_WORDS = ("words", "tokens", "text")
_TAGS = ("tags", "ner_tags", "labels")
_SPANS = ("spans", "entities", "labels")
_SPAN = 'a span is {"start": 0, "end": 3, "label": "person"} or [0, 3, "person"]'


class _UnfitError(Exception):
    """What is wrong with one line: the code, the words and the remedy of a fault."""

    def __init__(self, code: str, reason: str, help: str = "") -> None:
        self.code, self.reason, self.help = code, reason, help
        super().__init__(reason)


@dataclass(frozen=True)
class Keys:
    """The key of each role; that of the tags is of spans where words are a text."""

    word: str
    tag: str
    others: dict[str, str]


def read(lines: list[str], request: Request, cutter: Cutter) -> Reading[Sentence]:
    """A sentence a line; texts are cut into words, and at the ends of spans as well."""
    reading: Reading[Sentence] = Reading()
    for number, found in objects_of(lines, reading):
        try:
            reading.rows.append(_sentence(number, found, request, cutter))
        except _UnfitError as unfit:
            help = (unfit.help,) if unfit.help else ()
            found_keys = f"found: {shorten(', '.join(found))}" if unfit.code == "D010" else ""
            line = lines[number - 1]
            mark = (0, len(line)) if found_keys else None
            fault = Fault(unfit.code, number, unfit.reason, line, mark, found_keys, help)
            reading.faults.append(fault)
    return reading


def keys_of(item: dict[str, Any], request: Request) -> Keys:
    """Which keys of an object play which role: as the user says, or by their usual names."""
    said = {role: name for role, name in request.columns.items() if not name.isdigit()}
    word = said.get("word") or next((name for name in _WORDS if name in item), "words")
    usual = _SPANS if isinstance(item.get(word), str) else _TAGS
    tag = said.get("tag") or next((name for name in usual if name in item), usual[0])
    others = {role: said.get(role, role) for role in request.roles if role not in ("word", "tag")}
    return Keys(word, tag, others)


def _sentence(line: int, item: dict[str, Any], request: Request, cutter: Cutter) -> Sentence:
    keys, is_tagged = keys_of(item, request), "tag" in request.roles
    if keys.word not in item:
        raise _UnfitError("D010", f'the object has no key "{keys.word}"')
    if is_tagged and item.get(keys.tag) is None:
        raise _UnfitError("D120", f'this sentence has no tags: the object has no key "{keys.tag}"')
    words = item[keys.word]
    if not isinstance(words, str):
        fields = {"word": _strings(words, keys.word)}
        beside = keys.others | ({"tag": keys.tag} if is_tagged else {})
        fields |= {role: _beside(item, key, fields["word"]) for role, key in beside.items()}
        return Sentence(line, tuple(fields[role] for role in request.roles))
    _must_be_text(words, keys)
    spans = _spans(item[keys.tag], words) if is_tagged else []
    places = cut_at(cutter(words), [end for span in spans for end in span[:2]])
    cut = [words[start:end] for start, end in places]
    tags = tags_of(_entities(spans, places), len(cut), "bio")
    return Sentence(line, (cut, tags) if is_tagged else (cut,), (), words, tuple(places))


def _must_be_text(words: str, keys: Keys) -> None:
    """Refuse a text that cannot be read, or that lacks what must stand beside its words."""
    if unwritable(words) is not None:
        told = f'"{keys.word}" holds a character that no text can: NUL or half a pair'
        raise _UnfitError("D031", told)
    if not words.strip():
        raise _UnfitError("D014", 'the field "word" is empty')
    if keys.others:
        role = next(iter(keys.others))
        raise _UnfitError("D126", f'a text has no "{role}" beside each word: give words')


def cut_at(places: list[tuple[int, int]], cuts: list[int]) -> list[tuple[int, int]]:
    """The places of words, cut further where a span begins or ends inside one."""
    found = []
    for start, end in places:
        inside = sorted({cut for cut in cuts if start < cut < end})
        found += list(pairwise([start, *inside, end]))
    return found


def _strings(value: Any, key: str) -> list[str]:
    if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
        raise _UnfitError("D013", f'"{key}" must be a list of texts, one for each word')
    if not value or not all(one.strip() for one in value):
        raise _UnfitError("D014", f'"{key}" is empty, or one of its texts is')
    if any(unwritable(one) is not None for one in value):
        raise _UnfitError("D031", f'"{key}" holds a character that no text can: NUL or half a pair')
    return list(value)


def _beside(item: dict[str, Any], key: str, words: list[str]) -> list[str]:
    """What stands beside the words: as many as there are."""
    if key not in item:
        raise _UnfitError("D010", f'the object has no key "{key}"')
    found = _strings(item[key], key)
    if len(found) != len(words):
        raise _UnfitError("D121", f'{len(words):,} words, but {len(found):,} in "{key}"')
    return found


def _spans(value: Any, text: str) -> list[tuple[int, int, str]]:
    """The spans of a text in order; none lies outside it and no two overlap."""
    if not isinstance(value, list):
        raise _UnfitError("D122", "spans must be a list", _SPAN)
    found = sorted(_span(one, text) for one in value)
    for first, second in pairwise(found):
        if second[0] < first[1]:
            both = " and ".join(f"{s[0]}–{s[1]} {s[2]}" for s in (first, second))
            raise _UnfitError("D123", f"two spans overlap: {both}", "a word has one tag: keep one")
    return found


def _span(value: Any, text: str) -> tuple[int, int, str]:
    if isinstance(value, dict):
        value = [value.get("start"), value.get("end"), value.get("label", value.get("type"))]
    try:
        start, end, label = int(value[0]), int(value[1]), str(value[2]).strip()
        right = len(value) == 3 and bool(label) and value[2] is not None
    except (TypeError, ValueError, IndexError, KeyError):
        right = False
    if not right:
        raise _UnfitError("D122", "a span needs a start, an end and a label", _SPAN)
    if not 0 <= start < end <= len(text):
        told = f"the span {start}–{end} {label} lies outside the text, which has {len(text):,}"
        is_empty = 0 <= end <= start <= len(text)
        reason = f"the span {start}–{end} {label} is empty" if is_empty else f"{told} characters"
        raise _UnfitError(
            "D122", reason, "offsets count characters from 0; the end is the first after"
        )
    if not text[start:end].strip():
        raise _UnfitError("D122", f"the span {start}–{end} {label} holds blanks alone")
    return start, end, label


def _entities(spans: list[tuple[int, int, str]], places: list[tuple[int, int]]) -> list[Entity]:
    """Spans of characters as spans of words."""
    found = []
    for start, end, label in spans:
        inside = [n for n, (first, last) in enumerate(places) if start <= first and last <= end]
        found.append(Entity(label, inside[0], inside[-1] + 1))
    return found
