"""A recurrence from left to right, one step of one sequence at a time, without torch."""

from collections.abc import Callable
from itertools import accumulate
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Shaped
from torch import Tensor

from ..cells import CELLS, Cell
from ..rnn import Layer, Recurrence
from .base import Matrix, Norm, Row, Rows, Twin, array_of
from .cells import (
    QuickCarousel,
    QuickContext,
    QuickElman,
    QuickGRUSimple,
    QuickLSTM,
    QuickLSTMPeephole,
    QuickLSTMSimple,
    QuickMinGRU,
    QuickMinLSTM,
    quick_gru,
)

TWINS: dict[type[Cell], Callable[[Any, Norm | None], Twin]] = {
    CELLS["elman"]: QuickElman,
    CELLS["context"]: QuickContext,
    CELLS["carousel"]: QuickCarousel,
    CELLS["lstm-simple"]: QuickLSTMSimple,
    CELLS["lstm"]: QuickLSTM,
    CELLS["lstm-peephole"]: QuickLSTMPeephole,
    CELLS["gru-simple"]: QuickGRUSimple,
    CELLS["gru"]: quick_gru,
    CELLS["mingru"]: QuickMinGRU,
    CELLS["minlstm"]: QuickMinLSTM,
}


class QuickLayer:
    """The twin of a layer, with all that can be added to a cell (see `Layer`)."""

    def __init__(self, layer: Layer) -> None:
        cell = layer.cell
        norms = [
            None if norm is None else Norm(norm.scale)
            for norm in (layer.read_norm, layer.recur_norm)
        ]
        self.twin = TWINS[type(cell)](cell, norms[1])
        self.read, self.bias = Matrix(cell.read.weight, norms[0]), array_of(cell.read.bias)
        self.own, self.tensors = cell.tensors, layer.tensors
        self.zoneout = np.float32(layer.wiring.zoneout)
        self.first_bias = None if layer.first_bias is None else array_of(layer.first_bias)
        self.shortcut = None if layer.shortcut is None else Matrix(layer.shortcut.weight)
        self.is_plain = not (self.zoneout or layer.first_bias is not None or layer.shortcut)

    def products(self, x: Row) -> Row:
        """W x + b, normalised before the bias where that is wanted."""
        return self.read(x) + self.bias

    def step(self, a: Row, state: Rows) -> Rows:
        """The state after the products of one step."""
        if self.is_plain:
            return self.twin.step(a, state)
        own, rest = state[: self.own], list(state[self.own :])
        if self.first_bias is not None:
            a = a + rest[0] * self.first_bias
            rest[0] = np.zeros_like(rest[0])
        if self.shortcut is not None:
            a = a + self.shortcut(rest[-1][0])
        new = self.twin.step(a, own)
        if self.zoneout:
            new = tuple(n + self.zoneout * (o - n) for o, n in zip(own, new, strict=True))
        if self.shortcut is not None:
            rest[-1] = np.concatenate([rest[-1][1:], new[0][None]])
        return (*new, *rest)


class QuickRecurrence:
    """The twin of a recurrence in one direction; it keeps the weights as they are now.

    A step begins with the products of the first layer, W x + b, so that they can be looked up
    where there are only so many different x.
    """

    def __init__(self, recurrence: Recurrence) -> None:
        layers = [layer for layer in recurrence.layers if isinstance(layer, Layer)]
        self.layers = [QuickLayer(layer) for layer in layers]
        ends = list(accumulate(layer.tensors for layer in self.layers))
        self.places = [
            slice(end - layer.tensors, end) for layer, end in zip(self.layers, ends, strict=True)
        ]
        self.residual = recurrence.wiring.residual
        with torch.no_grad():
            self.first = tuple(array_of(part[0]) for part in recurrence.initial(1))
        self.width = len(self.layers[0].bias)  # of the first products
        self._bottom = layers[0]

    @staticmethod
    def can(recurrence: Recurrence) -> bool:
        """Whether every cell has a twin."""
        layers = [layer for layer in recurrence.layers if isinstance(layer, Layer)]
        return all(type(layer.cell) in TWINS for layer in layers)

    def begin(self) -> Rows:
        """The state before the first step."""
        return self.first

    def products(self, x: Row) -> Row:
        """W x + b of the first layer."""
        return self.layers[0].products(x)

    def all_products(self, rows: Float[Tensor, "n width"]) -> Shaped[np.ndarray, "n products"]:
        """The same for many x at once."""
        with torch.no_grad():
            return array_of(self._bottom.products(rows))

    def step(self, a: Row, state: Rows) -> tuple[Row, Rows]:
        """The top layer's output and the new state, from the first layer's products."""
        new: Rows = ()
        x = a
        for number, (layer, place) in enumerate(zip(self.layers, self.places, strict=True)):
            after = layer.step(layer.products(x) if number else a, state[place])
            x = x + after[0] if self.residual and number else after[0]
            new += after
        return x, new

    def end(self, output: Row, state: Rows) -> Row:
        """What reading ended with: the top layer's own output, before anything is added."""
        return state[self.places[-1]][0]
