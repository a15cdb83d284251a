"""The simple recurrent network."""

import torch
from jaxtyping import Float
from torch import Tensor

from .cell import Cell, State, Step


class Elman(Cell):
    """The simple recurrent network (Elman, 1990).

    h' = tanh(W x + b + U h)
    """

    products = 1

    def forward(self, x: Step, state: State) -> State:
        (h,) = state
        return (torch.tanh(self.read(x) + self.recur(h)),)

    def fused(
        self, x: Float[Tensor, "batch time inputs"], state: State
    ) -> Float[Tensor, "batch time hidden"]:
        """Torch's kernel."""
        (h,) = state
        training = torch.is_grad_enabled()
        weights = self.kernel_weights()
        outputs, _ = torch.rnn_tanh(x, h[None], weights, True, 1, 0.0, training, False, True)
        return outputs
