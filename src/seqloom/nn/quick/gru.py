"""Twins of the GRUs and of the minimal cells."""

from typing import Any

import numpy as np

from .twin import Bend, Matrix, Row, Rows, Twin, array_of


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
