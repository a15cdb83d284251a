"""Twins of the GRUs and of the minimal cells.

Twins of the cells without gates.

Twins of the LSTMs.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from .base import Bend, Matrix, Row, Rows, Twin, array_of


def _tanh(v: Row) -> None:
    np.tanh(v, out=v)


def _relu(v: Row) -> None:
    np.maximum(v, 0, out=v)


def bend_of(activation: str, size: int) -> Callable[[Row], None]:
    """What bends `size` numbers in place."""
    bends: dict[str, Callable[[Row], None]] = {
        "tanh": _tanh,
        "relu": _relu,
        "sigmoid": Bend([True], size),
    }
    return bends[activation]


class QuickElman(Twin):
    """h' = φ(W x + b + U h)"""

    def build(self, cell: Any) -> None:
        self.activate = bend_of(cell.activation, self.hidden)

    def step(self, a: Row, state: Rows) -> Rows:
        h = self.seen(a, state[0]).copy()
        self.activate(h)
        return (h,)


class QuickContext(Twin):
    """h, c' = φ(W x + b + V c);   y = φ(W [h; c'] + b)"""

    def build(self, cell: Any) -> None:
        self.activate = bend_of(cell.activation, 2 * self.hidden)
        self.show = bend_of(cell.activation, self.hidden)
        self.write, self.bias = Matrix(cell.write.weight), array_of(cell.write.bias)

    def step(self, a: Row, state: Rows) -> Rows:
        both = self.seen(a, state[1])
        self.activate(both)
        y = self.write(both) + self.bias
        self.show(y)
        return y, both[self.hidden :].copy()


class QuickCarousel(Twin):
    """h' = h + W x + b"""

    def step(self, a: Row, state: Rows) -> Rows:
        return (state[0] + a,)


class QuickGRUSimple(Twin):
    """h' = (1 - z) ⊙ n + z ⊙ h"""

    gates = (True, False)

    def step(self, a: Row, state: Rows) -> Rows:
        (h,) = state
        v = self.seen(a, h)
        self.bend(v)
        z, n = v.reshape(2, -1)
        return (_between(z, n, h),)


class QuickGRUAfter(Twin):
    """n = tanh(W x + b + r ⊙ (U h + d)): one product for all gates."""

    gates = (True, True)

    def build(self, cell: Any) -> None:
        self.d = array_of(cell.recur.bias)

    def step(self, a: Row, state: Rows) -> Rows:
        (h,) = state
        assert self.recur is not None  # noqa: S101 - for the type checker
        v = self.recur(h)
        gates, n = v[: 2 * self.hidden], v[2 * self.hidden :]
        gates += a[: 2 * self.hidden]
        self.bend(gates)
        r, z = gates.reshape(2, -1)
        n += self.d
        n *= r
        n += a[2 * self.hidden :]
        np.tanh(n, out=n)
        return (_between(z, n, h),)


class QuickGRUBefore(Twin):
    """n = tanh(W x + b + U (r ⊙ h)): the candidate's product waits for the reset gate."""

    gates = (True, True)

    def build(self, cell: Any) -> None:
        gates, candidate = cell.recur.weight.split([2 * self.hidden, self.hidden])
        self.first, self.second = Matrix(gates), Matrix(candidate)
        self.recur = None  # in two pieces instead

    def step(self, a: Row, state: Rows) -> Rows:
        (h,) = state
        v = self.first(h)
        v = v if self.norm is None else self.norm(v, 0, 2)
        v += a[: 2 * self.hidden]
        self.bend(v)
        r, z = v.reshape(2, -1)
        n = self.second(r * h)
        n = n if self.norm is None else self.norm(n, 2, 3)
        n += a[2 * self.hidden :]
        np.tanh(n, out=n)
        return (_between(z, n, h),)


def quick_gru(cell: Any, norm: Any = None) -> Twin:
    """The twin of a GRU, by where its reset gate works."""
    kinds: dict[str, type[Twin]] = {"after": QuickGRUAfter, "before": QuickGRUBefore}
    return kinds[cell.reset](cell, norm)


class QuickMinGRU(Twin):
    """h' = (1 - z) ⊙ h + z ⊙ n"""

    gates = (True,)

    def step(self, a: Row, state: Rows) -> Rows:
        z = a[: self.hidden].copy()
        self.bend(z)
        return (_between(z, state[0], a[self.hidden :]),)


class QuickMinLSTM(Twin):
    """h' = f / (f + i) ⊙ h + i / (f + i) ⊙ n"""

    def build(self, cell: Any) -> None:
        self.gate = Bend([True], 2 * self.hidden)

    def step(self, a: Row, state: Rows) -> Rows:
        v = a[: 2 * self.hidden].copy()
        self.gate(v)
        f, i = v.reshape(2, -1)
        total = f + i
        return (f / total * state[0] + i / total * a[2 * self.hidden :],)


def _between(z: Row, new: Row, old: Row) -> Row:
    """(1 - z) ⊙ new + z ⊙ old."""
    found: Row = (1 - z) * new
    found += z * old
    return found


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
