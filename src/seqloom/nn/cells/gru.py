"""Gated recurrent unit."""

import torch
from jaxtyping import Float
from torch import Tensor

from ...trace import record
from .cell import Cell, State, Step


class GRU(Cell):
    """Gated recurrent unit (Cho et al., 2014), with the reset gate after U h.

    r, z = σ(W x + b + U h)          reset and update gates
    n    = tanh(W x + b + r ⊙ U h)   candidate
    h'   = (1 - z) ⊙ n + z ⊙ h
    """

    products = 3

    def forward(self, x: Step, state: State) -> State:
        (h,) = state
        xr, xz, xn = self.read(x).chunk(3, dim=-1)
        hr, hz, hn = self.recur(h).chunk(3, dim=-1)
        r, z = (xr + hr).sigmoid(), (xz + hz).sigmoid()
        record(self, "gate.reset", r)
        record(self, "gate.update", z)
        n = torch.tanh(xn + r * hn)
        return ((1 - z) * n + z * h,)

    def fused(
        self, x: Float[Tensor, "batch time inputs"], state: State
    ) -> Float[Tensor, "batch time hidden"]:
        """Torch's kernel."""
        (h,) = state
        training = torch.is_grad_enabled()
        weights = self.kernel_weights()
        outputs, _ = torch.gru(x, h[None], weights, True, 1, 0.0, training, False, True)
        return outputs
