"""A network that sees the last few vectors and nothing else."""

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from ..errors import ModelError
from .convolution import joined
from .dropout import SequenceDropout

State = tuple[Tensor, ...]


class Window(nn.Module):
    """The last n vectors joined, and a few layers upon them (Bengio et al., 2003).

    z_t = [x_{t-n+1}; …; x_t]                 zeros before the first
    h¹  = tanh(W¹ z_t + b¹),  hˡ = tanh(Wˡ hˡ⁻¹ + bˡ)
    out = h, or [h; z_t] with direct connections; z_t alone without any layer

    The state is the last n - 1 vectors.
    """

    in_order = True

    def __init__(
        self,
        width: int,
        hidden: int,
        *,
        context: int,
        layers: int = 1,
        direct: bool = False,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        _refuse_impossible(context, layers)
        self.width, self.context = width, context
        self.direct = direct or not layers
        sizes = [context * width] + [hidden] * layers
        self.layers = nn.ModuleList(map(nn.Linear, sizes, sizes[1:]))
        self.dropout = SequenceDropout(dropout)
        self.outputs = (hidden if layers else 0) + (context * width if self.direct else 0)

    def initial(self, batch: int) -> State:
        """Nothing was read: zeros."""
        weights = next(self.parameters(), torch.empty(0))
        return (weights.new_zeros(batch, self.context - 1, self.width),)

    def forward(
        self, x: Float[Tensor, "batch time width"], lengths: Int[Tensor, " batch"]
    ) -> Float[Tensor, "batch time outputs"]:
        """What is made of each place and the few before it; padding lies behind, so unseen."""
        return self.carry(x, self.initial(len(x)))[0]

    def carry(
        self, x: Float[Tensor, "batch time width"], state: State
    ) -> tuple[Float[Tensor, "batch time outputs"], State]:
        """Outputs of a piece, and the last vectors, which the next piece still sees."""
        seen = torch.cat([state[0].to(x.dtype), x], dim=1) if self.context > 1 else x
        z = joined(seen, self.context)
        return self._above(z), (seen[:, seen.shape[1] - self.context + 1 :],)

    def step(
        self, x: Float[Tensor, "batch width"], state: State
    ) -> tuple[Float[Tensor, "batch outputs"], State]:
        """The same for a single place."""
        outputs, state = self.carry(x[:, None], state)
        return outputs[:, 0], state

    def _above(self, z: Tensor) -> Tensor:
        h = z
        for number, layer in enumerate(self.layers):
            h = layer(self.dropout(h) if number else h).tanh()
        return torch.cat([h, z], dim=-1) if self.direct and len(self.layers) else h


def _refuse_impossible(context: int, layers: int) -> None:
    if context < 1:
        raise ModelError(
            "M161",
            f"context = {context}: a window must see at least the symbol just read",
            help=["--set model.context=4"],
        )
    if layers < 0:
        raise ModelError(
            "M161",
            f"layers = {layers}: there cannot be fewer than none",
            help=["--set model.layers=1", "--set model.layers=0   one product, no hidden layer"],
        )
