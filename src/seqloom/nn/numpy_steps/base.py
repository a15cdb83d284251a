"""A recurrent cell's step in NumPy, for one sequence: base class, products and activations."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import ClassVar

import numpy as np
from jaxtyping import Float
from torch import Tensor

from ..cells import Cell

Row = Float[np.ndarray, " _"]
Rows = tuple[np.ndarray, ...]


def to_array(tensor: Tensor) -> np.ndarray:
    """A copy of a parameter as a NumPy array: training goes on without changing it."""
    return np.array(tensor.detach().numpy())


class GateNorm:
    """Layer normalisation of each gate by itself: s ⊙ (v - mean v) / deviation v."""

    def __init__(self, scale: Tensor) -> None:
        self.scale = to_array(scale)

    def __call__(self, v: Row, first: int = 0, last: int | None = None) -> Row:
        scale = self.scale[first:last]
        parts = v.reshape(scale.shape)
        centred = parts - parts.mean(-1, keepdims=True)
        std = np.sqrt(np.square(centred).mean(-1, keepdims=True) + np.float32(1e-5))
        return (centred / std * scale).ravel()


class MatrixProduct:
    """M v, written into the same array each time: use the result before the next product."""

    def __init__(self, weight: Tensor, norm: GateNorm | None = None) -> None:
        # Column by column: a little faster for BLAS than row by row, where rows are long.
        self.columns = np.ascontiguousarray(to_array(weight).T)
        self.result = np.empty(self.columns.shape[1], self.columns.dtype)
        self.norm = norm

    def __call__(self, v: Row) -> Row:
        np.dot(v, self.columns, out=self.result)  # out: allocating would cost as much as a product
        return self.result if self.norm is None else self.norm(self.result)


class GateActivation:
    """σ for gates and tanh for candidates, over all blocks at once and in place.

    σ(v) = ½ tanh(½ v) + ½, so one tanh with a slope and a shift for each component serves both,
    instead of a call for each block.
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


class NumpyCell(ABC):
    """One step of a recurrent cell in NumPy; its arrays are vectors, without a batch dimension."""

    gates: ClassVar[tuple[bool, ...]] = ()  # for each block: True for σ, False for tanh

    def __init__(self, cell: Cell, norm: GateNorm | None = None) -> None:
        self.hidden, self.norm = cell.hidden, norm
        self.recur = MatrixProduct(cell.recur.weight, norm) if cell.recur is not None else None
        self.activate_gates = GateActivation(self.gates, cell.hidden)
        self.build(cell)

    def build(self, cell: Cell) -> None:
        """Lay out what a cell has besides U."""
        return

    @abstractmethod
    def step(self, a: Row, state: Rows) -> Rows:
        """The next state from a = W x + b; neither `a` nor `state` is changed."""

    def add_recurrent(self, a: Row, h: Row) -> Row:
        """a + U h, in the memory of the product."""
        assert self.recur is not None  # noqa: S101 - for the type checker
        v = self.recur(h)
        v += a
        return v
