"""From symbols to vectors: the door through which NumPy's arrays become tensors."""

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from ..batch import Sequences
from ..forms import PAD, Labels, Space, Tokens
from .dropout import SequenceDropout


class Embedding(nn.Module):
    """A vector for each symbol, some of its numbers dropped while training."""

    def __init__(self, size: int, width: int, dropout: float = 0.0) -> None:
        super().__init__()
        self.table = nn.Embedding(size, width, padding_idx=PAD)
        self.dropout = SequenceDropout(dropout)

    def forward(self, symbols: Int[Tensor, "*place"]) -> Float[Tensor, "*place width"]:
        return self.dropout(self.table(symbols))


def input_layer(space: Space, width: int, dropout: float = 0.0) -> Embedding:
    """Symbols are looked up."""
    match space:
        case Tokens(size) | Labels(size):
            return Embedding(size, width, dropout)


def tensors(sequences: Sequences) -> tuple[Int[Tensor, "batch time"], Int[Tensor, " batch"]]:
    """Values and lengths as tensors that share their memory with the arrays."""
    return torch.from_numpy(sequences.values), torch.from_numpy(sequences.lengths)
