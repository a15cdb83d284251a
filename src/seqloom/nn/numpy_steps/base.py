"""What a twin is: the step of a cell for one sequence, on NumPy's arrays."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import ClassVar

import numpy as np
from jaxtyping import Float
from torch import Tensor

from ..cells import Cell

Row = Float[np.ndarray, " _"]
Rows = tuple[np.ndarray, ...]


def array_of(tensor: Tensor) -> np.ndarray:
    """The numbers of a parameter, in memory of their own."""
    return np.array(tensor.detach().numpy())


class Norm:
    """Each gate's products normalised: s ⊙ (v - mean v) / deviation v."""

    def __init__(self, scale: Tensor) -> None:
        self.scale = array_of(scale)

    def __call__(self, v: Row, first: int = 0, last: int | None = None) -> Row:
        scale = self.scale[first:last]
        parts = v.reshape(scale.shape)
        apart = parts - parts.mean(-1, keepdims=True)
        size = np.sqrt(np.square(apart).mean(-1, keepdims=True) + np.float32(1e-5))
        return (apart / size * scale).ravel()


class Matrix:
    """M v, written into the same array every time: use it before the next product."""

    def __init__(self, weight: Tensor, norm: Norm | None = None) -> None:
        # Column by column: a little quicker for BLAS than row by row, where rows are long.
        self.columns = np.ascontiguousarray(array_of(weight).T)
        self.found = np.empty(self.columns.shape[1], self.columns.dtype)
        self.norm = norm

    def __call__(self, v: Row) -> Row:
        np.dot(v, self.columns, out=self.found)
        return self.found if self.norm is None else self.norm(self.found)


class Bend:
    """σ for gates and tanh for candidates, over all of them at once and in place.

    σ(v) = ½ tanh(½ v) + ½, so that one slope and one shift for each number serve both.
    """

    def __init__(self, are_gates: Sequence[bool], hidden: int) -> None:
        blocks = np.repeat(np.array(are_gates), hidden)
        self.slope = np.where(blocks, np.float32(0.5), np.float32(1))
        self.shift = 1 - self.slope

    def __call__(self, v: Row) -> None:
        v *= self.slope
        np.tanh(v, out=v)
        v *= self.slope
        v += self.shift


class Twin(ABC):
    """One step of a cell; its arrays are rows, without a batch."""

    gates: ClassVar[tuple[bool, ...]] = ()  # for each product, whether σ bends it, or tanh

    def __init__(self, cell: Cell, norm: Norm | None = None) -> None:
        self.hidden, self.norm = cell.hidden, norm
        self.recur = Matrix(cell.recur.weight, norm) if cell.recur is not None else None
        self.bend = Bend(self.gates, cell.hidden)
        self.build(cell)

    def build(self, cell: Cell) -> None:
        """Arrange what a cell has beside U."""
        return

    @abstractmethod
    def step(self, a: Row, state: Rows) -> Rows:
        """The state after a = W x + b; neither `a` nor `state` is changed."""

    def seen(self, a: Row, h: Row) -> Row:
        """a + U h."""
        assert self.recur is not None  # noqa: S101 - for the type checker
        v = self.recur(h)
        v += a
        return v
