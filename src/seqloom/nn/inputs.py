"""From symbols and numbers to vectors: the door through which NumPy's arrays become tensors."""

import torch
from jaxtyping import Float, Int, Shaped
from torch import Tensor, nn

from ..batch import Sequences
from ..forms import PAD, Labels, Space, Tokens, Vectors
from .dropout import SequenceDropout


class Embedding(nn.Module):
    """A vector for each symbol, some of its numbers dropped while training."""

    def __init__(self, size: int, width: int, dropout: float = 0.0) -> None:
        super().__init__()
        self.table = nn.Embedding(size, width, padding_idx=PAD)
        self.dropout = SequenceDropout(dropout)

    def forward(self, symbols: Int[Tensor, "*place"]) -> Float[Tensor, "*place width"]:
        return self.dropout(self.table(symbols))


class Projection(nn.Module):
    """W x + b of each vector of real numbers, some of it dropped while training."""

    def __init__(self, numbers: int, width: int, dropout: float = 0.0) -> None:
        super().__init__()
        self.project = nn.Linear(numbers, width)
        self.dropout = SequenceDropout(dropout)

    def forward(self, vectors: Float[Tensor, "*place numbers"]) -> Float[Tensor, "*place width"]:
        exact = vectors.to(self.project.weight.dtype)  # a copy of a model may be more precise
        return self.dropout(self.project(exact))


def input_layer(space: Space, width: int, dropout: float = 0.0) -> Embedding | Projection:
    """Symbols are looked up, real numbers are multiplied."""
    match space:
        case Tokens(size) | Labels(size):
            return Embedding(size, width, dropout)
        case Vectors(numbers):
            return Projection(numbers, width, dropout)


def tensors(
    sequences: Sequences,
) -> tuple[Shaped[Tensor, "batch time *numbers"], Int[Tensor, " batch"]]:
    """Values and lengths as tensors that share their memory with the arrays."""
    return torch.from_numpy(sequences.values), torch.from_numpy(sequences.lengths)
