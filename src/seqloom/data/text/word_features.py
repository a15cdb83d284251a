"""Features of words beside the word itself: its characters, and columns such as part of speech."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from jaxtyping import Int

from ...signature import Letters, Tokens
from .vocabulary import Vocabulary


class WordFeatures:
    """Word features from other columns of a file, such as part of speech or lemma. A codec."""

    def __init__(self, names: Sequence[str] = ()) -> None:
        self.names = tuple(names)
        self.values = {name: Vocabulary() for name in self.names}

    def learn(self, sentences: Sequence[Sequence[Sequence[str]]]) -> None:
        """Fit a vocabulary for each feature; a sentence has a list for each."""
        for index, vocabulary in enumerate(self.values.values()):
            vocabulary.learn(sentence[index] for sentence in sentences)

    def encode(self, sentence: Sequence[Sequence[str]]) -> Int[np.ndarray, "time features"]:
        """The ids of the features, a row for each word."""
        found = zip(self.values.values(), sentence, strict=True)
        return np.column_stack([vocabulary.encode(column) for vocabulary, column in found])

    @property
    def spaces(self) -> tuple[Tokens, ...]:
        """The vocabulary size of each feature."""
        return tuple(vocabulary.space for vocabulary in self.values.values())

    def state(self) -> dict[str, list[str]]:
        return {name: vocabulary.state() for name, vocabulary in self.values.items()}

    def restore(self, state: dict[str, list[str]]) -> None:
        for name, vocabulary in self.values.items():
            vocabulary.restore(state[name])


MAX_CHARACTERS = 20  # of a word


class CharacterFeatures:
    """Character features: the characters of each word, padded to one length. A codec.

    Of a longer word the first and last characters are kept, as prefixes and suffixes matter most.
    """

    def __init__(self) -> None:
        self.characters, self.length = Vocabulary(), 1

    def learn(self, words: Iterable[str]) -> None:
        """Fit the vocabulary of characters and the length of words."""
        known = list(dict.fromkeys(words))
        self.characters.learn(map(list, known), min_frequency=1)
        self.length = min(MAX_CHARACTERS, max(map(len, known), default=1))

    def encode(self, words: Sequence[str]) -> Int[np.ndarray, "time letters"]:
        """The ids of the characters, a row for each word."""
        found = np.zeros((len(words), self.length), dtype=np.int64)
        for row, word in zip(found, words, strict=True):
            characters = self._truncated(word)
            row[: len(characters)] = self.characters.encode(characters)
        return found

    @property
    def space(self) -> Letters:
        """The number of characters, their length per word, and which are upper-case."""
        characters = enumerate(self.characters.tokens)
        capitals = frozenset(i for i, c in characters if c.isupper() and len(c) == 1)
        return Letters(self.characters.space.size, self.length, capitals)

    def state(self) -> dict[str, Any]:
        return {"letters": self.characters.state(), "length": self.length}

    def restore(self, state: dict[str, Any]) -> None:
        self.characters.restore(state["letters"])
        self.length = int(state["length"])

    def _truncated(self, word: str) -> list[str]:
        if len(word) <= self.length:
            return list(word)
        last = self.length // 2
        return [*word[: self.length - last], *word[len(word) - last :]]
