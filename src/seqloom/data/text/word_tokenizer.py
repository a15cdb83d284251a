"""Word tokenizer with offsets: raw text to words, tokenised as the training data were.

Text is split at whitespace. If punctuation marks were words of their own in the training data, as
in CoNLL and UD files, they are split off, by rules that are learned:

- words of the training data are not split: n't, 's, U.S., :)
- punctuation before and after a word is split off, except marks that were more often at the front
  of words than alone, such as @ and #
- endings with an apostrophe that were words in the training data are split off: do|n't, Ada|'s
- words are split at hyphens and slashes if these were more often alone than inside words
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any, Literal

Span = tuple[int, int]  # character offsets: the first, and the first after the last
TokenizeMode = Literal["auto", "spaces", "words"]
JOINERS = "-–/"  # at which words may be split
APOSTROPHES = "'’"
_MIN_FREQUENCY = 2  # of words with punctuation that are not split
_ADDRESS = re.compile(r"www\.|\w+://|[^@\s]+@\w")


class WordTokenizer:
    """Word tokenizer whose rules for punctuation are learned from tokenised words. A codec.

    The mode `spaces` splits at whitespace only, `words` splits off punctuation, and `auto` does so
    if the training data did.
    """

    def __init__(self, mode: TokenizeMode = "auto") -> None:
        self.mode = mode
        self.restore({"apart": mode != "spaces", "front": "@#", "inside": JOINERS, "known": []})

    def learn(self, words: Iterable[str]) -> None:
        """Count where punctuation marks are: alone, at the front of words, inside words."""
        counts = Counter(words)
        alone, front, inside = Counter[str](), Counter[str](), Counter[str]()
        for word, count in counts.items():
            if set(word) == {word[0]} and _is_mark(word[0]):
                alone[word[0]] += count
            elif _is_mark(word[0]) and not _is_mark(word[1]):
                front[word[0]] += count
            for mark in {*word[1:-1]} & {*JOINERS}:
                inside[mark] += count
        known = [
            w for w, n in counts.items() if n >= _MIN_FREQUENCY and len(w) > 1 and _has_marks(w)
        ]
        self.restore(
            {
                "apart": self.mode == "words" or (self.mode == "auto" and bool(alone)),
                "front": "".join(sorted(c for c, n in front.items() if n > alone[c])),
                "inside": "".join(c for c in JOINERS if inside[c] >= alone[c]),
                "known": sorted(known),
            }
        )

    def spans(self, text: str) -> list[Span]:
        """The character offsets of the words of a text."""
        chunks = (match.span() for match in re.finditer(r"\S+", text))
        return [span for chunk in chunks for span in self._words(text, *chunk)]

    def state(self) -> dict[str, Any]:
        return {
            "apart": self.apart,
            "front": self.front,
            "inside": self.inside,
            "known": sorted(self.known),
        }

    def restore(self, state: dict[str, Any]) -> None:
        self.apart = bool(state["apart"])
        self.front, self.inside = str(state["front"]), str(state["inside"])
        self.known = frozenset(state["known"])

    def _words(self, text: str, start: int, end: int) -> Iterator[Span]:
        """The words of a chunk without whitespace."""
        last: list[Span] = []
        while start < end and self._is_split(text[start:end]):
            if run := self._marks_before(text[start:end]):
                yield start, start + run
                start += run
            elif run := _marks_after(text[start:end]):
                last.append((end - run, end))
                end -= run
            else:
                break
        if start < end:
            yield from self._inside(text, start, end)
        yield from reversed(last)

    def _is_split(self, word: str) -> bool:
        """Whether a word has punctuation and is not known as a whole."""
        return self.apart and word not in self.known and _has_marks(word)

    def _marks_before(self, word: str) -> int:
        """The number of equal marks at the front of a word, 0 if they belong to the word."""
        if not _is_mark(word[0]):
            return 0
        run = len(word) - len(word.lstrip(word[0]))
        belongs = word[0] in self.front and run < len(word) and not _is_mark(word[run])
        return 0 if belongs else run

    def _inside(self, text: str, start: int, end: int) -> Iterator[Span]:
        """The parts of a word without punctuation around it: split at endings or joiners."""
        word = text[start:end]
        if not self._is_split(word) or _ADDRESS.match(word):
            yield start, end
            return
        for index in range(1, len(word)):
            ending = word[index:]
            if ending in self.known and {*ending} & {*APOSTROPHES}:
                yield from self._words(text, start, start + index)
                yield start + index, end
                return
        marks = "".join(re.escape(mark) for mark in JOINERS if mark not in self.inside)
        pattern = f"[^{marks}]+|[{marks}]"
        parts = [part.span() for part in re.finditer(pattern, word)] if marks else []
        if len(parts) < 2:
            yield start, end
            return
        for first, last in parts:
            yield from self._words(text, start + first, start + last)


def _marks_after(word: str) -> int:
    """The number of equal marks at the end of a word."""
    return len(word) - len(word.rstrip(word[-1])) if _is_mark(word[-1]) else 0


def _has_marks(word: str) -> bool:
    return not word.isalnum() and any(map(_is_mark, word))


def _is_mark(character: str) -> bool:
    """Whether a character is punctuation or a symbol by its Unicode category."""
    return unicodedata.category(character)[0] in "PS"
