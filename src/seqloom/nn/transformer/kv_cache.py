"""Rows that grow by one place at a time, as values, without being copied each time."""

from threading import Lock

import torch
from jaxtyping import Float
from torch import Tensor

_CLAIMING = Lock()


def grown(
    rows: Float[Tensor, "batch place *rest"], most: int
) -> Float[Tensor, "batch longer *rest"]:
    """The rows and one more place at the end, for the caller to write.

    What is given out is the beginning of a longer store. The next place is taken from what lies
    hidden behind the rows, so nothing that was given out before can change. A place behind all
    others counts how many are taken: whoever goes on from the same rows a second time sees that
    the next one is gone, and copies.

    Args:
        rows: What there is.
        most: How many places there will ever be.
    """
    taken = rows.shape[1]
    with _CLAIMING:
        if (count := _count(rows)) is not None and int(count) == taken:
            count.fill_(taken + 1)
            return rows.as_strided((len(rows), taken + 1, *rows.shape[2:]), rows.stride())
    found = empty(rows, taken + 1, min(most, max(16, 2 * taken)))
    found[:, :taken] = rows
    return found


def empty(
    like: Float[Tensor, "batch _ *rest"], places: int, room: int
) -> Float[Tensor, "batch {places} *rest"]:
    """So many places to be written, the beginning of a store that has room for `room` of them."""
    batch, _, *rest = like.shape
    store = like.new_empty(batch, max(room, places) + 1, *rest)
    store[:1, -1:].view(-1)[:1] = places
    return store[:, :places]


def _count(rows: Tensor) -> Tensor | None:
    """How many places of the store are taken; None where the rows are not the start of a store."""
    whole, place = rows.stride(0), rows.stride(1)
    if whole < (rows.shape[1] + 2) * max(1, place):  # no room for the next place and the count
        return None
    size = whole * rows.element_size()
    room = rows.untyped_storage().nbytes()
    # The first rows of a store are one themselves: they share the count with all of them.
    if rows.storage_offset() or room % size or room < len(rows) * size:
        return None
    return torch.as_strided(rows, (), (), whole - place)
