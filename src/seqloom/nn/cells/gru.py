"""Gated recurrent units."""

import torch
from jaxtyping import Float
from torch import Tensor

from ...trace import record
from ..kernels import unroll_gru
from .base import AllProducts, Cell, Mask, Outputs, Product, Products, Recur, State
from .options import Wiring


class GRUSimple(Cell):
    """A gated recurrent unit with the update gate alone.

    z  = σ(W x + b + U h)            update gate: how much is kept
    n  = tanh(W x + b + U h)         candidate
    h' = (1 - z) ⊙ n + z ⊙ h
    """

    products = 2
    keeps = 0
    takes = frozenset({"forget_bias", "span"})

    def step(self, a: Products, state: State, recur: Recur) -> State:
        (h,) = state
        z, n = (a + recur(h)).chunk(2, dim=-1)
        z = z.sigmoid()
        record(self, "gate.update", z)
        return ((1 - z) * n.tanh() + z * h,)

    def unrolled(self, a: AllProducts, state: State, mask: Mask = None) -> Outputs:
        return _unrolled(self, a, state, mask, "none")


class GRU(Cell):
    """Gated recurrent unit (Cho et al., 2014).

    r, z = σ(W x + b + U h)                reset and update gates
    n    = tanh(W x + b + r ⊙ (U h + d))   candidate, the reset gate after the product
    n    = tanh(W x + b + U (r ⊙ h))       or, by option, before it
    h'   = (1 - z) ⊙ n + z ⊙ h
    """

    products = 3
    keeps = 1
    takes = frozenset({"reset", "forget_bias", "span"})

    def build(self, wiring: Wiring) -> None:
        self.reset = wiring.reset
        if self.reset == "after":
            self.recur = Product(self.hidden, 3, bias=1)  # d, which torch's kernel has too

    def step(self, a: Products, state: State, recur: Recur) -> State:
        (h,) = state
        gates, n = a.split([2 * self.hidden, self.hidden], dim=-1)
        r, z = (gates + recur(h, 0, 2)).sigmoid().chunk(2, dim=-1)
        record(self, "gate.reset", r)
        record(self, "gate.update", z)
        seen = r * (recur(h, 2, 3) + self._d()) if self.reset == "after" else recur(r * h, 2, 3)
        return ((1 - z) * torch.tanh(n + seen) + z * h,)

    def quick(self, x: Float[Tensor, "batch time inputs"], state: State) -> Outputs:
        """Torch's kernel where no gradient is wanted; with one the unroll is quicker."""
        if self.reset == "before" or self.recur is None or torch.is_grad_enabled():
            return super().quick(x, state)
        second = torch.cat([x.new_zeros(2 * self.hidden), self._d()])
        weights = [self.read.weight, self.recur.weight, self.read.bias, second]
        outputs, h = torch.gru(x, state[0][None], weights, True, 1, 0.0, False, False, True)
        return outputs, (h[0],)

    def unrolled(self, a: AllProducts, state: State, mask: Mask = None) -> Outputs:
        return _unrolled(self, a, state, mask, self.reset)

    def _d(self) -> Tensor:
        assert self.recur is not None and self.recur.bias is not None  # noqa: S101
        return self.recur.bias


def _unrolled(cell: Cell, a: Tensor, state: State, mask: Tensor | None, reset: str) -> Outputs:
    assert cell.recur is not None  # noqa: S101 - for the type checker
    outputs = unroll_gru(a, cell.recur.weight, cell.recur.bias, state[0], mask, reset)
    return outputs, (outputs[:, -1],)
