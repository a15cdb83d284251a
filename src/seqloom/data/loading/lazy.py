"""Lazy datasets: sequences that are too large for memory, whose items are made on access."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from typing import Any, Generic, TypeVar, overload

import numpy as np
from jaxtyping import Int

Item = TypeVar("Item")
Other = TypeVar("Other")
BLOCK = 8192  # items that are made at once
Indices = Int[np.ndarray, " items"]


class LazySequence(Sequence[Item], Generic[Item]):
    """A lazy sequence: a function from an index to an item, and the indices of its items.

    It takes eight bytes of memory for each item. Single items may be replaced by given ones.
    `make_block` makes several items at once, for those who go through all of them: lines that lie
    side by side are read together.
    """

    def __init__(
        self,
        make: Callable[[int], Item],
        indices: Indices,
        replaced: dict[int, Item] | None = None,
        make_block: Callable[[Indices], Iterable[Item]] | None = None,
    ) -> None:
        self._make, self._indices, self._replaced = make, indices, replaced or {}
        self._make_block = make_block or (lambda block: map(make, block.tolist()))

    def __len__(self) -> int:
        return len(self._indices)

    @overload
    def __getitem__(self, which: int) -> Item: ...
    @overload
    def __getitem__(self, which: slice) -> "LazySequence[Item]": ...
    def __getitem__(self, which: int | slice) -> "Item | LazySequence[Item]":
        if isinstance(which, slice):
            return self.select(np.arange(len(self))[which])
        index = int(self._indices[which])
        return self._replaced[index] if index in self._replaced else self._make(index)

    def __iter__(self) -> Iterator[Item]:
        if self._replaced:
            return map(self.__getitem__, range(len(self)))
        starts = range(0, len(self), BLOCK)
        blocks = (self._make_block(self._indices[start : start + BLOCK]) for start in starts)
        return chain.from_iterable(blocks)

    def map(self, change: Callable[[Item], Other]) -> "LazySequence[Other]":
        """A lazy sequence of the changed items; each is changed when it is accessed."""
        changed = {index: change(item) for index, item in self._replaced.items()}
        return LazySequence(
            lambda index: change(self._make(index)),
            self._indices,
            changed,
            lambda block: map(change, self._make_block(block)),
        )

    def select(self, which: Indices) -> "LazySequence[Item]":
        """The items at these positions, in this order."""
        return LazySequence(self._make, self._indices[which], self._replaced, self._make_block)

    def replace(self, number: int, item: Item) -> "LazySequence[Item]":
        """The same sequence with another item at this position."""
        index = int(self._indices[number])
        replaced = self._replaced | {index: item}
        return LazySequence(self._make, self._indices, replaced, self._make_block)


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
