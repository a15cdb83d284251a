"""Vocabularies of tokens, and label sets: from texts to ids and back."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain, repeat
from typing import Literal

import numpy as np
from jaxtyping import Int

from ...signature import BEGIN, END, PAD, UNKNOWN, Labels, Tokens

SPECIAL_TOKENS = ("<pad>", "<s>", "</s>", "<unk>")
Unit = Literal["characters", "words"]


class Vocabulary:
    """Vocabulary: tokens by descending frequency, after the four special tokens. A codec."""

    def __init__(self) -> None:
        self.restore(list(SPECIAL_TOKENS))

    def learn(
        self, sequences: Iterable[Iterable[str]], min_frequency: int = 1, max_size: int = 0
    ) -> None:
        """Fit to token sequences; rare tokens are left out, and those beyond the maximum size."""
        self.learn_counts(Counter(chain.from_iterable(sequences)), min_frequency, max_size)

    def learn_counts(
        self, counts: Mapping[str, int], min_frequency: int = 1, max_size: int = 0
    ) -> None:
        """The same from the counts of the tokens."""
        counts = dict(counts)
        for special in SPECIAL_TOKENS:
            counts.pop(special, 0)
        ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
        kept = [token for token, count in ordered if count >= min_frequency]
        self.restore([*SPECIAL_TOKENS, *kept[: max_size or None]])

    def encode(self, tokens: Sequence[str], end: bool = False) -> Int[np.ndarray, " time"]:
        """The ids of tokens, with END after them if `end` is set; unknown tokens are UNKNOWN."""
        ids = list(map(self._index.get, tokens, repeat(UNKNOWN)))
        return np.array([*ids, END] if end else ids, dtype=np.int64)

    def decode(self, ids: Iterable[int]) -> list[str]:
        """The tokens of ids, without PAD, BEGIN and END."""
        return [self.tokens[i] for i in ids if i not in (PAD, BEGIN, END)]

    def knows(self, tokens: Iterable[str]) -> list[bool]:
        """For each token, whether it is in the vocabulary."""
        return [token in self._index for token in tokens]

    @property
    def space(self) -> Tokens:
        """The space of the token ids: the vocabulary size."""
        return Tokens(len(self.tokens))

    def state(self) -> list[str]:
        return self.tokens

    def restore(self, state: list[str]) -> None:
        if tuple(state[: len(SPECIAL_TOKENS)]) != SPECIAL_TOKENS:
            raise ValueError("a vocabulary begins with the special tokens")
        self.tokens = list(state)
        self._index = {token: i for i, token in enumerate(self.tokens) if i >= len(SPECIAL_TOKENS)}


class LabelSet:
    """Label set: classes in alphabetical order, with their counts in training. A codec."""

    def __init__(self) -> None:
        self.restore({})

    def learn(self, labels: Iterable[str]) -> None:
        """Fit to the labels of the training examples."""
        found = Counter(labels)
        self.restore({label: found[label] for label in sorted(found)})

    def encode(self, labels: Sequence[str]) -> Int[np.ndarray, " time"]:
        """The ids of labels, which must all be known (see `unknown`)."""
        return np.array(self.ids(labels), dtype=np.int64)

    def ids(self, labels: Iterable[str]) -> list[int]:
        """The same ids as a list."""
        return [self._index[label] for label in labels]

    def decode(self, ids: Iterable[int]) -> list[str]:
        """The labels of ids."""
        return [self.labels[i] for i in ids]

    def unknown(self, labels: Iterable[str]) -> list[str]:
        """The labels that are not in the set."""
        return [label for label in labels if label not in self._index]

    @property
    def space(self) -> Labels:
        """The space of the label ids: the number of classes, and their counts."""
        return Labels(len(self.labels), counts=self.counts if any(self.counts) else ())

    def state(self) -> dict[str, int]:
        return dict(zip(self.labels, self.counts, strict=True))

    def restore(self, state: dict[str, int]) -> None:
        self.labels, self.counts = list(state), tuple(state.values())
        self._index = {label: i for i, label in enumerate(self.labels)}


def tokenize(text: str, unit: Unit) -> list[str]:
    """The tokens of a text: its characters, or its words by whitespace."""
    return list(text) if unit == "characters" else text.split()


def detokenize(tokens: Sequence[str], unit: Unit) -> str:
    """The text of tokens."""
    return ("" if unit == "characters" else " ").join(tokens)
