"""From vectors to distributions over symbols."""

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from ..batch import Sequences
from ..forms import Labels, Space, Tokens


class Symbols(nn.Module):
    """A categorical distribution at each position: softmax(W h + b)."""

    def __init__(self, width: int, size: int) -> None:
        super().__init__()
        self.scores = nn.Linear(width, size)

    def forward(self, states: Float[Tensor, "*place width"]) -> Float[Tensor, "*place size"]:
        """Log-probabilities of all symbols."""
        return self.scores(states).log_softmax(-1)

    def log_prob(
        self, states: Float[Tensor, "batch time width"], target: Sequences
    ) -> Float[Tensor, " batch"]:
        """Log-probability of each target."""
        values, mask = torch.from_numpy(target.values), torch.from_numpy(target.mask)
        chosen = self(states).gather(-1, values[..., None]).squeeze(-1)
        return (chosen * mask).sum(-1)

    def loss(
        self, states: Float[Tensor, "batch time width"], target: Sequences, smoothing: float = 0.0
    ) -> Float[Tensor, ""]:
        """Nats per real target symbol; padded places are never multiplied.

        With smoothing ε the right symbol counts 1 - ε and all share ε (Szegedy et al., 2016).
        """
        mask = target.mask
        real = states[torch.from_numpy(mask)]
        right = torch.from_numpy(target.values[mask])
        return cross_entropy(self.scores(real), right, label_smoothing=smoothing)

    def best(
        self, states: Float[Tensor, "batch time width"]
    ) -> tuple[Int[Tensor, "batch time"], Float[Tensor, "batch time"]]:
        """The likeliest symbol at each position, and its log-probability."""
        found = self(states).max(dim=-1)
        return found.indices, found.values


def output_layer(space: Space, width: int) -> Symbols:
    """The distribution that fits a target space."""
    match space:
        case Tokens(size) | Labels(size):
            return Symbols(width, size)
