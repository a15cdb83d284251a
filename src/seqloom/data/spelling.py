"""The letters of words as numbers, beside the words' own."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from jaxtyping import Int

from ..forms import Letters
from .vocabulary import Vocabulary

MOST = 20  # letters of a word that are read


class Spelling:
    """How words are spelled: so many letters of each, padded.

    Of a longer word the first half of them and the last are read: beginnings and endings tell most.
    """

    def __init__(self) -> None:
        self.letters, self.length = Vocabulary(), 1

    def learn(self, words: Iterable[str]) -> None:
        """Take in every letter, and how long words are."""
        known = list(dict.fromkeys(words))
        self.letters.learn(map(list, known), at_least=1)
        self.length = min(MOST, max(map(len, known), default=1))

    def encode(self, words: Sequence[str]) -> Int[np.ndarray, "time letters"]:
        """Numbers for the letters of each word, a row each."""
        found = np.zeros((len(words), self.length), dtype=np.int64)
        for row, word in zip(found, words, strict=True):
            read = self._read(word)
            row[: len(read)] = self.letters.encode(read)
        return found

    @property
    def space(self) -> Letters:
        """What a model needs to know of it."""
        written = enumerate(self.letters.symbols)
        capitals = frozenset(n for n, letter in written if letter.isupper() and len(letter) == 1)
        return Letters(self.letters.space.size, self.length, capitals)

    def state(self) -> dict[str, Any]:
        return {"letters": self.letters.state(), "length": self.length}

    def restore(self, state: dict[str, Any]) -> None:
        self.letters.restore(state["letters"])
        self.length = int(state["length"])

    def _read(self, word: str) -> list[str]:
        if len(word) <= self.length:
            return list(word)
        last = self.length // 2
        return [*word[: self.length - last], *word[len(word) - last :]]
