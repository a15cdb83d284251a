"""Lazy datasets: sequences that are too large for memory, whose items are made on access."""

from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar, overload

import numpy as np
from jaxtyping import Int

Item = TypeVar("Item")
Other = TypeVar("Other")
Indices = Int[np.ndarray, " items"]


class LazySequence(Sequence[Item], Generic[Item]):
    """A lazy sequence: a function from an index to an item, and the indices of its items.

    It takes eight bytes of memory for each item. Single items may be replaced by given ones.
    """

    def __init__(
        self, make: Callable[[int], Item], indices: Indices, replaced: dict[int, Item] | None = None
    ) -> None:
        self._make, self._indices, self._replaced = make, indices, replaced or {}

    def __len__(self) -> int:
        return len(self._indices)

    @overload
    def __getitem__(self, which: int) -> Item: ...
    @overload
    def __getitem__(self, which: slice) -> "LazySequence[Item]": ...
    def __getitem__(self, which: int | slice) -> "Item | LazySequence[Item]":
        if isinstance(which, slice):
            return LazySequence(self._make, self._indices[which], self._replaced)
        index = int(self._indices[which])
        return self._replaced[index] if index in self._replaced else self._make(index)

    def map(self, change: Callable[[Item], Other]) -> "LazySequence[Other]":
        """A lazy sequence of the changed items; each is changed when it is accessed."""
        changed = {index: change(item) for index, item in self._replaced.items()}
        return LazySequence(lambda index: change(self._make(index)), self._indices, changed)

    def select(self, which: Indices) -> "LazySequence[Item]":
        """The items at these positions, in this order."""
        return LazySequence(self._make, self._indices[which], self._replaced)

    def replace(self, number: int, item: Item) -> "LazySequence[Item]":
        """The same sequence with another item at this position."""
        index = int(self._indices[number])
        return LazySequence(self._make, self._indices, self._replaced | {index: item})


def lazy_map(change: Callable[[Any], Other], items: Sequence[Any]) -> Sequence[Other]:
    """Apply a function to each item: at once, or on access if the sequence is lazy."""
    if isinstance(items, LazySequence):
        return items.map(change)
    return [change(item) for item in items]


def select(items: Sequence[Any], which: Indices) -> Sequence[Any]:
    """The items at these positions, in this order."""
    if isinstance(items, LazySequence):
        return items.select(which)
    return [items[number] for number in which.tolist()]
