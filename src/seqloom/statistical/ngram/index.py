"""Find many numbers among many others: by a table of hashes, made once."""

from functools import cached_property

import numpy as np
from jaxtyping import Int

MISSING = -1
SPREAD = np.uint64(0x9E3779B97F4A7C15)  # Knuth's multiplicative hashing: 2^64 over the golden ratio
FEW = 64  # so many are found sooner by bisection than a table is made


class Index:
    """Different numbers in ascending order, each found by its value."""

    def __init__(self, codes: Int[np.ndarray, " codes"]) -> None:
        self.codes = codes
        self._bits = len(codes).bit_length() + 1  # of a slot: at least half of them stay free

    def find(self, wanted: Int[np.ndarray, " n"]) -> Int[np.ndarray, " n"]:
        """The place of each number; -1 where it is not there."""
        if len(wanted) * FEW < len(self.codes) and "_table" not in vars(self):
            return self._bisected(wanted)
        found = np.full(len(wanted), MISSING)
        asking = np.arange(len(wanted))
        slots = self._slots(wanted)
        while len(asking):  # those whose slot is taken by another look at the next one
            there = self._table[slots]
            same = (there >= 0) & (self.codes[there] == wanted)
            found[asking[same]] = there[same]
            on = np.flatnonzero((there >= 0) & ~same)
            asking, wanted, slots = asking[on], wanted[on], self._next(slots[on])
        return found

    @cached_property
    def _table(self) -> Int[np.ndarray, " slots"]:
        """Which code lies in each slot."""
        table = np.full(1 << self._bits, MISSING, dtype=np.int32)
        placing = np.arange(len(self.codes), dtype=np.int32)
        slots = self._slots(self.codes)
        while len(placing):
            free = table[slots] < 0
            table[slots[free]] = placing[free]
            on = np.flatnonzero(table[slots] != placing)
            placing, slots = placing[on], self._next(slots[on])
        return table

    def _slots(self, codes: Int[np.ndarray, " n"]) -> Int[np.ndarray, " n"]:
        return ((codes.astype(np.uint64) * SPREAD) >> np.uint64(64 - self._bits)).astype(np.int64)

    def _next(self, slots: Int[np.ndarray, " n"]) -> Int[np.ndarray, " n"]:
        return (slots + 1) & ((1 << self._bits) - 1)

    def _bisected(self, wanted: Int[np.ndarray, " n"]) -> Int[np.ndarray, " n"]:
        place = np.searchsorted(self.codes, wanted)
        same = self.codes[np.minimum(place, len(self.codes) - 1)] == wanted
        return np.where(same, place, MISSING)
