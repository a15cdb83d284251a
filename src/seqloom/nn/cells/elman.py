"""The simple recurrent network."""

from collections.abc import Callable

import torch
from torch import Tensor

from ..unroll import unroll_elman
from ..wiring import Wiring
from .cell import AllProducts, Cell, Mask, Outputs, Products, Recur, State

ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "tanh": torch.tanh,
    "sigmoid": torch.sigmoid,
    "relu": torch.relu,
}
SLOPES = {"tanh": 1.0, "sigmoid": 0.25, "relu": 1.0}  # the steepest that each of them gets


def largest_singular_value(matrix: Tensor) -> float:
    """‖M‖₂: the most M can stretch a vector."""
    return float(torch.linalg.matrix_norm(matrix.detach().double(), 2))


class Elman(Cell):
    """The simple recurrent network (Elman, 1990).

    h' = φ(W x + b + U h)          φ is tanh, σ or ReLU
    """

    products = 1
    takes = frozenset({"activation"})

    def build(self, wiring: Wiring) -> None:
        self.activation = wiring.activation

    def stretch(self) -> float:
        assert self.recur is not None  # noqa: S101 - for the type checker
        return largest_singular_value(self.recur.weight) * SLOPES[self.activation]

    def step(self, a: Products, state: State, recur: Recur) -> State:
        (h,) = state
        return (ACTIVATIONS[self.activation](a + recur(h)),)

    def unrolled(self, a: AllProducts, state: State, mask: Mask = None) -> Outputs:
        assert self.recur is not None  # noqa: S101 - for the type checker
        outputs = unroll_elman(a, self.recur.weight, state[0], mask, self.activation)
        return outputs, (outputs[:, -1],)
