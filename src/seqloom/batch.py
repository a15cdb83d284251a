"""Padded batches of sequences with their true lengths: what passes between data, models and tasks.

Arrays are NumPy arrays, so that reading data and training in closed form never import torch. Neural
models convert them to tensors in their input layers, without a copy.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int

from .signature import BEGIN, PAD, Bits, Space

Ids = Int[np.ndarray, " _"]  # of any length: each row of a list has its own
Numbers = Float[np.ndarray, " _"]  # one real number at each position
Rows = Int[np.ndarray, "_ columns"] | Float[np.ndarray, "_ width"]


@dataclass(frozen=True)
class Sequences:
    """Right-padded sequences of ids, columns of ids, or real numbers or rows, with true lengths."""

    values: (
        Int[np.ndarray, "batch time"]
        | Int[np.ndarray, "batch time columns"]
        | Float[np.ndarray, "batch time"]
        | Float[np.ndarray, "batch time width"]
    )
    lengths: Int[np.ndarray, " batch"]

    @classmethod
    def pad(cls, items: Sequence[Ids | Numbers | Rows], fill: int = PAD) -> "Sequences":
        """Sequences of different lengths as one array, padded to the longest."""
        lengths = np.fromiter((len(item) for item in items), dtype=np.int64, count=len(items))
        width = items[0].shape[1:] if len(items) else ()
        dtype = _dtype(items, default=items[0].dtype if width else np.dtype(np.int64))
        values = np.full((len(items), int(lengths.max(initial=0)), *width), fill, dtype=dtype)
        values[length_mask(lengths, values.shape[1])] = np.concatenate(items) if len(items) else 0
        return cls(values, lengths)

    @property
    def mask(self) -> Bool[np.ndarray, "batch time"]:
        """True at real positions, False at padding."""
        return length_mask(self.lengths, self.values.shape[1])

    def shift_right(self, begin: int | Float[np.ndarray, " width"]) -> "Sequences":
        """Shifted by one step, `begin` first: the input of a causal model (teacher forcing)."""
        values = np.empty_like(self.values)
        values[:, :1] = begin
        values[:, 1:] = self.values[:, :-1]
        return Sequences(values, self.lengths)

    def words(self) -> "Sequences":
        """The ids of the words alone: the first column, if positions have several."""
        is_integer = np.issubdtype(self.values.dtype, np.integer)
        return (
            Sequences(self.values[..., 0], self.lengths)
            if is_integer and self.values.ndim > 2
            else self
        )

    def rows(self) -> list[list[Any]]:
        """The values as nested lists, without padding."""
        lengths = self.lengths.tolist()
        return [row[:length] for row, length in zip(self.values.tolist(), lengths, strict=True)]

    def __len__(self) -> int:
        return len(self.lengths)


@dataclass(frozen=True)
class Batch:
    """Sources and targets of several examples.

    For forecasts, the last rows of each source are the future: as many as the target has, with
    their known inputs, and NaN for what is to be predicted. A source without any rows before them
    is a whole series to train on.
    """

    source: Sequences
    target: Sequences

    def __len__(self) -> int:
        return len(self.source)


@dataclass(frozen=True)
class Item:
    """One encoded example: its source and its target as arrays."""

    source: Any
    target: Any


def collate(items: Sequence[Item]) -> Batch:
    """Encoded examples as one padded batch."""
    return Batch(
        Sequences.pad([item.source for item in items]),
        Sequences.pad([item.target for item in items]),
    )


def _dtype(items: Sequence[Ids | Numbers | Rows], default: Any) -> Any:
    """Whole numbers as int64, real numbers in their own precision.

    What is empty has no say: NumPy makes an empty list of ids an array of real numbers.
    """
    found = np.result_type(*{item.dtype for item in items if len(item)} or {default})
    return found if np.issubdtype(found, np.floating) else np.dtype(np.int64)


def begin_value(space: Space) -> int | Float[np.ndarray, " size"]:
    """The input before the first position: BEGIN, or a row of zero bits."""
    return np.zeros(space.size, dtype=np.float32) if isinstance(space, Bits) else BEGIN


def length_mask(lengths: Int[np.ndarray, " batch"], time: int) -> Bool[np.ndarray, "batch {time}"]:
    """True at the first `lengths[i]` of `time` positions."""
    return np.arange(time) < lengths[:, None]
