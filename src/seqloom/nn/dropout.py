"""Dropout: elementwise, and variational dropout for sequences."""

import math

import numpy as np
import torch
from jaxtyping import Float
from numpy.random import SFC64
from torch import Tensor, nn

RESOLUTION = 1 << 16  # two random bytes a number: a rate is rounded to 65,536ths


class Dropout(nn.Module):
    """Dropout, each component by itself (Srivastava et al., 2014).

    x' = x ⊙ m / (1 - p),  each component of m 0 with probability p, else 1

    Torch samples a float for each component, one after another. Two random bytes are enough, from
    a faster generator that is seeded anew for each mask by torch's: a mask takes a fifth of the
    time, and is reproduced when training is resumed. The rate is rounded to 65,536ths, and the
    scale is exact for the rounded rate.
    """

    def __init__(self, rate: float) -> None:
        super().__init__()
        self.rate = _checked(rate)

    def forward(self, x: Float[Tensor, "*shape"]) -> Float[Tensor, "*shape"]:
        threshold = min(round(self.rate * RESOLUTION), RESOLUTION - 1)  # some are always kept
        if not self.training or not threshold:
            return x
        count = math.prod(x.shape)
        source = SFC64(int(torch.randint(2**63 - 1, ())))
        # Each raw number has 64 bits, which serve four components.
        samples = source.random_raw(-(-count // 4)).view(np.uint16)[:count]
        kept = torch.from_numpy(samples >= threshold).view(x.shape)
        return x * (kept * (RESOLUTION / (RESOLUTION - threshold))).to(x.dtype)


class SequenceDropout(nn.Module):
    """Variational dropout: one mask for all steps of a sequence (Gal & Ghahramani, 2016).

    x'_t = x_t ⊙ m / (1 - p),  m sampled once per sequence, each component 0 with probability p

    One mask per sequence regularises a recurrent network better than one per step, and costs
    next to nothing to sample.
    """

    def __init__(self, rate: float) -> None:
        super().__init__()
        self.rate = _checked(rate)

    def forward(self, x: Float[Tensor, "batch *time width"]) -> Float[Tensor, "batch *time width"]:
        mask = self.sample_mask(x.shape[0], *(1 for _ in x.shape[1:-1]), x.shape[-1])
        return x if mask is None else x * mask

    def sample_mask(self, *shape: int) -> Tensor | None:
        """A mask m / (1 - p), for those that go step by step; None where nothing is dropped."""
        if not self.training or not self.rate:
            return None
        kept = torch.rand(shape) >= self.rate
        return kept / (1 - self.rate)


def _checked(rate: float) -> float:
    if not 0 <= rate < 1:
        raise ValueError(f"a dropout rate must be in [0, 1) (got {rate})")
    return rate
