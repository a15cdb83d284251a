"""N-grams of every order from counted keys, each linked to its context and its suffix.

Also the continuation counts of Kneser-Ney smoothing: after how many different tokens an n-gram was
seen.
"""

from dataclasses import dataclass, field, replace

import numpy as np
from jaxtyping import Int

from ...signature import BEGIN, PAD
from .counts import CountedKeys, KeyPacking

Numbers = Int[np.ndarray, " _"]
NEVER = [PAD, BEGIN]  # tokens that are never predicted


@dataclass(frozen=True)
class Level:
    """All n-grams of one order, sorted by context and then by token.

    A context of `depth` tokens is a number; contexts are sorted from the nearest token back. The
    suffix of an n-gram is the one of the next lower order, without its first token.
    """

    depth: int  # how many tokens a context has
    size: int  # how many tokens can be predicted at all
    context: Numbers  # of each n-gram
    token: Numbers
    suffix: Numbers
    counts: Numbers  # how often each n-gram was seen
    continuations: Numbers  # after how many tokens; where none can precede it, the count
    parent: Numbers = field(repr=False)  # of each context: the same without its oldest token
    oldest: Numbers = field(repr=False)  # of each context: that token

    @property
    def contexts(self) -> int:
        """How many different contexts there are."""
        return len(self.parent)


def levels_of(rows: CountedKeys, packing: KeyPacking) -> list[Level]:
    """The n-grams of order 1, 2 and so on up to the order of the packing.

    A row whose text begins within its context has PAD before that; it takes no part in contexts
    that are longer than the tokens it has.
    """
    size, last = packing.size, packing.order - 1
    token, counts = packing.column(rows.keys, last), np.asarray(rows.counts)
    node = np.zeros(len(token), dtype=np.int64)
    new = np.zeros(len(token), dtype=bool)  # where the context is not that of the row before
    every = np.arange(size)
    once = np.bincount(token, weights=counts, minlength=size).astype(np.int64)
    none = np.zeros(1, dtype=np.int64)
    found = [
        Level(0, size - len(NEVER), np.zeros_like(every), every, every, once, once, none, none)
    ]
    below = token  # the n-gram of each row at the level below
    for depth in range(1, packing.order):
        nearest = packing.column(rows.keys, depth - 1)
        # Keys are sorted, so a context of `depth` tokens begins exactly where one of its tokens
        # changes: contexts are numbered by a running sum, without any sorting.
        new[1:] |= nearest[1:] != nearest[:-1]
        inside = nearest != PAD
        new_inside = _carried(new, inside)
        of_row = np.cumsum(new_inside) - 1
        first = np.flatnonzero(new_inside)
        # At the beginning of a text no token can precede: Kneser-Ney takes the count itself.
        short = np.bincount(below[~inside], counts[~inside], len(found[-1].token)).astype(np.int64)
        nearest, token, counts = nearest[inside], token[inside], counts[inside]
        node, below, new = node[inside], below[inside], new_inside
        codes, where, gram = _distinct(of_row * size + token, is_sorted=depth == last)
        total = np.bincount(gram, counts, len(codes)).astype(np.int64)
        suffix = below[where]
        continuations = short + np.bincount(suffix, minlength=len(short))
        found[-1] = replace(found[-1], continuations=continuations)
        parts = (codes // size, codes % size, suffix, total, total, node[first], nearest[first])
        found.append(Level(depth, size - len(NEVER), *parts))
        rows = CountedKeys(rows.keys[inside] if not inside.all() else rows.keys, counts)
        node, below = of_row, gram
    return found


def _carried(new: np.ndarray, inside: np.ndarray) -> np.ndarray:
    """Where a context begins among the rows inside; a beginning outside is carried to the next."""
    number = np.cumsum(new)[inside]
    begins = np.ones(len(number), dtype=bool)
    begins[1:] = number[1:] != number[:-1]
    return begins


def _distinct(codes: Numbers, *, is_sorted: bool) -> tuple[Numbers, Numbers, Numbers]:
    """The distinct codes in order, one position of each, and for every position its code."""
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
