"""Move the rows of a state in place: what stays where it is is not copied.

A step hands out its state as the caller's own (see `Generator`), and a search goes on from the
last state only. So rows that change places are written over the old ones, and caches that grow
(`nn/transformer/kv_cache.py`) keep the room behind them. What a step never changes, `Still`, was
made by `begin` and may be the model's: it is copied before anything is moved in it.
"""

from typing import Any

import numpy as np
from jaxtyping import Bool, Int

from ..model import State, Still

Places = Int[np.ndarray, " _"]


def spread(state: State, width: int) -> State:
    """The first state with `width` rows for each one, all of them the search's own."""
    return tuple(
        part if isinstance(part, Still) else part[np.arange(len(part)).repeat(width)]
        for part in state
    )


def moved(
    state: State,
    sources: Places,
    order: Places,
    changed: Places | None = None,
    *,
    is_first: bool = False,
) -> State:
    """The state in which place i of a source holds what was at sources[i], a row i order[i].

    Args:
        state: What the last step returned; it must not be used any more.
        sources: Where each source was.
        order: Where each candidate's row was.
        changed: The rows that were elsewhere, where that is known already.
        is_first: Whether no source has moved before, so that what is `Still` may be the model's.
    """
    rows = _changed(order) if changed is None else changed
    return tuple(
        _known(part, sources, is_first) if isinstance(part, Still) else put(part, order, rows)
        for part in state
    )


def put(part: Any, order: Places, changed: Places) -> Any:
    """The rows in a new order, in place; those behind the last place are cut off."""
    if len(changed):
        part[changed] = part[order[changed]]  # what is read is copied before anything is written
    return part if len(order) == len(part) else part[: len(order)]


def without_gaps(kept: Bool[np.ndarray, " sources"]) -> Places:
    """Where the sources that are kept were, if the last of them fill the gaps the others leave."""
    count = int(kept.sum())
    order = np.arange(count)
    order[~kept[:count]] = count + np.flatnonzero(kept[count:])
    return order


def with_room(history: Int[np.ndarray, "rows room"], time: int) -> Int[np.ndarray, "rows more"]:
    """A history in which the place `time` can be written."""
    if time < history.shape[1]:
        return history
    more = np.zeros((len(history), max(64, time)), dtype=np.int64)
    return np.concatenate([history, more], axis=1)


def _known(part: Still, sources: Places, is_first: bool) -> Still:
    changed = _changed(sources)
    if len(sources) == len(part.values) and not len(changed):
        return part
    return part[sources] if is_first else Still(put(part.values, sources, changed))


def _changed(order: Places) -> Places:
    """The places that what was there leaves."""
    return (order != np.arange(len(order))).nonzero()[0]
