"""From vectors to distributions over symbols or real numbers."""

import math

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from ..batch import Sequences
from ..forms import Labels, Space, Tokens, Vectors


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


class Numbers(nn.Module):
    """A Normal distribution of variance 1 at each position, around W h + b.

    log p(y | h) = -½ ‖y - W h - b‖² - ½ n log 2π      n numbers in a vector

    To make it likely is to make the squared error small.
    """

    def __init__(self, width: int, numbers: int) -> None:
        super().__init__()
        self.mean = nn.Linear(width, numbers)
        self.constant = 0.5 * numbers * math.log(2 * math.pi)

    def forward(self, states: Float[Tensor, "*place width"]) -> Float[Tensor, "*place numbers"]:
        """The means."""
        return self.mean(states)

    def log_prob(
        self, states: Float[Tensor, "batch time width"], target: Sequences
    ) -> Float[Tensor, " batch"]:
        """Log of the density of each target."""
        values, mask = torch.from_numpy(target.values), torch.from_numpy(target.mask)
        errors = (values - self(states)).square().sum(-1) / 2 + self.constant
        return -(errors * mask).sum(-1)

    def loss(
        self, states: Float[Tensor, "batch time width"], target: Sequences, smoothing: float = 0.0
    ) -> Float[Tensor, ""]:
        """Nats per real target vector; there are no other symbols that smoothing could favour."""
        return -self.log_prob(states, target).sum() / int(target.lengths.sum())

    def best(
        self, states: Float[Tensor, "batch time width"]
    ) -> tuple[Float[Tensor, "batch time numbers"], Float[Tensor, "batch time"]]:
        """The mean at each position, and the log of its density."""
        means = self(states)
        return means, means.new_full(means.shape[:-1], -self.constant)


def output_layer(space: Space, width: int) -> Symbols | Numbers:
    """The distribution that fits a target space."""
    match space:
        case Tokens(size) | Labels(size):
            return Symbols(width, size)
        case Vectors(numbers):
            return Numbers(width, numbers)
