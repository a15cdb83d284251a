"""Padded sequences with their true lengths: the only thing that passes between the layers.

The arrays are NumPy's, so that reading, checking and counting never import torch; neural models
turn them into tensors at their own door, without a copy.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int

from .signature import BEGIN, PAD, Bits, Space

Ids = Int[np.ndarray, " _"]  # of any length: each row of a list has its own
Rows = Int[np.ndarray, "_ columns"] | Float[np.ndarray, "_ width"]


@dataclass(frozen=True)
class Sequences:
    """Ids, columns of them or vectors of real numbers, right-padded, with true lengths."""

    values: (
        Int[np.ndarray, "batch time"]
        | Int[np.ndarray, "batch time columns"]
        | Float[np.ndarray, "batch time width"]
    )
    lengths: Int[np.ndarray, " batch"]

    @classmethod
    def pad(cls, items: Sequence[Ids | Rows], fill: int = PAD) -> "Sequences":
        """Rows of different lengths as one array, as wide as the longest."""
        lengths = np.fromiter((len(item) for item in items), dtype=np.int64, count=len(items))
        width = items[0].shape[1:] if len(items) else ()
        whole = not width or np.issubdtype(items[0].dtype, np.integer)
        kind = np.int64 if whole else items[0].dtype  # of real numbers the precision is kept
        values = np.full((len(items), int(lengths.max(initial=0)), *width), fill, dtype=kind)
        values[mask_of(lengths, values.shape[1])] = np.concatenate(items) if len(items) else 0
        return cls(values, lengths)

    @property
    def mask(self) -> Bool[np.ndarray, "batch time"]:
        """True where a position is real."""
        return mask_of(self.lengths, self.values.shape[1])

    def late(self, begin: int | Float[np.ndarray, " width"]) -> "Sequences":
        """Ids, or rows, one step late: what a model has read when it must predict each of them."""
        values = np.empty_like(self.values)
        values[:, :1] = begin
        values[:, 1:] = self.values[:, :-1]
        return Sequences(values, self.lengths)

    def words(self) -> "Sequences":
        """Ids alone, where each position has several columns: those of the first."""
        is_whole = np.issubdtype(self.values.dtype, np.integer)
        return (
            Sequences(self.values[..., 0], self.lengths)
            if is_whole and self.values.ndim > 2
            else self
        )

    def rows(self) -> list[list[Any]]:
        """The values without padding, as lists; a vector is a list too."""
        lengths = self.lengths.tolist()
        return [row[:length] for row, length in zip(self.values.tolist(), lengths, strict=True)]

    def __len__(self) -> int:
        return len(self.lengths)


@dataclass(frozen=True)
class Batch:
    """What to read and what to predict.

    Where series are forecast, the last rows of each source are those to be predicted: as many as
    the target has, with their inputs, and NaN for what is not known yet. A source without any rows
    before them is a series to be learned from as a whole.
    """

    source: Sequences
    target: Sequences

    def __len__(self) -> int:
        return len(self.source)


@dataclass(frozen=True)
class Item:
    """One example as numbers: what to read and what to predict."""

    source: Any
    target: Any


def collate(items: Sequence[Item]) -> Batch:
    """Examples as one padded batch."""
    return Batch(
        Sequences.pad([item.source for item in items]),
        Sequences.pad([item.target for item in items]),
    )


def before_the_first(space: Space) -> int | Float[np.ndarray, " size"]:
    """What is read before the first of a sequence is predicted: BEGIN, or a row without a yes."""
    return np.zeros(space.size, dtype=np.float32) if isinstance(space, Bits) else BEGIN


def mask_of(lengths: Int[np.ndarray, " batch"], time: int) -> Bool[np.ndarray, "batch {time}"]:
    """True for the first `lengths[i]` of `time` places."""
    return np.arange(time) < lengths[:, None]
