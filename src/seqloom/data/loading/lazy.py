"""Sequences too large to be held: each item is made from its place when it is asked for."""

from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar, overload

import numpy as np
from jaxtyping import Int

Item = TypeVar("Item")
Other = TypeVar("Other")
Places = Int[np.ndarray, " items"]


class Lazy(Sequence[Item], Generic[Item]):
    """Items at some places of something larger; a few may have been replaced by others.

    What it takes in memory is eight bytes for each item.
    """

    def __init__(
        self, make: Callable[[int], Item], places: Places, replaced: dict[int, Item] | None = None
    ) -> None:
        self._make, self._places, self._replaced = make, places, replaced or {}

    def __len__(self) -> int:
        return len(self._places)

    @overload
    def __getitem__(self, which: int) -> Item: ...
    @overload
    def __getitem__(self, which: slice) -> "Lazy[Item]": ...
    def __getitem__(self, which: int | slice) -> "Item | Lazy[Item]":
        if isinstance(which, slice):
            return Lazy(self._make, self._places[which], self._replaced)
        place = int(self._places[which])
        return self._replaced[place] if place in self._replaced else self._make(place)

    def then(self, change: Callable[[Item], Other]) -> "Lazy[Other]":
        """The same places, and of each item what is made of it."""
        changed = {place: change(item) for place, item in self._replaced.items()}
        return Lazy(lambda place: change(self._make(place)), self._places, changed)

    def picked(self, which: Places) -> "Lazy[Item]":
        """The items of these numbers, in their order."""
        return Lazy(self._make, self._places[which], self._replaced)

    def but(self, number: int, item: Item) -> "Lazy[Item]":
        """The same, with another item at this number."""
        place = int(self._places[number])
        return Lazy(self._make, self._places, self._replaced | {place: item})


def each(change: Callable[[Any], Other], items: Sequence[Any]) -> Sequence[Other]:
    """What is made of each item: now, or where they are lazy, when it is asked for."""
    return items.then(change) if isinstance(items, Lazy) else [change(item) for item in items]


def picked(items: Sequence[Any], which: Places) -> Sequence[Any]:
    """The items of these numbers, in their order."""
    if isinstance(items, Lazy):
        return items.picked(which)
    return [items[number] for number in which.tolist()]
