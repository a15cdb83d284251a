"""The letters of words as numbers, beside the words' own.

What stands beside words in a file, as numbers: parts of speech, lemmas, dictionaries.
"""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from jaxtyping import Int

from ...signature import Letters, Tokens
from .vocabulary import Vocabulary


class Features:
    """A vocabulary for each feature, by its name; a value that training never had is unknown."""

    def __init__(self, names: Sequence[str] = ()) -> None:
        self.names = tuple(names)
        self.values = {name: Vocabulary() for name in self.names}

    def learn(self, sentences: Sequence[Sequence[Sequence[str]]]) -> None:
        """Take in every value of each feature; a sentence has a list for each."""
        for place, vocabulary in enumerate(self.values.values()):
            vocabulary.learn(sentence[place] for sentence in sentences)

    def encode(self, sentence: Sequence[Sequence[str]]) -> Int[np.ndarray, "time features"]:
        """Numbers for the features of each word, a row each."""
        found = zip(self.values.values(), sentence, strict=True)
        return np.column_stack([vocabulary.encode(column) for vocabulary, column in found])

    @property
    def spaces(self) -> tuple[Tokens, ...]:
        """What a model needs to know of them."""
        return tuple(vocabulary.space for vocabulary in self.values.values())

    def state(self) -> dict[str, list[str]]:
        return {name: vocabulary.state() for name, vocabulary in self.values.items()}

    def restore(self, state: dict[str, list[str]]) -> None:
        for name, vocabulary in self.values.items():
            vocabulary.restore(state[name])


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
