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
        mask = self.drawn(x.shape[0], *(1 for _ in x.shape[1:-1]), x.shape[-1])
        return x if mask is None else x * mask

    def drawn(self, *shape: int) -> Tensor | None:
        """A mask m / (1 - p), for those who go step by step; None where nothing is dropped."""
        if not self.training or not self.probability:
            return None
        kept = torch.rand(shape) >= self.probability
        return kept / (1 - self.probability)
