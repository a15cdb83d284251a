"""KV cache (keys and values) in torch: it grows by one position at a time, without copies."""

from threading import Lock

import torch
from jaxtyping import Float
from torch import Tensor

_RESERVING = Lock()
MIN_POSITIONS = 16  # capacity that a new cache has at least


def append_position(
    rows: Float[Tensor, "batch position *rest"], most: int
) -> Float[Tensor, "batch longer *rest"]:
    """The rows and one more position at the end, for the caller to write.

    A state is a value: what was handed out may not change. Yet appending must not copy. So a cache
    is the beginning of longer memory, and whoever appends first takes the next position there. A
    hidden position behind all others counts how many are taken: another continuation of the same
    rows sees that the next one is gone, and copies.

    Args:
        rows: The cache so far.
        most: The largest number of positions there will ever be.
    """
    taken = rows.shape[1]
    with _RESERVING:
        if (count := _count(rows)) is not None and int(count) == taken:
            count.fill_(taken + 1)
            return rows.as_strided((len(rows), taken + 1, *rows.shape[2:]), rows.stride())
    longer = allocate(rows, taken + 1, min(most, max(MIN_POSITIONS, 2 * taken)))
    longer[:, :taken] = rows
    return longer


def allocate(
    like: Float[Tensor, "batch _ *rest"], places: int, room: int
) -> Float[Tensor, "batch {places} *rest"]:
    """Memory for so many positions, the beginning of a cache with capacity for `room` of them."""
    batch, _, *rest = like.shape
    store = like.new_empty(batch, max(room, places) + 1, *rest)
    store[:1, -1:].view(-1)[:1] = places  # the count, in the first element of the hidden position
    return store[:, :places]


def _count(rows: Tensor) -> Tensor | None:
    """The count of taken positions; None where the rows are not the beginning of a cache.

    A tensor cannot carry an attribute through torch's operations, so strides and the size of the
    storage tell: rows further apart than their length, at the beginning of a storage of whole rows.
    """
    whole, position = rows.stride(0), rows.stride(1)
    if whole < (rows.shape[1] + 2) * max(1, position):  # no capacity for the next and the count
        return None
    size = whole * rows.element_size()
    storage = rows.untyped_storage().nbytes()
    # The first rows of a cache are a cache themselves: they share the count with all of them.
    if rows.storage_offset() or storage % size or storage < len(rows) * size:
        return None
    return torch.as_strided(rows, (), (), whole - position)
