"""From symbols and numbers to vectors: the door through which NumPy's arrays become tensors."""

import torch
from jaxtyping import Float, Int, Shaped
from torch import Tensor, nn

from ..batch import Sequences
from ..forms import PAD, UNKNOWN, Labels, Space, Tokens, Vectors
from .dropout import SequenceDropout
from .ends import PLAIN_ENDS, Ends


class Embedding(nn.Module):
    """A vector for each symbol, some of its numbers dropped while training.

    The numbers of a source's unknown symbols, from `size` on, are read as UNKNOWN.
    """

    def __init__(
        self,
        size: int,
        width: int,
        dropout: float = 0.0,
        ends: Ends = PLAIN_ENDS,
        *,
        unknowns: int = 0,
    ) -> None:
        super().__init__()
        self.unknowns = unknowns
        self.table = nn.Embedding(size, width, padding_idx=PAD)
        self.dropout, self.symbol_dropout = SequenceDropout(dropout), ends.symbol_dropout
        if ends.tie_vectors:  # small enough to score with, too
            nn.init.normal_(self.table.weight, std=width**-0.5)
            self.table.weight.data[PAD] = 0
        self.table.weight.requires_grad = not ends.freeze_vectors

    def forward(self, symbols: Int[Tensor, "*place"]) -> Float[Tensor, "*place width"]:
        if self.unknowns:
            symbols = as_known(symbols, self.table.num_embeddings)
        vectors = self.table(symbols)
        if self.training and self.symbol_dropout:
            kept = torch.rand(self.table.num_embeddings) >= self.symbol_dropout
            vectors = vectors * (kept / (1 - self.symbol_dropout))[symbols][..., None]
        return self.dropout(vectors)


class Projection(nn.Module):
    """W x + b of each vector of real numbers, some of it dropped while training."""

    def __init__(self, numbers: int, width: int, dropout: float = 0.0) -> None:
        super().__init__()
        self.project = nn.Linear(numbers, width)
        self.dropout = SequenceDropout(dropout)

    def forward(self, vectors: Float[Tensor, "*place numbers"]) -> Float[Tensor, "*place width"]:
        exact = vectors.to(self.project.weight.dtype)  # a copy of a model may be more precise
        return self.dropout(self.project(exact))


def input_layer(
    space: Space, width: int, dropout: float = 0.0, ends: Ends = PLAIN_ENDS
) -> Embedding | Projection:
    """Symbols are looked up, real numbers are multiplied."""
    match space:
        case Tokens(size, unknowns):
            return Embedding(size, width, dropout, ends, unknowns=unknowns)
        case Labels(size):
            return Embedding(size, width, dropout, ends)
        case Vectors(numbers):
            return Projection(numbers, width, dropout)


def as_known(symbols: Int[Tensor, "*place"], size: int) -> Int[Tensor, "*place"]:
    """The symbols, those of one source that the vocabulary lacks being UNKNOWN."""
    return symbols.masked_fill(symbols >= size, UNKNOWN)


def tensors(
    sequences: Sequences,
) -> tuple[Shaped[Tensor, "batch time *numbers"], Int[Tensor, " batch"]]:
    """Values and lengths as tensors that share their memory with the arrays."""
    return torch.from_numpy(sequences.values), torch.from_numpy(sequences.lengths)
