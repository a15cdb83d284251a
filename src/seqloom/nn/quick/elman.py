"""Twins of the cells without gates."""

from collections.abc import Callable
from typing import Any

import numpy as np

from .twin import Bend, Matrix, Row, Rows, Twin, array_of


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
