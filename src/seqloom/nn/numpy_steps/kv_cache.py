"""Key-value cache in NumPy: it grows by one position at a time, without being copied each time.

The counterpart of `nn/transformer/kv_cache`, with another memory layout: all positions of one key
or value of one sequence are contiguous, so that a product with them reads memory in order.
"""

from threading import Lock
from typing import Any

import numpy as np
from jaxtyping import Float

_RESERVING = Lock()
MIN_POSITIONS = 16  # capacity that a new store has at least


class CacheStore:
    """Memory for more positions than are used; `values` is (*batch, part, capacity, width).

    The first rows of a store are a store themselves, and share the count of positions with it.
    """

    def __init__(
        self, values: Float[np.ndarray, "*batch part room width"], count: list[int] | None = None
    ) -> None:
        self.values, self.count = values, [0] if count is None else count

    @property
    def taken(self) -> int:
        """Number of positions that have been written."""
        return self.count[0]

    @taken.setter
    def taken(self, positions: int) -> None:
        self.count[0] = positions

    def first(self, rows: int) -> "CacheStore":
        """The store of the first sequences of a batch."""
        return CacheStore(self.values[:rows], self.count)

    def rows(self, positions: int) -> "CacheRows":
        """The first positions, as part of a state."""
        view = self.values[..., :positions, :].swapaxes(-3, -2).view(CacheRows)
        view.store = self
        return view


class CacheRows(np.ndarray):
    """(*batch, position, part, width): the beginning of a store, or an array like any other.

    A state is a value: nobody who holds one may see it change. Yet appending must not copy. So an
    array remembers the store it is the beginning of, and whoever appends first takes the next
    position there.
    """

    store: CacheStore | None = None

    def __getitem__(self, which: Any) -> Any:
        """Rows of a batch, with capacity to grow, as beam search selects them; or any index.

        The first rows, [:n], are not copied: those that stay when others are finished.
        """
        if self.store is not None and self.ndim == 4 and _is_prefix(which):
            return self.store.first(which.stop).rows(self.shape[1])
        if self.ndim == 4 and isinstance(which, np.ndarray):
            _, positions, parts, width = self.shape
            order = np.flatnonzero(which) if which.dtype == bool else which
            capacity = max(MIN_POSITIONS, positions + positions // 2)
            store = _allocate((len(order),), parts, capacity, width, self.dtype)
            values = np.asarray(self).swapaxes(1, 2)
            for place, row in enumerate(order.tolist()):  # an index array would copy twice
                store.values[place, :, :positions] = values[row]
            store.taken = positions
            return store.rows(positions)
        return np.asarray(self)[which]


def reserve_position(rows: np.ndarray, most: int) -> CacheStore:
    """A store that begins with these rows and has one more position, for the caller to write.

    The next position of the rows' own store, unless another continuation of the same rows has it
    already: then they are copied. So nothing that was handed out before can change.
    """
    *batch, positions, parts, width = rows.shape
    store = getattr(rows, "store", None)
    with _RESERVING:
        if store is not None and store.taken == positions < store.values.shape[-2]:
            store.taken += 1
            return store
    # Doubling the capacity makes the copies cost a constant per position on average.
    capacity = max(positions + 1, min(most, max(MIN_POSITIONS, 2 * positions)))
    store = _allocate(tuple(batch), parts, capacity, width, rows.dtype)
    store.values[..., :positions, :] = np.asarray(rows).swapaxes(-3, -2)
    store.taken = positions + 1
    return store


def _allocate(
    batch: tuple[int, ...], parts: int, capacity: int, width: int, kind: Any
) -> CacheStore:
    return CacheStore(np.empty((*batch, parts, capacity, width), dtype=kind))


def _is_prefix(which: Any) -> bool:
    """Whether an index is [:n]."""
    is_slice = isinstance(which, slice) and which.start is None and which.step is None
    return is_slice and which.stop is not None and which.stop >= 0
