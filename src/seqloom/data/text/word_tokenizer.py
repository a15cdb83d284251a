"""Raw text as the words of tagged data, each with its place in the text.

Text is cut at blanks. Where training had marks as words of their own, as CoNLL and UD files do,
marks are cut off words as well, in the way that training shows:

- what training showed as a word stays whole: n't, 's, U.S., :)
- marks before and after a word are cut off; those that training had at the front of words more
  often than alone, as @ and #, stay
- an ending that training showed, with an apostrophe in it, is cut off: do|n't, Ada|'s
- hyphens and slashes inside a word cut it, where training had them alone more often than inside
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any, Literal

Place = tuple[int, int]  # the first character, and the first after the last
Way = Literal["auto", "spaces", "words"]
JOINERS = "-–/"  # they may cut a word in the middle
APOSTROPHES = "'’"
_AT_LEAST = 2  # how often a word with marks must be seen to stay whole
_ADDRESS = re.compile(r"www\.|\w+://|[^@\s]+@\w")


class Tokeniser:
    """Cuts raw text into words; a codec, so that a run remembers what training showed.

    The way is to cut at spaces alone, or marks apart as well, or as training had it.
    """

    def __init__(self, way: Way = "auto") -> None:
        self.way = way
        self.restore({"apart": way != "spaces", "front": "@#", "inside": JOINERS, "known": []})

    def learn(self, words: Iterable[str]) -> None:
        """See how words and marks stand together."""
        counts = Counter(words)
        alone, front, inside = Counter[str](), Counter[str](), Counter[str]()
        for word, count in counts.items():
            if set(word) == {word[0]} and _is_mark(word[0]):
                alone[word[0]] += count
            elif _is_mark(word[0]) and not _is_mark(word[1]):
                front[word[0]] += count
            for mark in {*word[1:-1]} & {*JOINERS}:
                inside[mark] += count
        known = [w for w, n in counts.items() if n >= _AT_LEAST and len(w) > 1 and _has_marks(w)]
        self.restore(
            {
                "apart": self.way == "words" or (self.way == "auto" and bool(alone)),
                "front": "".join(sorted(c for c, n in front.items() if n > alone[c])),
                "inside": "".join(c for c in JOINERS if inside[c] >= alone[c]),
                "known": sorted(known),
            }
        )

    def places(self, text: str) -> list[Place]:
        """Where each word of a text begins and ends."""
        chunks = (match.span() for match in re.finditer(r"\S+", text))
        return [place for chunk in chunks for place in self._pieces(text, *chunk)]

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

    def _pieces(self, text: str, start: int, end: int) -> Iterator[Place]:
        """The words between two blanks."""
        last: list[Place] = []
        while start < end and self._is_cut(text[start:end]):
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

    def _is_cut(self, word: str) -> bool:
        return self.apart and word not in self.known and _has_marks(word)

    def _marks_before(self, word: str) -> int:
        """How many equal marks stand before a word, unless they belong to it."""
        if not _is_mark(word[0]):
            return 0
        run = len(word) - len(word.lstrip(word[0]))
        belongs = word[0] in self.front and run < len(word) and not _is_mark(word[run])
        return 0 if belongs else run

    def _inside(self, text: str, start: int, end: int) -> Iterator[Place]:
        """A word without marks around it: whole, without its ending, or in pieces."""
        word = text[start:end]
        if not self._is_cut(word) or _ADDRESS.match(word):
            yield start, end
            return
        for place in range(1, len(word)):
            ending = word[place:]
            if ending in self.known and {*ending} & {*APOSTROPHES}:
                yield from self._pieces(text, start, start + place)
                yield start + place, end
                return
        cuts = "".join(re.escape(mark) for mark in JOINERS if mark not in self.inside)
        pieces = (
            [piece.span() for piece in re.finditer(f"[^{cuts}]+|[{cuts}]", word)] if cuts else []
        )
        if len(pieces) < 2:
            yield start, end
            return
        for first, last in pieces:
            yield from self._pieces(text, start + first, start + last)


def _marks_after(word: str) -> int:
    """How many equal marks stand after a word."""
    return len(word) - len(word.rstrip(word[-1])) if _is_mark(word[-1]) else 0


def _has_marks(word: str) -> bool:
    return not word.isalnum() and any(map(_is_mark, word))


def _is_mark(character: str) -> bool:
    """Whether a character is punctuation or a symbol; signs on letters are neither."""
    return unicodedata.category(character)[0] in "PS"
