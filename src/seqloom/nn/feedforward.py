"""A feed-forward n-gram network: an MLP over the last n input vectors (Bengio et al., 2003)."""

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from ..errors import ModelError
from .convolution import unfold_time
from .dropout import SequenceDropout

State = tuple[Tensor, ...]


class NGramMLP(nn.Module):
    """A multi-layer perceptron over the last n vectors, concatenated (Bengio et al., 2003).

    z_t = [x_{t-n+1}; …; x_t]                 zeros before the first
    h¹  = tanh(W¹ z_t + b¹),  hˡ = tanh(Wˡ hˡ⁻¹ + bˡ)
    out = h, or [h; z_t] with direct connections; z_t alone without hidden layers

    The state is the last n - 1 vectors.
    """

    in_order = True

    def __init__(
        self,
        width: int,
        hidden: int,
        *,
        context: int,
        num_layers: int = 1,
        direct: bool = False,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        _check_options(context, num_layers)
        self.width, self.context = width, context
        self.direct = direct or not num_layers
        sizes = [context * width] + [hidden] * num_layers
        self.layers = nn.ModuleList(map(nn.Linear, sizes, sizes[1:]))
        self.dropout = SequenceDropout(dropout)
        self.outputs = (hidden if num_layers else 0) + (context * width if self.direct else 0)

    def initial(self, batch: int) -> State:
        """The initial state: zeros."""
        weights = next(self.parameters(), torch.empty(0))
        return (weights.new_zeros(batch, self.context - 1, self.width),)

    def forward(
        self, x: Float[Tensor, "batch time width"], lengths: Int[Tensor, " batch"]
    ) -> Float[Tensor, "batch time outputs"]:
        """The outputs at every position; padding comes after the real ones, so none sees it."""
        return self.carry(x, self.initial(len(x)))[0]

    def carry(
        self, x: Float[Tensor, "batch time width"], state: State
    ) -> tuple[Float[Tensor, "batch time outputs"], State]:
        """Outputs of a segment, and its last n - 1 vectors, which the next segment sees."""
        inputs = torch.cat([state[0].to(x.dtype), x], dim=1) if self.context > 1 else x
        z = unfold_time(inputs, self.context)
        return self._hidden(z), (inputs[:, inputs.shape[1] - self.context + 1 :],)

    def step(
        self, x: Float[Tensor, "batch width"], state: State
    ) -> tuple[Float[Tensor, "batch outputs"], State]:
        """The same for a single position."""
        outputs, state = self.carry(x[:, None], state)
        return outputs[:, 0], state

    def _hidden(self, z: Tensor) -> Tensor:
        h = z
        for number, layer in enumerate(self.layers):
            h = layer(self.dropout(h) if number else h).tanh()
        return torch.cat([h, z], dim=-1) if self.direct and len(self.layers) else h


def _check_options(context: int, num_layers: int) -> None:
    if context < 1:
        raise ModelError(
            "M161",
            f"context = {context}: expected 1 or more; 1 is the token just read alone",
            help=["--set model.context=4"],
        )
    if num_layers < 0:
        raise ModelError(
            "M161",
            f"num_layers = {num_layers}: expected 0 or more",
            help=[
                "--set model.num_layers=1",
                "--set model.num_layers=0   a linear model, no hidden layer",
            ],
        )
