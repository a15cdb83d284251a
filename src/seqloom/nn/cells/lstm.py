"""Long short-term memory."""

import torch
from jaxtyping import Float
from torch import Tensor

from ...trace import record
from .cell import Cell, State, Step


class LSTM(Cell):
    """Long short-term memory (Hochreiter & Schmidhuber, 1997; Gers et al., 2000).

    i, f, o = σ(W x + b + U h)       input, forget and output gates
    g       = tanh(W x + b + U h)    candidate
    c'      = f ⊙ c + i ⊙ g
    h'      = o ⊙ tanh(c')
    """

    tensors = 2
    products = 4

    def forward(self, x: Step, state: State) -> State:
        h, c = state
        i, f, g, o = (self.read(x) + self.recur(h)).chunk(4, dim=-1)
        i, f, o = i.sigmoid(), f.sigmoid(), o.sigmoid()
        for name, gate in (("input", i), ("forget", f), ("output", o)):
            record(self, f"gate.{name}", gate)
        c = f * c + i * g.tanh()
        return o * c.tanh(), c

    def fused(
        self, x: Float[Tensor, "batch time inputs"], state: State
    ) -> Float[Tensor, "batch time hidden"]:
        """Torch's kernel."""
        h, c = state
        training = torch.is_grad_enabled()
        weights = self.kernel_weights()
        outputs, _, _ = torch.lstm(
            x, (h[None], c[None]), weights, True, 1, 0.0, training, False, True
        )
        return outputs
