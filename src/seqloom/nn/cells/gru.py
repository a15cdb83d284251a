"""Gated recurrent units: GRU, and a GRU without a reset gate."""

import torch
from jaxtyping import Float
from torch import Tensor

from ...trace import record
from ..kernels import unroll_gru
from .base import (
    AllProducts,
    Cell,
    Mask,
    Outputs,
    Products,
    RecurrentProduct,
    RecurrentWeights,
    State,
)
from .options import RNNOptions


class GRUSimple(Cell):
    """GRU with an update gate only, without a reset gate.

    z  = σ(W x + b + U h)            update gate: how much of the state is kept
    n  = tanh(W x + b + U h)         candidate
    h' = (1 - z) ⊙ n + z ⊙ h
    """

    products = 2
    forget_block = 0
    own_options = frozenset({"forget_bias", "span"})

    def step(self, a: Products, state: State, recur: RecurrentProduct) -> State:
        (h,) = state
        z, n = (a + recur(h)).chunk(2, dim=-1)
        z = z.sigmoid()
        record(self, "gate.update", z)
        return ((1 - z) * n.tanh() + z * h,)

    def unroll_products(self, a: AllProducts, state: State, mask: Mask = None) -> Outputs:
        return _unroll(self, a, state, mask, "none")


class GRU(Cell):
    """Gated recurrent unit (Cho et al., 2014).

    r, z = σ(W x + b + U h)                reset and update gates
    n    = tanh(W x + b + r ⊙ (U h + d))   candidate, reset after the product (as torch, cuDNN)
    n    = tanh(W x + b + U (r ⊙ h))       or, by option, before it (as in the paper)
    h'   = (1 - z) ⊙ n + z ⊙ h
    """

    products = 3
    forget_block = 1
    own_options = frozenset({"reset", "forget_bias", "span"})

    def build(self, rnn_options: RNNOptions) -> None:
        self.reset = rnn_options.reset
        if self.reset == "after":
            self.recur = RecurrentWeights(self.hidden, 3, bias=1)  # d; torch's kernel has it too

    def step(self, a: Products, state: State, recur: RecurrentProduct) -> State:
        (h,) = state
        gates, n = a.split([2 * self.hidden, self.hidden], dim=-1)
        r, z = (gates + recur(h, 0, 2)).sigmoid().chunk(2, dim=-1)
        record(self, "gate.reset", r)
        record(self, "gate.update", z)
        past = r * (recur(h, 2, 3) + self._d()) if self.reset == "after" else recur(r * h, 2, 3)
        return ((1 - z) * torch.tanh(n + past) + z * h,)

    def unroll(self, x: Float[Tensor, "batch time inputs"], state: State) -> Outputs:
        """Torch's fused kernel without gradients; with gradients our unroll is faster."""
        if self.reset == "before" or self.recur is None or torch.is_grad_enabled():
            return super().unroll(x, state)
        # torch has a second bias for each gate; only that of the candidate, d, differs in effect.
        bias_hh = torch.cat([x.new_zeros(2 * self.hidden), self._d()])
        weights = [self.read.weight, self.recur.weight, self.read.bias, bias_hh]
        outputs, h = torch.gru(x, state[0][None], weights, True, 1, 0.0, False, False, True)
        return outputs, (h[0],)

    def unroll_products(self, a: AllProducts, state: State, mask: Mask = None) -> Outputs:
        return _unroll(self, a, state, mask, self.reset)

    def _d(self) -> Tensor:
        assert self.recur is not None and self.recur.bias is not None  # noqa: S101
        return self.recur.bias


def _unroll(cell: Cell, a: Tensor, state: State, mask: Tensor | None, reset: str) -> Outputs:
    assert cell.recur is not None  # noqa: S101 - for the type checker
    outputs = unroll_gru(a, cell.recur.weight, cell.recur.bias, state[0], mask, reset)
    return outputs, (outputs[:, -1],)
