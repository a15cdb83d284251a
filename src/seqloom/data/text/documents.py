"""A text as sentences and words: how much of it is read, and where it is cut.

Sentences are told by rules alone, the same for texts as people write them and for texts that are
cut into words already. They end

- at a line break, and at <br />, which stands for one in texts from the web;
- after a word or a mark that ends with . ! ? or …, quotation marks and brackets after it included,
  unless it is an abbreviation such as Mr. or an initial such as J.;
- after the full stops of Chinese and Japanese, where no blank follows.
"""

import re
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate
from typing import Literal

from ...errors import UsageError
from .normalise import pieces
from .vocabulary import SPECIAL, cut

NEXT = "<next>"  # stands between two columns that are one text
BREAK = SPECIAL[2]  # stands between two sentences: the symbol END
_COLUMNS = re.compile(rf"\s*{NEXT}\s*")
_LINES = re.compile(rf"\n|<br\s*/?>|\s{BREAK}(?=\s)", re.IGNORECASE)
_CLOSING = "\"'”’»)]}"
_MARKS = f"{_CLOSING}.!?…。！？」』"
_ENDS = re.compile(rf"[.!?…]+[{re.escape(_CLOSING)}]*$")
_WIDE = re.compile("([。！？]+[」』”’)]*)")
_INITIALS = re.compile(r"(?:[^\W\d_]\.)+$")
_SHORT = frozenset({
    "mr.", "mrs.", "ms.", "dr.", "prof.", "st.", "vs.", "jr.", "sr.", "gen.", "col.", "capt.",
    "sgt.", "lt.", "rev.", "hon.", "fig.", "approx.", "cf.", "bzw.", "vgl.", "mme.", "mlle.",
})  # fmt: skip
# What Kim (2014) parts from the word before it: don't is do and n't, it's is it and 's.
_CLITICS = re.compile(r"(?<=\w)(n['’]t|['’](?:s|ve|re|d|ll|m))(?!\w)", re.IGNORECASE)
_CLITIC = re.compile(r"(?:n['’]t|['’](?:s|ve|re|d|ll|m))$", re.IGNORECASE)


@dataclass(frozen=True, kw_only=True)
class Documents:
    """How texts are cut into sentences and words, and how much of each is read.

    Args:
        split_punctuation: Make marks words of their own, where symbols are words, and part n't, 's,
            've, 're, 'd, 'll and 'm from the word before them, as Kim (2014) does. A mark between
            two letters or digits stays, as in 3.5 and well-known.
        sentences: Cut texts into sentences, and let the end symbol stand between them.
        max_words: How many symbols of a text are read, from its beginning; 0 is all.
        max_sentences: How many sentences of a text are read, from its beginning; 0 is all.
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
                f"max_sentences = {self.max_sentences}: texts are not cut into sentences",
                help=["--set task.sentences=true"],
            )

    def read(
        self, text: str, unit: Literal["characters", "words"], lowercase: bool
    ) -> tuple[list[str], bool]:
        """The symbols of a text, BREAK between sentences; and whether some were left out."""
        found: list[list[str]] = []
        for number, column in enumerate(_COLUMNS.split(text)):
            parts = (sentences_of(column) if self.sentences else []) or [column]
            written = [self._cut(part.lower() if lowercase else part, unit) for part in parts]
            if number:
                written = [[NEXT, *(written[0] if written else [])], *written[1:]]
            # Columns follow one another as sentences do, where there are any.
            if self.sentences or not found:
                found += [sentence for sentence in written if sentence]
            else:
                found[-1] += [symbol for sentence in written for symbol in sentence]
        return self._limited(found)

    def _cut(self, text: str, unit: Literal["characters", "words"]) -> list[str]:
        if unit == "words" and self.split_punctuation:
            return words_of(text)
        return cut(text, unit)

    def _limited(self, sentences: list[list[str]]) -> tuple[list[str], bool]:
        """The first sentences and symbols in one row, BREAK counting for none."""
        kept = sentences[: self.max_sentences or None]
        if self.max_words:
            starts = accumulate(map(len, kept), initial=0)
            kept = [s[: self.max_words - at] for s, at in zip(kept, starts, strict=False)]
            kept = [sentence for sentence in kept if sentence]
        symbols = [symbol for sentence in kept for symbol in (*sentence, BREAK)][:-1]
        return symbols, sum(map(len, kept)) < sum(map(len, sentences))


def has_words(text: str) -> bool:
    """Whether a text has anything to read but marks and blanks."""
    return any(character.isalnum() for character in text)


def words_of(text: str) -> list[str]:
    """Words, and the marks around them as words of their own."""
    return [part for token in text.split() for part in _parts(token)]


def sentences_of(text: str) -> list[str]:
    """The sentences of a text, each with the marks at its end; one without any words is none."""
    found: list[str] = []
    for line in _LINES.split(f"{text} "):
        sentence: list[str] = []
        is_over = False
        for token in _WIDE.sub(r"\1 ", line).split():
            ends, closes = _seen_at_end(token) if token[-1] in _MARKS else (False, False)
            # Marks alone go with the sentence that ended: . . .  or  . "
            if is_over and not closes:
                found.append(" ".join(sentence))
                sentence = []
            sentence.append(token)
            is_over = ends or (closes and is_over)
        found += [" ".join(sentence)] * bool(sentence)
    return [sentence for sentence in found if has_words(sentence)]


@lru_cache(maxsize=1 << 16)
def _parts(token: str) -> tuple[str, ...]:
    """What stands between two blanks, its marks apart; words come again and again."""
    found: list[str] = []
    for one in _CLITICS.sub(r" \1", token).split():
        is_whole = _CLITIC.match(one) or _INITIALS.match(one) or one.lower() in _SHORT
        found += [one] if is_whole else pieces(one)
    return tuple(found)


@lru_cache(maxsize=1 << 16)
def _seen_at_end(token: str) -> tuple[bool, bool]:
    """Whether a sentence ends with it, and whether it is only marks of what stands before it."""
    bare = token.rstrip(_CLOSING).lower()
    ends = bool(_ENDS.search(token)) and bare not in _SHORT and not _INITIALS.match(bare)
    return ends or bool(_WIDE.search(token)), all(mark in _MARKS for mark in token)
