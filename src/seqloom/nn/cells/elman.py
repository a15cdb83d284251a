"""The simple recurrent network.

A static hidden vector beside a dynamic context.
"""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import linear

from ..kernels import unroll_elman
from .base import AllProducts, Cell, Mask, Outputs, Products, Recur, State
from .options import Wiring

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


class Context(Cell):
    """A static hidden vector and a separate dynamic context: only the context is carried on.

    h  = φ(W_h x + b_h + V_h c)    what is made of this step
    c' = ψ(W_c x + b_c + V_c c)    what is remembered
    y  = g(W h + V c' + b)         the output; φ = ψ = g is tanh, σ or ReLU
    """

    products = 2
    tensors = 2
    idle = 1
    takes = frozenset({"activation"})

    def build(self, wiring: Wiring) -> None:
        self.activation = wiring.activation
        self.write = nn.Linear(2 * self.hidden, self.hidden)

    def stretch(self) -> float:
        """Of the context, which alone is carried on: γ_v is of V_c."""
        assert self.recur is not None  # noqa: S101 - for the type checker
        of_context = self.recur.weight[self.hidden :]
        return largest_singular_value(of_context) * SLOPES[self.activation]

    def step(self, a: Products, state: State, recur: Recur) -> State:
        bend = ACTIVATIONS[self.activation]
        h, c = bend(a + recur(state[1])).chunk(2, dim=-1)
        return bend(self.write(torch.cat([h, c], dim=-1))), c

    def unrolled(self, a: AllProducts, state: State, mask: Mask = None) -> Outputs:
        """Only the context is a recurrence; the rest is done for all steps at once."""
        assert self.recur is not None  # noqa: S101 - for the type checker
        bend = ACTIVATIONS[self.activation]
        a_h, a_c = a.chunk(2, dim=-1)
        v_h, v_c = self.recur.weight.chunk(2)
        c: Any = unroll_elman(a_c, v_c, state[1], mask, self.activation)
        before = torch.cat([state[1][:, None], c[:, :-1]], dim=1)
        h = bend(a_h + linear(before if mask is None else before * mask[:, None], v_h))
        y = bend(self.write(torch.cat([h, c], dim=-1)))
        return y, (y[:, -1], c[:, -1])
