"""What reads a source for a decoder."""

import torch
from jaxtyping import Float, Int
from torch import Tensor

from .convolution import TemporalConvolution


class ConvolutionEncoder(TemporalConvolution):
    """Residual convolutions as an encoder: all places of a source are read side by side.

    Its ends are made like those of a recurrence in two directions: half of the numbers from the
    last place, half from the first.
    """

    def read(
        self, x: Float[Tensor, "batch time inputs"], lengths: Int[Tensor, " batch"]
    ) -> tuple[Float[Tensor, "batch time hidden"], Float[Tensor, "batch hidden"]]:
        """The outputs of the last block, and the two ends."""
        memory = self(x, lengths)
        half = memory.shape[-1] // 2
        last = memory[torch.arange(len(memory)), lengths - 1]
        return memory, torch.cat([last[:, :half], memory[:, 0, half:]], dim=-1)
