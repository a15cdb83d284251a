"""A unidirectional RNN in NumPy: one step of one sequence at a time, without torch."""

from collections.abc import Callable
from itertools import accumulate
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Shaped
from torch import Tensor

from ..cells import CELLS, Cell
from ..rnn import RNN, RNNLayer
from .base import GateNorm, MatrixProduct, NumpyCell, Row, Rows, to_array
from .cells import (
    NumpyCarousel,
    NumpyContextRNN,
    NumpyElman,
    NumpyGRUSimple,
    NumpyLSTM,
    NumpyLSTMPeephole,
    NumpyLSTMSimple,
    NumpyMinGRU,
    NumpyMinLSTM,
    numpy_gru,
)

NUMPY_CELLS: dict[type[Cell], Callable[[Any, GateNorm | None], NumpyCell]] = {
    CELLS["elman"]: NumpyElman,
    CELLS["context"]: NumpyContextRNN,
    CELLS["carousel"]: NumpyCarousel,
    CELLS["lstm-simple"]: NumpyLSTMSimple,
    CELLS["lstm"]: NumpyLSTM,
    CELLS["lstm-peephole"]: NumpyLSTMPeephole,
    CELLS["gru-simple"]: NumpyGRUSimple,
    CELLS["gru"]: numpy_gru,
    CELLS["mingru"]: NumpyMinGRU,
    CELLS["minlstm"]: NumpyMinLSTM,
}


class NumpyRNNLayer:
    """A recurrent layer in NumPy, with all its options (see `RNNLayer`)."""

    def __init__(self, layer: RNNLayer) -> None:
        cell = layer.cell
        norms = [
            None if norm is None else GateNorm(norm.scale)
            for norm in (layer.read_norm, layer.recur_norm)
        ]
        self.cell = NUMPY_CELLS[type(cell)](cell, norms[1])
        self.read, self.bias = MatrixProduct(cell.read.weight, norms[0]), to_array(cell.read.bias)
        self.own, self.tensors = cell.tensors, layer.tensors
        self.zoneout = np.float32(layer.rnn_options.zoneout)
        self.first_bias = None if layer.first_bias is None else to_array(layer.first_bias)
        self.shortcut = None if layer.shortcut is None else MatrixProduct(layer.shortcut.weight)
        self.is_plain = not (self.zoneout or layer.first_bias is not None or layer.shortcut)

    def products(self, x: Row) -> Row:
        """W x + b; with layer_norm N(W x) + b."""
        return self.read(x) + self.bias

    def step(self, a: Row, state: Rows) -> Rows:
        """The next state, from the products W x + b of one step."""
        if self.is_plain:
            return self.cell.step(a, state)
        own, rest = state[: self.own], list(state[self.own :])
        if self.first_bias is not None:
            a = a + rest[0] * self.first_bias
            rest[0] = np.zeros_like(rest[0])
        if self.shortcut is not None:
            a = a + self.shortcut(rest[-1][0])
        new = self.cell.step(a, own)
        if self.zoneout:
            new = tuple(n + self.zoneout * (o - n) for o, n in zip(own, new, strict=True))
        if self.shortcut is not None:
            rest[-1] = np.concatenate([rest[-1][1:], new[0][None]])
        return (*new, *rest)


class NumpyRNN:
    """A unidirectional RNN in NumPy, with a copy of the weights as they are now.

    A step begins with the products W x + b of the first layer, and not with x: for tokens they can
    be computed once for the whole vocabulary, and looked up.
    """

    def __init__(self, rnn: RNN) -> None:
        layers = [layer for layer in rnn.layers if isinstance(layer, RNNLayer)]
        self.layers = [NumpyRNNLayer(layer) for layer in layers]
        ends = list(accumulate(layer.tensors for layer in self.layers))
        self.slices = [
            slice(end - layer.tensors, end) for layer, end in zip(self.layers, ends, strict=True)
        ]
        self.residual = rnn.rnn_options.residual
        with torch.no_grad():
            self.first = tuple(to_array(part[0]) for part in rnn.initial(1))
        self.width = len(self.layers[0].bias)  # size of the first products
        self._bottom = layers[0]

    @staticmethod
    def supports(rnn: RNN) -> bool:
        """Whether every cell has a step in NumPy."""
        layers = [layer for layer in rnn.layers if isinstance(layer, RNNLayer)]
        return all(type(layer.cell) in NUMPY_CELLS for layer in layers)

    def begin(self) -> Rows:
        """The initial state."""
        return self.first

    def products(self, x: Row) -> Row:
        """W x + b of the first layer."""
        return self.layers[0].products(x)

    def all_products(self, rows: Float[Tensor, "n width"]) -> Shaped[np.ndarray, "n products"]:
        """The same for many x at once."""
        with torch.no_grad():
            return to_array(self._bottom.products(rows))

    def step(self, a: Row, state: Rows) -> tuple[Row, Rows]:
        """The top layer's output and the new state, from the first layer's products."""
        new: Rows = ()
        x = a
        for number, (layer, own) in enumerate(zip(self.layers, self.slices, strict=True)):
            after = layer.step(layer.products(x) if number else a, state[own])
            x = x + after[0] if self.residual and number else after[0]
            new += after
        return x, new

    def final_output(self, output: Row, state: Rows) -> Row:
        """The top layer's own output, before a residual connection."""
        return state[self.slices[-1]][0]
