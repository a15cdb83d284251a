"""Batches of similar length, shuffled anew each epoch from the seed.

An epoch's batches depend on the seed and the number of the epoch alone, so a run that was stopped
takes up its place again by counting, with no state of its own to save.
"""

from collections.abc import Sequence
from typing import Any, Protocol, runtime_checkable

import numpy as np
from jaxtyping import Int

from ...batch import Batch, Item, collate


@runtime_checkable
class Course(Protocol):
    """All batches of every epoch, in the order in which they are learned from."""

    def epoch(self, number: int) -> list[Any]:
        """What names the batches of an epoch, in order."""
        ...

    def batch(self, which: Any) -> Batch:
        """The batch of a name."""
        ...


class Batches:
    """Examples as numbers, in buckets of similar length.

    Sorting by length leaves almost no padding; a little noise in the lengths, drawn anew each
    epoch, keeps the same examples from always meeting. Batches are then shuffled.
    """

    def __init__(self, items: Sequence[Item], size: int, tokens: int, seed: int) -> None:
        self.items, self.size, self.tokens, self.seed = list(items), size, tokens, seed
        self._source = np.array([len(item.source) for item in items])
        self._target = np.array([len(item.target) for item in items])
        self._made: tuple[int, list[Int[np.ndarray, " batch"]]] = (-1, [])

    def epoch(self, number: int) -> list[Int[np.ndarray, " batch"]]:
        """Which examples stand together in each batch of an epoch."""
        if self._made[0] != number:
            self._made = (number, self._make(number))
        return self._made[1]

    def batch(self, which: Int[np.ndarray, " batch"]) -> Batch:
        """The padded batch of these examples."""
        return collate([self.items[i] for i in which])

    def _make(self, number: int) -> list[Int[np.ndarray, " batch"]]:
        return self._arranged(
            np.arange(len(self.items)), np.random.default_rng([self.seed, number])
        )

    def _arranged(
        self, chosen: Int[np.ndarray, " n"], chance: np.random.Generator
    ) -> list[Int[np.ndarray, " batch"]]:
        """Some of the examples in batches."""
        noise = chance.random((2, len(chosen)))
        source, target = self._source[chosen], self._target[chosen]
        order = chosen[np.lexsort((target + 2 * noise[1], np.floor(source + noise[0])))]
        sides = [self._source[order], self._target[order]]
        batches = np.split(order, _cuts(sides, self.size, self.tokens))
        return [batches[place] for place in chance.permutation(len(batches))]


def in_order_of_length(
    lengths: Sequence[int], size: int, tokens: int = 0
) -> list[Int[np.ndarray, " batch"]]:
    """Batches for use: sorted by length, every example once.

    They have `size` examples each; or, where `tokens` is not 0, at most so many symbols with their
    padding. What is longer than that stands alone.
    """
    order = np.argsort(lengths, kind="stable")
    if not len(order):
        return []
    return list(np.split(order, _cuts([np.asarray(lengths)[order]], size, tokens)))


def _cuts(sides: Sequence[Int[np.ndarray, " n"]], size: int, tokens: int) -> list[int]:
    """Where one batch ends and the next begins: by examples, or by symbols of all sides padded."""
    count = len(sides[0])
    if not tokens:
        return list(range(size, count, size))
    cuts, start, longest = [], 0, [0] * len(sides)
    for place, lengths in enumerate(zip(*(side.tolist() for side in sides), strict=True)):
        longest = [max(pair) for pair in zip(longest, lengths, strict=True)]
        if place > start and sum(longest) * (place + 1 - start) > tokens:
            cuts.append(place)
            start, longest = place, list(lengths)
    return cuts
