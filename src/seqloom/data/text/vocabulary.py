"""Two-way tables between what users write and numbers."""

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import chain, repeat
from typing import Literal

import numpy as np
from jaxtyping import Int

from ...signature import BEGIN, END, PAD, UNKNOWN, Labels, Tokens

SPECIAL = ("<pad>", "<s>", "</s>", "<unk>")
Unit = Literal["characters", "words"]


class Vocabulary:
    """Symbols in order of frequency, after the four special ones."""

    def __init__(self) -> None:
        self.restore(list(SPECIAL))

    def learn(self, sequences: Iterable[Iterable[str]], at_least: int = 1, most: int = 0) -> None:
        """Take in every symbol seen often enough; if there are too many, the most frequent."""
        counts = Counter(chain.from_iterable(sequences))
        for special in SPECIAL:
            counts.pop(special, None)
        ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
        kept = [symbol for symbol, count in ordered if count >= at_least]
        self.restore([*SPECIAL, *kept[: most or None]])

    def encode(self, symbols: Sequence[str], end: bool = False) -> Int[np.ndarray, " time"]:
        """Numbers for symbols, END after them if asked for; what was never seen is UNKNOWN."""
        ids = list(map(self._index.get, symbols, repeat(UNKNOWN)))
        return np.array([*ids, END] if end else ids, dtype=np.int64)

    def decode(self, ids: Iterable[int]) -> list[str]:
        """Symbols for numbers, without those that only mark places."""
        return [self.symbols[i] for i in ids if i not in (PAD, BEGIN, END)]

    def knows(self, symbols: Iterable[str]) -> list[bool]:
        """For each symbol, whether training showed it."""
        return [symbol in self._index for symbol in symbols]

    @property
    def space(self) -> Tokens:
        """What a model needs to know of it."""
        return Tokens(len(self.symbols))

    def state(self) -> list[str]:
        return self.symbols

    def restore(self, state: list[str]) -> None:
        self.symbols = list(state)
        self._index = {symbol: i for i, symbol in enumerate(self.symbols) if i >= len(SPECIAL)}


class LabelSet:
    """Labels in alphabetical order: a closed set, nothing special among them."""

    def __init__(self) -> None:
        self.restore({})

    def learn(self, labels: Iterable[str]) -> None:
        """Take in every label, and how often it comes."""
        found = Counter(labels)
        self.restore({label: found[label] for label in sorted(found)})

    def encode(self, labels: Sequence[str]) -> Int[np.ndarray, " time"]:
        """Numbers for labels; all must be known (see `unknown`)."""
        return np.array(self.numbers(labels), dtype=np.int64)

    def numbers(self, labels: Iterable[str]) -> list[int]:
        """The same as a list."""
        return [self._index[label] for label in labels]

    def decode(self, ids: Iterable[int]) -> list[str]:
        """Labels for numbers."""
        return [self.labels[i] for i in ids]

    def unknown(self, labels: Iterable[str]) -> list[str]:
        """Those labels that training never showed."""
        return [label for label in labels if label not in self._index]

    @property
    def space(self) -> Labels:
        """What a model needs to know of it."""
        return Labels(len(self.labels), counts=self.counts if any(self.counts) else ())

    def state(self) -> dict[str, int]:
        return dict(zip(self.labels, self.counts, strict=True))

    def restore(self, state: dict[str, int]) -> None:
        self.labels, self.counts = list(state), tuple(state.values())
        self._index = {label: i for i, label in enumerate(self.labels)}


def cut(text: str, unit: Unit) -> list[str]:
    """A text as symbols."""
    return list(text) if unit == "characters" else text.split()


def join(symbols: Sequence[str], unit: Unit) -> str:
    """Symbols as a text."""
    return ("" if unit == "characters" else " ").join(symbols)
