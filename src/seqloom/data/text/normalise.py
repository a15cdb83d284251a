"""Text normalisation before tokenisation, and detokenisation of outputs.

Lowercasing, Unicode normalisation (NFC, NFKC), plain punctuation, and splitting of punctuation
with joiner marks. The options are saved with the run, so that inputs are normalised as the
training texts were.
"""

import re
import unicodedata
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from typing import Literal

JOINER = "\N{CHARACTER TIE}"  # on the side of a punctuation mark where there was no space
_PLAIN = {
    **dict.fromkeys("\u2018\u2019\u201a\u201b\u2039\u203a\u02bc\u0060\u00b4", "'"),
    **dict.fromkeys("\u201c\u201d\u201e\u201f\u00ab\u00bb\u2033", '"'),
    **dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2015\u2212", "-"),
    **dict.fromkeys("\u00ad\u200b\u200c\u200d\u2060\ufeff", ""),  # these only control line breaks
    "\u2026": "...",
}
_TABLE = str.maketrans(_PLAIN)


@dataclass(frozen=True)
class Normalizer:
    """Normalizer of the texts of one side, and its inverse for outputs."""

    lowercase: bool = False
    unicode: Literal["as-is", "nfc", "nfkc"] = "as-is"
    plain: bool = False
    split: bool = False

    def normalize(self, text: str) -> str:
        """The normalised text; normalising twice changes nothing."""
        text = self._normal(text)
        if self.plain:
            text = " ".join(text.translate(_TABLE).split())
        if self.lowercase:
            text = self._normal(text.lower())
        return separate_punctuation(text) if self.split else text

    def detokenize(self, text: str) -> str:
        """The text without joiners and the spaces that were added."""
        return rejoin_punctuation(text) if self.split else text

    def tokenized(self, text: str) -> str:
        """The text with spaces between its tokens, without joiners, for tokenised BLEU."""
        return " ".join(text.replace(JOINER, "").split()) if self.split else text

    def _normal(self, text: str) -> str:
        if self.unicode == "as-is":
            return text
        return unicodedata.normalize("NFC" if self.unicode == "nfc" else "NFKC", text)


@dataclass(frozen=True, kw_only=True)
class NormalizationOptions:
    """Options of text normalisation, of source and target.

    Args:
        source_lowercase: Lowercase sources.
        target_lowercase: Lowercase targets; outputs are lowercase, too.
        unicode: Unicode normalisation: none (as-is), canonical composition (nfc), or compatibility
            composition (nfkc), which also replaces variants such as the ligature ﬁ by fi.
        plain_punctuation: Replace quotation marks of all kinds by ' or ", dashes by -, … by three
            full stops, and whitespace of all kinds by one space.
        split_punctuation: Make punctuation marks tokens of their own, where tokens are words, and
            detokenize outputs. Punctuation between two letters or digits is not split, as in don't
            and 3.5.
    """

    source_lowercase: bool = False
    target_lowercase: bool = False
    unicode: Literal["as-is", "nfc", "nfkc"] = "as-is"
    plain_punctuation: bool = False
    split_punctuation: bool = False

    def normalizer(self, side: Literal["source", "target"], unit: str) -> Normalizer:
        """The normalizer of one side, whose tokens are of this unit."""
        lowercase = self.source_lowercase if side == "source" else self.target_lowercase
        split = self.split_punctuation and unit == "words"
        return Normalizer(lowercase, self.unicode, self.plain_punctuation, split)


NO_NORMALIZATION = NormalizationOptions()


def separate_punctuation(text: str) -> str:
    """Put spaces around punctuation marks, with joiners where the text had no space.

    "(Hello, you!)" becomes "(⁀ Hello ⁀, you ⁀! ⁀)". A text with joiners is joined first.
    """
    words = rejoin_punctuation(text).split()
    return " ".join(part for word in words for part in _with_joiners(split_word(word)))


def rejoin_punctuation(text: str) -> str:
    """The inverse of `separate_punctuation`."""
    return re.sub(f" ?{JOINER} ?", "", text)


def _with_joiners(parts: list[str]) -> list[str]:
    """The parts of a word, with a joiner on the side of each mark where it was joined."""
    joined = list(parts)
    for index in range(1, len(parts)):
        if _is_mark(parts[index][0]):
            joined[index] = JOINER + joined[index]
        else:
            joined[index - 1] += JOINER
    return joined


def split_word(word: str) -> list[str]:
    """A word split into runs of letters and runs of one mark; a mark between letters stays."""
    if word.isalnum():
        return [word]
    marks = [_is_mark(character) for character in word]
    inside = [False, *(not (a or b) for a, b in zip(marks, marks[2:], strict=False)), False]
    kinds = [c if m and not i else "" for c, m, i in zip(word, marks, inside, strict=False)]
    groups = groupby(zip(word, kinds, strict=True), key=itemgetter(1))
    return ["".join(character for character, _ in group) for _, group in groups]


def _is_mark(character: str) -> bool:
    """Whether a character is punctuation or a symbol by its Unicode category."""
    return unicodedata.category(character)[0] in "PS"
