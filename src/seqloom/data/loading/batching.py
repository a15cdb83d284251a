"""Length-bucketed batches, shuffled each epoch from the random seed.

The batches of an epoch depend on the seed and the epoch number alone. A run that was stopped
resumes by counting batches; there is no sampler state to save.
"""

import hashlib
from collections.abc import Sequence
from typing import Any, Protocol, runtime_checkable

import numpy as np
from jaxtyping import Int

from ...batch import Batch, Item, collate


@runtime_checkable
class DataLoader(Protocol):
    """Data loader: the batches of every epoch, in training order.

    Unlike torch's, it is not an iterator: `epoch` lists keys of batches and `batch` builds one,
    so that training can resume in the middle of an epoch.
    """

    def digest(self) -> str:
        """A digest of the data and the options that determine the batches of every epoch."""
        ...

    def epoch(self, number: int) -> list[Any]:
        """The keys of the batches of an epoch, in order."""
        ...

    def batch(self, which: Any) -> Batch:
        """The batch of a key."""
        ...


class BucketLoader:
    """Data loader with length-bucketed batches: sequences of similar length share a batch.

    Sorting by length leaves almost no padding. A little noise is added to the lengths in each
    epoch, so that the same examples do not always share a batch. Batches are then shuffled.
    """

    def __init__(self, items: Sequence[Item], batch_size: int, max_tokens: int, seed: int) -> None:
        self.items, self.seed = list(items), seed
        self.batch_size, self.max_tokens = batch_size, max_tokens
        self._source = np.array([len(item.source) for item in items])
        self._target = np.array([len(item.target) for item in items])
        self._cached: tuple[int, list[Int[np.ndarray, " batch"]]] = (-1, [])

    def digest(self) -> str:
        """A digest of the lengths and the options that determine the batches of every epoch."""
        options = self.batch_size, self.max_tokens, self.seed
        return digest_of(options, self._source, self._target)

    def epoch(self, number: int) -> list[Int[np.ndarray, " batch"]]:
        """The indices of the examples of each batch of an epoch."""
        if self._cached[0] != number:
            self._cached = (number, self._shuffled(number))
        return self._cached[1]

    def batch(self, which: Int[np.ndarray, " batch"]) -> Batch:
        """The padded batch of these examples."""
        return collate([self.items[i] for i in which])

    def _shuffled(self, number: int) -> list[Int[np.ndarray, " batch"]]:
        return self._bucketed(
            np.arange(len(self.items)), np.random.default_rng([self.seed, number])
        )

    def _bucketed(
        self, chosen: Int[np.ndarray, " n"], rng: np.random.Generator
    ) -> list[Int[np.ndarray, " batch"]]:
        """The chosen examples in batches, in random order."""
        noise = rng.random((2, len(chosen)))
        source, target = self._source[chosen], self._target[chosen]
        # lexsort sorts by its last key first: by source length, and by target length among equals.
        # floor(length + noise) keeps source lengths exact; targets may swap with neighbours.
        order = chosen[np.lexsort((target + 2 * noise[1], np.floor(source + noise[0])))]
        sides = [self._source[order], self._target[order]]
        batches = np.split(order, _boundaries(sides, self.batch_size, self.max_tokens))
        return [batches[index] for index in rng.permutation(len(batches))]


def digest_of(*parts: np.ndarray | Sequence[int]) -> str:
    """SHA-256 of numbers and arrays."""
    digest = hashlib.sha256()
    for part in parts:
        array = np.ascontiguousarray(part)
        digest.update(f"{array.dtype.str}{array.shape}".encode())
        digest.update(array.reshape(-1).view(np.uint8).data)
    return digest.hexdigest()


def batches_by_length(
    lengths: Sequence[int], batch_size: int, max_tokens: int = 0
) -> list[Int[np.ndarray, " batch"]]:
    """Batches for inference: sorted by length, every example once.

    They have `batch_size` examples each. If `max_tokens` is not 0, they have at most so many
    tokens instead, padding included; a longer sequence is a batch of its own.
    """
    order = np.argsort(lengths, kind="stable")
    if not len(order):
        return []
    bounds = _boundaries([np.asarray(lengths)[order]], batch_size, max_tokens)
    return list(np.split(order, bounds))


def _boundaries(
    sides: Sequence[Int[np.ndarray, " n"]], batch_size: int, max_tokens: int
) -> list[int]:
    """Where each batch but the first begins: by examples, or by padded tokens of all sides."""
    count = len(sides[0])
    if not max_tokens:
        return list(range(batch_size, count, batch_size))
    bounds, start, longest = [], 0, [0] * len(sides)
    for index, lengths in enumerate(zip(*(side.tolist() for side in sides), strict=True)):
        longest = [max(pair) for pair in zip(longest, lengths, strict=True)]
        # The padded size of a batch is its longest sequence times its number of rows.
        if index > start and sum(longest) * (index + 1 - start) > max_tokens:
            bounds.append(index)
            start, longest = index, list(lengths)
    return bounds
