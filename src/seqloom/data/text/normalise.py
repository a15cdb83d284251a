"""How texts are written before they are cut into symbols, and how answers are written back.

Small on purpose: what is changed is said here, and a run keeps it, so that a text to translate is
read as those of training were. Texts that are tokenised already stay as they are.
"""

import re
import unicodedata
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from typing import Literal

JOINED = "\N{CHARACTER TIE}"  # on the side of a mark where no blank was
_PLAIN = {
    **dict.fromkeys("\u2018\u2019\u201a\u201b\u2039\u203a\u02bc\u0060\u00b4", "'"),
    **dict.fromkeys("\u201c\u201d\u201e\u201f\u00ab\u00bb\u2033", '"'),
    **dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2015\u2212", "-"),
    **dict.fromkeys("\u00ad\u200b\u200c\u200d\u2060\ufeff", ""),  # they only steer line breaks
    "\u2026": "...",
}
_TABLE = str.maketrans(_PLAIN)


@dataclass(frozen=True)
class Writing:
    """How the texts of one side are written."""

    lowercase: bool = False
    unicode: Literal["as-is", "nfc", "nfkc"] = "as-is"
    plain: bool = False
    split: bool = False

    def read(self, text: str) -> str:
        """A text as it is cut into symbols; one that was read already does not change."""
        text = self._normal(text)
        if self.plain:
            text = " ".join(text.translate(_TABLE).split())
        if self.lowercase:
            text = self._normal(text.lower())
        return split_marks(text) if self.split else text

    def written(self, text: str) -> str:
        """A text of symbols as people write it."""
        return join_marks(text) if self.split else text

    def tokens(self, text: str) -> str:
        """A text of symbols with blanks between its tokens, and no signs of where none were."""
        return " ".join(text.replace(JOINED, "").split()) if self.split else text

    def _normal(self, text: str) -> str:
        if self.unicode == "as-is":
            return text
        return unicodedata.normalize("NFC" if self.unicode == "nfc" else "NFKC", text)


@dataclass(frozen=True, kw_only=True)
class Wording:
    """How the texts of both sides are written before they are cut into symbols.

    Args:
        source_lowercase: Read sources without regard to case.
        target_lowercase: Read targets without regard to case, and answer in small letters.
        unicode: Which of Unicode's ways to write the same character is taken: as it stands,
            composed (nfc), or composed and without variants, as ﬁ for fi (nfkc).
        plain_punctuation: Write quotation marks of all kinds as ' or ", dashes as -, … as three
            full stops and blanks of all kinds as one space.
        split_punctuation: Make marks words of their own, where symbols are words, and put answers
            together again. A mark between two letters or digits stays, as in don't and 3.5.
    """

    source_lowercase: bool = False
    target_lowercase: bool = False
    unicode: Literal["as-is", "nfc", "nfkc"] = "as-is"
    plain_punctuation: bool = False
    split_punctuation: bool = False

    def writing(self, side: Literal["source", "target"], unit: str) -> Writing:
        """How one side is written whose symbols are of that kind."""
        lowercase = self.source_lowercase if side == "source" else self.target_lowercase
        split = self.split_punctuation and unit == "words"
        return Writing(lowercase, self.unicode, self.plain_punctuation, split)


PLAIN_WORDING = Wording()


def split_marks(text: str) -> str:
    """Blanks around marks; those that the text did not have are signed, so that they can go again.

    "(Hello, you!)" becomes "(⁀ Hello ⁀, you ⁀! ⁀)". What has such signs was split already.
    """
    words = join_marks(text).split()
    return " ".join(piece for word in words for piece in _signed(pieces(word)))


def join_marks(text: str) -> str:
    """The text that was split."""
    return re.sub(f" ?{JOINED} ?", "", text)


def _signed(pieces: list[str]) -> list[str]:
    """The pieces of a word, each mark with a sign on the side where it was joined."""
    signed = list(pieces)
    for place in range(1, len(pieces)):
        if _is_mark(pieces[place][0]):
            signed[place] = JOINED + signed[place]
        else:
            signed[place - 1] += JOINED
    return signed


def pieces(word: str) -> list[str]:
    """Runs of letters, and runs of one mark; a single mark inside letters is one of them."""
    if word.isalnum():
        return [word]
    marks = [_is_mark(character) for character in word]
    inside = [False, *(not (a or b) for a, b in zip(marks, marks[2:], strict=False)), False]
    kinds = [c if m and not i else "" for c, m, i in zip(word, marks, inside, strict=False)]
    groups = groupby(zip(word, kinds, strict=True), key=itemgetter(1))
    return ["".join(character for character, _ in group) for _, group in groups]


def _is_mark(character: str) -> bool:
    """Whether Unicode calls it punctuation or a symbol."""
    return unicodedata.category(character)[0] in "PS"
