"""From counted rows to grams of every length, each tied to its context and to its suffix."""

from dataclasses import dataclass, field, replace

import numpy as np
from jaxtyping import Int

from ...signature import BEGIN, PAD
from .counts import Packing, Rows

Numbers = Int[np.ndarray, " _"]
NEVER = [PAD, BEGIN]  # symbols that never follow


@dataclass(frozen=True)
class Level:
    """All grams of one length, sorted by context and then by symbol.

    A context of `depth` symbols is a number; contexts are sorted from the nearest symbol back.
    The suffix of a gram is the gram one shorter that lacks its first symbol.
    """

    depth: int  # how many symbols a context has
    size: int  # how many symbols can follow at all
    context: Numbers  # of each gram
    word: Numbers
    suffix: Numbers
    times: Numbers  # how often each gram was seen
    kinds: Numbers  # after how many different symbols; where nothing stands before, how often
    parent: Numbers = field(repr=False)  # of each context: the same without its farthest symbol
    farthest: Numbers = field(repr=False)  # of each context: that symbol

    @property
    def contexts(self) -> int:
        """How many different contexts there are."""
        return len(self.parent)


def levels_of(rows: Rows, packing: Packing) -> list[Level]:
    """Grams of one symbol, of two, and so on up to the order of the packing.

    A row whose text begins within its context has PAD before that; it has no part in longer
    contexts than it has symbols.
    """
    size, last = packing.size, packing.order - 1
    word, times = packing.column(rows.keys, last), np.asarray(rows.times)
    node = np.zeros(len(word), dtype=np.int64)
    new = np.zeros(len(word), dtype=bool)  # where the context is not that of the row before
    every = np.arange(size)
    once = np.bincount(word, weights=times, minlength=size).astype(np.int64)
    none = np.zeros(1, dtype=np.int64)
    found = [
        Level(0, size - len(NEVER), np.zeros_like(every), every, every, once, once, none, none)
    ]
    below = word  # the gram of each row at the level below
    for depth in range(1, packing.order):
        symbol = packing.column(rows.keys, depth - 1)
        new[1:] |= symbol[1:] != symbol[:-1]
        inside = symbol != PAD
        new_inside = _carried(new, inside)
        of_row = np.cumsum(new_inside) - 1
        first = np.flatnonzero(new_inside)
        short = np.bincount(below[~inside], times[~inside], len(found[-1].word)).astype(np.int64)
        symbol, word, times = symbol[inside], word[inside], times[inside]
        node, below, new = node[inside], below[inside], new_inside
        codes, where, gram = _distinct(of_row * size + word, is_sorted=depth == last)
        many = np.bincount(gram, times, len(codes)).astype(np.int64)
        suffix = below[where]
        kinds = short + np.bincount(suffix, minlength=len(short))
        found[-1] = replace(found[-1], kinds=kinds)
        parts = (codes // size, codes % size, suffix, many, many, node[first], symbol[first])
        found.append(Level(depth, size - len(NEVER), *parts))
        rows = Rows(rows.keys[inside] if not inside.all() else rows.keys, times)
        node, below = of_row, gram
    return found


def _carried(new: np.ndarray, inside: np.ndarray) -> np.ndarray:
    """Where a context begins among the rows inside; a beginning outside is carried to the next."""
    number = np.cumsum(new)[inside]
    begins = np.ones(len(number), dtype=bool)
    begins[1:] = number[1:] != number[:-1]
    return begins


def _distinct(codes: Numbers, *, is_sorted: bool) -> tuple[Numbers, Numbers, Numbers]:
    """The different codes in order, one place of each, and for every place which code it has."""
    if is_sorted:
        new = np.ones(len(codes), dtype=bool)
        new[1:] = codes[1:] != codes[:-1]
        first = np.flatnonzero(new)
        return codes[first], first, np.cumsum(new) - 1
    order = np.argsort(codes)
    ordered = codes[order]
    kept, first, place = _distinct(ordered, is_sorted=True)
    which = np.empty_like(place)
    which[order] = place
    return kept, order[first], which
