"""Simple recurrent cells: the Elman network, and a context RNN with a hidden layer beside it."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import linear

from ..kernels import unroll_elman
from .base import AllProducts, Cell, Mask, Outputs, Products, RecurrentProduct, State
from .options import RNNOptions

ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "tanh": torch.tanh,
    "sigmoid": torch.sigmoid,
    "relu": torch.relu,
}
MAX_SLOPES = {"tanh": 1.0, "sigmoid": 0.25, "relu": 1.0}  # the largest derivative of each


def largest_singular_value(matrix: Tensor) -> float:
    """‖M‖₂, the spectral norm: the most M can lengthen a vector."""
    return float(torch.linalg.matrix_norm(matrix.detach().double(), 2))


class Elman(Cell):
    """Simple recurrent network (Elman RNN; Elman, 1990).

    h' = φ(W x + b + U h)          activation φ: tanh, σ or ReLU
    """

    products = 1
    own_options = frozenset({"activation"})

    def build(self, rnn_options: RNNOptions) -> None:
        self.activation = rnn_options.activation

    def jacobian_bound(self) -> float:
        assert self.recur is not None  # noqa: S101 - for the type checker
        return largest_singular_value(self.recur.weight) * MAX_SLOPES[self.activation]

    def step(self, a: Products, state: State, recur: RecurrentProduct) -> State:
        (h,) = state
        return (ACTIVATIONS[self.activation](a + recur(h)),)

    def unroll_products(self, a: AllProducts, state: State, mask: Mask = None) -> Outputs:
        assert self.recur is not None  # noqa: S101 - for the type checker
        outputs = unroll_elman(a, self.recur.weight, state[0], mask, self.activation)
        return outputs, (outputs[:, -1],)


class ContextRNN(Cell):
    """Context RNN: a hidden layer and a separate context, which alone is carried to the next step.

    h  = φ(W_h x + b_h + V_h c)    hidden layer
    c' = ψ(W_c x + b_c + V_c c)    context
    y  = g(W h + V c' + b)         output; φ = ψ = g is tanh, σ or ReLU
    """

    products = 2
    tensors = 2
    output_only = 1
    own_options = frozenset({"activation"})

    def build(self, rnn_options: RNNOptions) -> None:
        self.activation = rnn_options.activation
        self.write = nn.Linear(2 * self.hidden, self.hidden)

    def jacobian_bound(self) -> float:
        """Of the context, which alone is carried on: γ_v is the spectral norm of V_c."""
        assert self.recur is not None  # noqa: S101 - for the type checker
        of_context = self.recur.weight[self.hidden :]
        return largest_singular_value(of_context) * MAX_SLOPES[self.activation]

    def step(self, a: Products, state: State, recur: RecurrentProduct) -> State:
        activate = ACTIVATIONS[self.activation]
        h, c = activate(a + recur(state[1])).chunk(2, dim=-1)
        return activate(self.write(torch.cat([h, c], dim=-1))), c

    def unroll_products(self, a: AllProducts, state: State, mask: Mask = None) -> Outputs:
        """Only the context is recurrent: the rest is computed for all steps at once."""
        assert self.recur is not None  # noqa: S101 - for the type checker
        activate = ACTIVATIONS[self.activation]
        a_h, a_c = a.chunk(2, dim=-1)
        v_h, v_c = self.recur.weight.chunk(2)
        c: Any = unroll_elman(a_c, v_c, state[1], mask, self.activation)
        before = torch.cat([state[1][:, None], c[:, :-1]], dim=1)
        h = activate(a_h + linear(before if mask is None else before * mask[:, None], v_h))
        y = activate(self.write(torch.cat([h, c], dim=-1)))
        return y, (y[:, -1], c[:, -1])
