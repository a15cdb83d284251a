"""JSON lines of tagged sentences: words with tags, or texts with character spans of entities.

{"words": ["Ada", "wrote"], "tags": ["B-person", "O"]}
{"text": "Ada wrote", "spans": [{"start": 0, "end": 3, "label": "person"}]}
"""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from ..text.reading import invalid_character
from ..text.tag_schemes import Entity, entity_tags
from .base import BadLine, ParseResult, ReadRequest, Sentence
from .columns_roles import shorten
from .jsonl import parse_objects

TokenizeFunction = Callable[[str], list[tuple[int, int]]]  # the spans of the words of a text
_WORDS = ("words", "tokens", "text")
_TAGS = ("tags", "ner_tags", "labels")
_SPANS = ("spans", "entities", "labels")
_SPAN = 'a span is {"start": 0, "end": 3, "label": "person"} or [0, 3, "person"]'


class _BadSentenceError(Exception):
    """A line that is not a tagged sentence: the error code, the reason and the help."""

    def __init__(self, code: str, reason: str, help: str = "") -> None:
        self.code, self.reason, self.help = code, reason, help
        super().__init__(reason)


@dataclass(frozen=True)
class SentenceKeys:
    """The key of each role; `tag` is the key of the spans if `word` is that of a text."""

    word: str
    tag: str
    others: dict[str, str]


def read(
    lines: list[str], request: ReadRequest, tokenize: TokenizeFunction
) -> ParseResult[Sentence]:
    """Read sentences: one a line; texts are tokenised, and split where spans start or end."""
    result: ParseResult[Sentence] = ParseResult()
    for number, found in parse_objects(lines, result, request.path):
        try:
            result.rows.append(_sentence(number, found, request, tokenize))
        except _BadSentenceError as bad:
            help = (bad.help,) if bad.help else ()
            found_keys = f"found: {shorten(', '.join(found))}" if bad.code == "D010" else ""
            line = lines[number - 1]
            mark = (0, len(line)) if found_keys else None
            bad_line = BadLine(bad.code, number, bad.reason, line, mark, found_keys, help)
            result.bad_lines.append(bad_line)
    return result


def find_keys(item: dict[str, Any], request: ReadRequest) -> SentenceKeys:
    """The key of each role in an object: as the user says, or by its usual names."""
    given = {role: name for role, name in request.columns.items() if not name.isdigit()}
    word = given.get("word") or next((name for name in _WORDS if name in item), "words")
    usual = _SPANS if isinstance(item.get(word), str) else _TAGS
    tag = given.get("tag") or next((name for name in usual if name in item), usual[0])
    others = {role: given.get(role, role) for role in request.roles if role not in ("word", "tag")}
    return SentenceKeys(word, tag, others)


def _sentence(
    line: int, item: dict[str, Any], request: ReadRequest, tokenize: TokenizeFunction
) -> Sentence:
    keys, is_tagged = find_keys(item, request), "tag" in request.roles
    if keys.word not in item:
        raise _BadSentenceError("D010", f'the object has no key "{keys.word}"')
    if is_tagged and item.get(keys.tag) is None:
        raise _BadSentenceError(
            "D120", f'this sentence has no tags: the object has no key "{keys.tag}"'
        )
    words = item[keys.word]
    if not isinstance(words, str):
        fields = {"word": _strings(words, keys.word)}
        columns = keys.others | ({"tag": keys.tag} if is_tagged else {})
        fields |= {role: _column(item, key, fields["word"]) for role, key in columns.items()}
        return Sentence(line, tuple(fields[role] for role in request.roles))
    _must_be_text(words, keys)
    spans = _spans(item[keys.tag], words) if is_tagged else []
    word_spans = split_spans(tokenize(words), [end for span in spans for end in span[:2]])
    tokens = [words[start:end] for start, end in word_spans]
    tags = entity_tags(_entities(spans, word_spans), len(tokens), "bio")
    fields_of = (tokens, tags) if is_tagged else (tokens,)
    return Sentence(line, fields_of, (), words, tuple(word_spans))


def _must_be_text(words: str, keys: SentenceKeys) -> None:
    """Refuse a text that is empty or invalid, and one where word features are needed."""
    if invalid_character(words) is not None:
        reason = f'"{keys.word}" has a character that texts cannot have: NUL or a lone surrogate'
        raise _BadSentenceError("D031", reason)
    if not words.strip():
        raise _BadSentenceError("D014", 'the field "word" is empty')
    if keys.others:
        role = next(iter(keys.others))
        raise _BadSentenceError("D126", f'a text has no "{role}" beside each word: give words')


def split_spans(spans: list[tuple[int, int]], positions: list[int]) -> list[tuple[int, int]]:
    """The spans of words, split at the positions that lie inside them."""
    found = []
    for start, end in spans:
        inside = sorted({position for position in positions if start < position < end})
        found += list(pairwise([start, *inside, end]))
    return found


def _strings(value: Any, key: str) -> list[str]:
    if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
        raise _BadSentenceError("D013", f'"{key}" must be a list of texts, one for each word')
    if not value or not all(one.strip() for one in value):
        raise _BadSentenceError("D014", f'"{key}" is empty, or one of its texts is')
    if any(invalid_character(one) is not None for one in value):
        raise _BadSentenceError(
            "D031", f'"{key}" has a character that texts cannot have: NUL or a lone surrogate'
        )
    return list(value)


def _column(item: dict[str, Any], key: str, words: list[str]) -> list[str]:
    """A list with an entry for each word."""
    if key not in item:
        raise _BadSentenceError("D010", f'the object has no key "{key}"')
    found = _strings(item[key], key)
    if len(found) != len(words):
        raise _BadSentenceError("D121", f'{len(words):,} words, but {len(found):,} in "{key}"')
    return found


def _spans(value: Any, text: str) -> list[tuple[int, int, str]]:
    """The spans of a text in order, without overlaps."""
    if not isinstance(value, list):
        raise _BadSentenceError("D122", "spans must be a list", _SPAN)
    found = sorted(_span(one, text) for one in value)
    for first, second in pairwise(found):
        if second[0] < first[1]:
            both = " and ".join(f"{s[0]}–{s[1]} {s[2]}" for s in (first, second))
            raise _BadSentenceError(
                "D123", f"two spans overlap: {both}", "a word has one tag: keep one"
            )
    return found


def _span(value: Any, text: str) -> tuple[int, int, str]:
    """A span that is given as an object or as a list: start, end and label."""
    if isinstance(value, dict):
        value = [value.get("start"), value.get("end"), value.get("label", value.get("type"))]
    try:
        start, end, label = int(value[0]), int(value[1]), str(value[2]).strip()
        is_span = len(value) == 3 and bool(label) and value[2] is not None
    except (TypeError, ValueError, IndexError, KeyError):
        is_span = False
    if not is_span:
        raise _BadSentenceError("D122", "a span needs a start, an end and a label", _SPAN)
    if not 0 <= start < end <= len(text):
        is_empty = 0 <= end <= start <= len(text)
        problem = "is empty" if is_empty else "lies outside the text, which has"
        size = "" if is_empty else f" {len(text):,} characters"
        reason = f"the span {start}–{end} {label} {problem}{size}"
        help = "offsets count characters from 0; the end is the first character after the span"
        raise _BadSentenceError("D122", reason, help)
    if not text[start:end].strip():
        raise _BadSentenceError("D122", f"the span {start}–{end} {label} has whitespace only")
    return start, end, label


def _entities(spans: list[tuple[int, int, str]], words: list[tuple[int, int]]) -> list[Entity]:
    """Character spans of entities as ranges of words."""
    found = []
    for start, end, label in spans:
        inside = [n for n, (first, last) in enumerate(words) if start <= first and last <= end]
        found.append(Entity(label, inside[0], inside[-1] + 1))
    return found
