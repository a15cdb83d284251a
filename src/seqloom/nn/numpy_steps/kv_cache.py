"""Keys and values that grow by one place at a time, as values, without being copied each time.

The twin of `nn.growing`, with an arrangement of its own: what belongs to one key or value of one
sequence lies together, so that a product with it runs through memory in one go.
"""

from threading import Lock
from typing import Any

import numpy as np
from jaxtyping import Float

_CLAIMING = Lock()
ROOM = 16  # places a store has at least


class Store:
    """Room for more places than are taken; `values` is (*batch, part, room, width).

    The first rows of a store are one themselves, and share the count of places with all of them.
    """

    def __init__(
        self, values: Float[np.ndarray, "*batch part room width"], count: list[int] | None = None
    ) -> None:
        self.values, self.count = values, [0] if count is None else count

    @property
    def taken(self) -> int:
        """How many places somebody has written."""
        return self.count[0]

    @taken.setter
    def taken(self, places: int) -> None:
        self.count[0] = places

    def first(self, rows: int) -> "Store":
        """The room of the first sequences of a batch."""
        return Store(self.values[:rows], self.count)

    def rows(self, places: int) -> "Grown":
        """The first places, as a value of a state."""
        found = self.values[..., :places, :].swapaxes(-3, -2).view(Grown)
        found.store = self
        return found


class Grown(np.ndarray):
    """(*batch, place, part, width): the beginning of a store, or an array like any other."""

    store: Store | None = None

    def __getitem__(self, which: Any) -> Any:
        """Some of a batch, with room to grow: what a search asks for; or any part of the array.

        The first of a batch are not copied: those that stay when others leave.
        """
        if self.store is not None and self.ndim == 4 and _is_beginning(which):
            return self.store.first(which.stop).rows(self.shape[1])
        if self.ndim == 4 and isinstance(which, np.ndarray):
            _, places, parts, width = self.shape
            order = np.flatnonzero(which) if which.dtype == bool else which
            store = _empty((len(order),), parts, max(ROOM, places + places // 2), width, self.dtype)
            values = np.asarray(self).swapaxes(1, 2)
            for place, row in enumerate(order.tolist()):  # an index would copy everything twice
                store.values[place, :, :places] = values[row]
            store.taken = places
            return store.rows(places)
        return np.asarray(self)[which]


def claimed(rows: np.ndarray, most: int) -> Store:
    """A store that begins with these rows and has one more place, for the caller alone to write.

    The next place of the rows' own store, unless somebody who went on from the same rows has it:
    then they are copied. So nothing that was given out before can change.
    """
    *batch, places, parts, width = rows.shape
    store = getattr(rows, "store", None)
    with _CLAIMING:
        if store is not None and store.taken == places < store.values.shape[-2]:
            store.taken += 1
            return store
    room = max(places + 1, min(most, max(ROOM, 2 * places)))
    store = _empty(tuple(batch), parts, room, width, rows.dtype)
    store.values[..., :places, :] = np.asarray(rows).swapaxes(-3, -2)
    store.taken = places + 1
    return store


def _empty(batch: tuple[int, ...], parts: int, room: int, width: int, kind: Any) -> Store:
    return Store(np.empty((*batch, parts, room, width), dtype=kind))


def _is_beginning(which: Any) -> bool:
    """Whether an index is [:n]."""
    is_slice = isinstance(which, slice) and which.start is None and which.step is None
    return is_slice and which.stop is not None and which.stop >= 0
