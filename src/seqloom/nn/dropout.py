"""Dropout: of each number by itself, and for sequences."""

import math

import numpy as np
import torch
from jaxtyping import Float
from numpy.random import SFC64
from torch import Tensor, nn

PARTS = 1 << 16  # a share is so many parts of one: what two random bytes can tell


class Dropout(nn.Module):
    """Drops numbers, each by itself (Srivastava et al., 2014).

    x' = x ⊙ m / (1 - p),  each number of m 0 with probability p, else 1

    Torch draws a number for each number, one after the other. Two random bytes will do, from a
    quicker source that begins anew with each mask, where torch's chance says: a mask takes a fifth
    of the time, and is the same again when training is taken up. The probability is rounded to
    65,536ths, and what is left is made up for exactly.
    """

    def __init__(self, probability: float) -> None:
        super().__init__()
        self.probability = _checked(probability)

    def forward(self, x: Float[Tensor, "*place"]) -> Float[Tensor, "*place"]:
        dropped = min(round(self.probability * PARTS), PARTS - 1)  # some are always kept
        if not self.training or not dropped:
            return x
        count = math.prod(x.shape)
        source = SFC64(int(torch.randint(2**63 - 1, ())))
        drawn = source.random_raw(-(-count // 4)).view(np.uint16)[:count]
        kept = torch.from_numpy(drawn >= dropped).view(x.shape)
        return x * (kept * (PARTS / (PARTS - dropped))).to(x.dtype)


class SequenceDropout(nn.Module):
    """Drops the same numbers at every step of a sequence (Gal & Ghahramani, 2016).

    x'_t = x_t ⊙ m / (1 - p),  m drawn once per sequence, each number of it 0 with probability p

    A mask for each sequence regularises a recurrent net better than one for each step, and
    drawing it costs next to nothing.
    """

    def __init__(self, probability: float) -> None:
        super().__init__()
        self.probability = _checked(probability)

    def forward(self, x: Float[Tensor, "batch *time width"]) -> Float[Tensor, "batch *time width"]:
        mask = self.drawn(x.shape[0], *(1 for _ in x.shape[1:-1]), x.shape[-1])
        return x if mask is None else x * mask

    def drawn(self, *shape: int) -> Tensor | None:
        """A mask m / (1 - p), for those who go step by step; None where nothing is dropped."""
        if not self.training or not self.probability:
            return None
        kept = torch.rand(shape) >= self.probability
        return kept / (1 - self.probability)


def _checked(probability: float) -> float:
    if not 0 <= probability < 1:
        raise ValueError(f"the probability to drop must be in [0, 1), not {probability}")
    return probability
