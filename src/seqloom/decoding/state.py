"""Reordering of decoder states in place: rows that stay where they are are not copied.

A step hands out its state as the caller's own (see `Generator`), and a search continues from the
last state only. So rows that move are written over old ones, and caches that grow
(`nn/transformer/kv_cache.py`) keep the room behind them. A `Constant` part was made by `begin` and
may belong to the model: it is copied before it is first reordered.
"""

from typing import Any

import numpy as np
from jaxtyping import Bool, Int

from ..model import Constant, State

Indices = Int[np.ndarray, " _"]


def repeat_rows(state: State, count: int) -> State:
    """The first state with each row repeated `count` times; the copies belong to the search."""
    return tuple(
        part if isinstance(part, Constant) else part[np.arange(len(part)).repeat(count)]
        for part in state
    )


def reorder_state(
    state: State,
    sources: Indices,
    order: Indices,
    changed: Indices | None = None,
    *,
    is_first: bool = False,
) -> State:
    """The state in which source i is the old source sources[i], and row i the old row order[i].

    Args:
        state: What the last step returned; it must not be used any more.
        sources: The old index of each source.
        order: The old index of each candidate's row.
        changed: The rows i with order[i] != i, if they are known already.
        is_first: Whether no source has moved before, so that what is `Constant` may be the model's.
    """
    rows = _changed(order) if changed is None else changed
    return tuple(
        _reorder_sources(part, sources, is_first)
        if isinstance(part, Constant)
        else reorder_rows(part, order, rows)
        for part in state
    )


def reorder_rows(part: Any, order: Indices, changed: Indices) -> Any:
    """The rows in a new order, in place; rows beyond the new length are cut off."""
    if len(changed):
        part[changed] = part[order[changed]]  # advanced indexing copies before it assigns
    return part if len(order) == len(part) else part[: len(order)]


def compact_order(kept: Bool[np.ndarray, " sources"]) -> Indices:
    """The old indices of the sources that are kept, where the last of them fill the gaps.

    So only as many sources move as have left, not all behind the first gap.
    """
    count = int(kept.sum())
    order = np.arange(count)
    order[~kept[:count]] = count + np.flatnonzero(kept[count:])
    return order


def grow_history(history: Int[np.ndarray, "rows room"], time: int) -> Int[np.ndarray, "rows more"]:
    """A history with a column for `time`; its room doubles, so that few steps copy it."""
    if time < history.shape[1]:
        return history
    more = np.zeros((len(history), max(64, time)), dtype=np.int64)
    return np.concatenate([history, more], axis=1)


def _reorder_sources(part: Constant, sources: Indices, is_first: bool) -> Constant:
    changed = _changed(sources)
    if len(sources) == len(part.values) and not len(changed):
        return part
    return part[sources] if is_first else Constant(reorder_rows(part.values, sources, changed))


def _changed(order: Indices) -> Indices:
    """The indices i with order[i] != i."""
    return (order != np.arange(len(order))).nonzero()[0]
