"""Sentence and word tokenisation of documents, and their truncation.

Sentences are split by rules, which are the same for raw and for tokenised texts. A sentence ends

- at a line break, or at <br />, which is a line break in texts from the web;
- after a word or punctuation mark that ends with . ! ? or …, and after closing quotation marks and
  brackets; but not after an abbreviation such as Mr. or an initial such as J.;
- after the full stops of Chinese and Japanese, which no space follows.
"""

import re
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate
from typing import Literal

from ...errors import UsageError
from .normalise import split_word
from .vocabulary import SPECIAL_TOKENS, tokenize

COLUMN_TOKEN = "<next>"  # separates columns that are concatenated to one text
SENTENCE_BREAK = SPECIAL_TOKENS[2]  # separates sentences: the end token </s>
_COLUMNS = re.compile(rf"\s*{COLUMN_TOKEN}\s*")
_LINES = re.compile(rf"\n|<br\s*/?>|\s{SENTENCE_BREAK}(?=\s)", re.IGNORECASE)
_CLOSING = "\"'”’»)]}"
_MARKS = f"{_CLOSING}.!?…。！？」』"
_ENDS = re.compile(rf"[.!?…]+[{re.escape(_CLOSING)}]*$")
_WIDE = re.compile("([。！？]+[」』”’)]*)")
_INITIALS = re.compile(r"(?:[^\W\d_]\.)+$")
_SHORT = frozenset({
    "mr.", "mrs.", "ms.", "dr.", "prof.", "st.", "vs.", "jr.", "sr.", "gen.", "col.", "capt.",
    "sgt.", "lt.", "rev.", "hon.", "fig.", "approx.", "cf.", "bzw.", "vgl.", "mme.", "mlle.",
})  # fmt: skip
# Clitics, which Kim (2014) splits off: don't is do and n't, it's is it and 's.
_CLITICS = re.compile(r"(?<=\w)(n['’]t|['’](?:s|ve|re|d|ll|m))(?!\w)", re.IGNORECASE)
_CLITIC = re.compile(r"(?:n['’]t|['’](?:s|ve|re|d|ll|m))$", re.IGNORECASE)


@dataclass(frozen=True, kw_only=True)
class DocumentOptions:
    """Options of document tokenisation and truncation.

    Args:
        split_punctuation: Make punctuation marks tokens of their own, where tokens are words, and
            split off n't, 's, 've, 're, 'd, 'll and 'm, as Kim (2014) does. Punctuation between two
            letters or digits is not split, as in 3.5 and well-known.
        sentences: Split texts into sentences, separated by the end token.
        max_words: Maximum length of a text in tokens; longer texts are truncated. 0 is no limit.
        max_sentences: Maximum number of sentences of a text; later ones are cut off. 0 is no limit.
    """

    split_punctuation: bool = False
    sentences: bool = False
    max_words: int = 0
    max_sentences: int = 0

    def __post_init__(self) -> None:
        for name in ("max_words", "max_sentences"):
            if getattr(self, name) < 0:
                value = getattr(self, name)
                raise UsageError("U095", f"{name} = {value}: expected 0 for no limit, or more")
        if self.max_sentences and not self.sentences:
            raise UsageError(
                "U095",
                f"max_sentences = {self.max_sentences}: texts are not split into sentences",
                help=["--set task.sentences=true"],
            )

    def tokenize(
        self, text: str, unit: Literal["characters", "words"], lowercase: bool
    ) -> tuple[list[str], bool]:
        """The tokens of a text, with SENTENCE_BREAK between sentences; whether it was truncated."""
        found: list[list[str]] = []
        for number, column in enumerate(_COLUMNS.split(text)):
            parts = (split_sentences(column) if self.sentences else []) or [column]
            tokens = [self._tokenize(part.lower() if lowercase else part, unit) for part in parts]
            if number:
                tokens = [[COLUMN_TOKEN, *(tokens[0] if tokens else [])], *tokens[1:]]
            # With sentences, a column starts a new sentence; else all columns are one sentence.
            if self.sentences or not found:
                found += [sentence for sentence in tokens if sentence]
            else:
                found[-1] += [token for sentence in tokens for token in sentence]
        return self._truncated(found)

    def _tokenize(self, text: str, unit: Literal["characters", "words"]) -> list[str]:
        if unit == "words" and self.split_punctuation:
            return split_words(text)
        return tokenize(text, unit)

    def _truncated(self, sentences: list[list[str]]) -> tuple[list[str], bool]:
        """The first sentences and tokens as one list; SENTENCE_BREAK does not count as a token."""
        kept = sentences[: self.max_sentences or None]
        if self.max_words:
            starts = accumulate(map(len, kept), initial=0)
            kept = [s[: self.max_words - at] for s, at in zip(kept, starts, strict=False)]
            kept = [sentence for sentence in kept if sentence]
        tokens = [token for sentence in kept for token in (*sentence, SENTENCE_BREAK)][:-1]
        return tokens, sum(map(len, kept)) < sum(map(len, sentences))


def has_words(text: str) -> bool:
    """Whether a text has more than punctuation and whitespace."""
    return any(character.isalnum() for character in text)


def split_words(text: str) -> list[str]:
    """The words of a text, with punctuation marks and clitics as words of their own."""
    return [part for token in text.split() for part in _parts(token)]


def split_sentences(text: str) -> list[str]:
    """The sentences of a text with their final punctuation; those without words are left out."""
    found: list[str] = []
    for line in _LINES.split(f"{text} "):
        sentence: list[str] = []
        is_over = False
        for token in _WIDE.sub(r"\1 ", line).split():
            ends, closes = _end_of(token) if token[-1] in _MARKS else (False, False)
            # Tokens of punctuation only belong to the sentence that ended: . . .  or  . "
            if is_over and not closes:
                found.append(" ".join(sentence))
                sentence = []
            sentence.append(token)
            is_over = ends or (closes and is_over)
        found += [" ".join(sentence)] * bool(sentence)
    return [sentence for sentence in found if has_words(sentence)]


@lru_cache(maxsize=1 << 16)
def _parts(token: str) -> tuple[str, ...]:
    """A token split at punctuation and clitics; cached, as words are repeated."""
    found: list[str] = []
    for one in _CLITICS.sub(r" \1", token).split():
        is_whole = _CLITIC.match(one) or _INITIALS.match(one) or one.lower() in _SHORT
        found += [one] if is_whole else split_word(one)
    return tuple(found)


@lru_cache(maxsize=1 << 16)
def _end_of(token: str) -> tuple[bool, bool]:
    """Whether a token ends a sentence, and whether it is punctuation only."""
    bare = token.rstrip(_CLOSING).lower()
    ends = bool(_ENDS.search(token)) and bare not in _SHORT and not _INITIALS.match(bare)
    return ends or bool(_WIDE.search(token)), all(mark in _MARKS for mark in token)
