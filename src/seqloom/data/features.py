"""What stands beside words in a file, as numbers: parts of speech, lemmas, dictionaries."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Int

from ..forms import Tokens
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
