"""A hash index: finds many integers in a sorted array at once (open addressing, vectorised)."""

from functools import cached_property

import numpy as np
from jaxtyping import Int

MISSING = -1
SPREAD = np.uint64(0x9E3779B97F4A7C15)  # Knuth's multiplicative hashing: 2^64 over the golden ratio
FEW = 64  # for fewer than one query in so many codes, bisection is quicker than building a table


class HashIndex:
    """Different integers in ascending order, each found by its value."""

    def __init__(self, codes: Int[np.ndarray, " codes"]) -> None:
        self.codes = codes
        self._bits = len(codes).bit_length() + 1  # of a slot: at least half of them stay free

    def find(self, wanted: Int[np.ndarray, " n"]) -> Int[np.ndarray, " n"]:
        """The position of each integer; -1 where it is not there."""
        if not len(self.codes):
            return np.full(len(wanted), MISSING)
        if len(wanted) * FEW < len(self.codes) and "_table" not in vars(self):
            return self._bisected(wanted)
        found = np.full(len(wanted), MISSING)
        pending = np.arange(len(wanted))
        slots = self._slots(wanted)
        # Linear probing, all queries at once: each round keeps those whose slot holds another code
        # and moves them to the next slot. A free slot ends a search.
        while len(pending):
            there = self._table[slots]
            same = (there >= 0) & (self.codes[there] == wanted)
            found[pending[same]] = there[same]
            on = np.flatnonzero((there >= 0) & ~same)
            pending, wanted, slots = pending[on], wanted[on], self._next(slots[on])
        return found

    @cached_property
    def _table(self) -> Int[np.ndarray, " slots"]:
        """Which code lies in each slot."""
        table = np.full(1 << self._bits, MISSING, dtype=np.int32)
        placing = np.arange(len(self.codes), dtype=np.int32)
        slots = self._slots(self.codes)
        while len(placing):
            free = table[slots] < 0
            # Several codes may write to one slot; the last one wins, and the others go on.
            table[slots[free]] = placing[free]
            on = np.flatnonzero(table[slots] != placing)
            placing, slots = placing[on], self._next(slots[on])
        return table

    def _slots(self, codes: Int[np.ndarray, " n"]) -> Int[np.ndarray, " n"]:
        # The highest bits of the product are the best mixed ones.
        return ((codes.astype(np.uint64) * SPREAD) >> np.uint64(64 - self._bits)).astype(np.int64)

    def _next(self, slots: Int[np.ndarray, " n"]) -> Int[np.ndarray, " n"]:
        return (slots + 1) & ((1 << self._bits) - 1)

    def _bisected(self, wanted: Int[np.ndarray, " n"]) -> Int[np.ndarray, " n"]:
        place = np.searchsorted(self.codes, wanted)
        same = self.codes[np.minimum(place, len(self.codes) - 1)] == wanted
        return np.where(same, place, MISSING)
