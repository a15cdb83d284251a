"""Dropout for sequences."""

import torch
from jaxtyping import Float
from torch import Tensor, nn


class SequenceDropout(nn.Module):
    """Drops the same numbers at every step of a sequence (Gal & Ghahramani, 2016).

    x'_t = x_t ⊙ m / (1 - p),  m drawn once per sequence, each number of it 0 with probability p

    A mask for each sequence regularises a recurrent net better than one for each step, and
    drawing it costs next to nothing.
    """

    def __init__(self, probability: float) -> None:
        super().__init__()
        if not 0 <= probability < 1:
            raise ValueError(f"the probability to drop must be in [0, 1), not {probability}")
        self.probability = probability

    def forward(self, x: Float[Tensor, "batch *time width"]) -> Float[Tensor, "batch *time width"]:
        if not self.training or not self.probability:
            return x
        shape = (x.shape[0], *(1 for _ in x.shape[1:-1]), x.shape[-1])
        kept = torch.rand(shape) >= self.probability
        return x * (kept / (1 - self.probability))
