"""Twins of the LSTMs."""

from typing import Any

import numpy as np

from .twin import Bend, Matrix, Row, Rows, Twin, array_of


class QuickLSTMSimple(Twin):
    """c' = c + i ⊙ g;   h' = o ⊙ tanh(c')"""

    gates = (True, False, True)

    def step(self, a: Row, state: Rows) -> Rows:
        h, c = state
        v = self.seen(a, h)
        self.bend(v)
        i, g, o = v.reshape(3, -1)
        return _shown(c, i, g, o)


class QuickLSTM(Twin):
    """c' = f ⊙ c + i ⊙ g;   h' = o ⊙ tanh(c')"""

    gates = (True, True, False, True)

    def step(self, a: Row, state: Rows) -> Rows:
        h, c = state
        v = self.seen(a, h)
        self.bend(v)
        i, f, g, o = v.reshape(4, -1)
        return _shown(f * c, i, g, o)


class QuickLSTMPeephole(Twin):
    """i and f also see P c, and o sees P c'."""

    gates = (True, True, False)  # the output gate waits for the new memory

    def build(self, cell: Any) -> None:
        peep = cell.peep
        self.is_full = peep.dim() > 2
        self.old = Matrix(peep[:2].flatten(0, 1)) if self.is_full else None
        self.new = Matrix(peep[2]) if self.is_full else None
        self.diagonal = array_of(peep)
        self.last = Bend([True], self.hidden)

    def step(self, a: Row, state: Rows) -> Rows:
        h, c = state
        v = self.seen(a, h)
        first, o = v[: 3 * self.hidden], v[3 * self.hidden :]
        old = (self.diagonal[:2] * c).ravel() if self.old is None else self.old(c)
        first[: 2 * self.hidden] += old
        self.bend(first)
        i, f, g = first.reshape(3, -1)
        c = f * c + i * g
        o += self.diagonal[2] * c if self.new is None else self.new(c)
        self.last(o)
        return o * np.tanh(c), c


def _shown(kept: Row, i: Row, g: Row, o: Row) -> Rows:
    """h' and c', from what is kept of c."""
    c = i * g
    c += kept
    h = np.tanh(c)
    h *= o
    return h, c
