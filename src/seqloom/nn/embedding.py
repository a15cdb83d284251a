"""From symbols and numbers to vectors: the door through which NumPy's arrays become tensors."""

import torch
from jaxtyping import Float, Int, Shaped
from torch import Tensor, nn

from ..batch import Sequences
from ..errors import ModelError
from ..signature import PAD, UNKNOWN, Bits, Columns, Labels, Letters, Series, Space, Tokens, Vectors
from .char_embedding import LetterReader
from .dropout import SequenceDropout
from .token_options import PLAIN_ENDS, Ends


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
        if ends.spread or ends.tie_vectors:  # if tied, small enough to score with, too
            nn.init.normal_(self.table.weight, std=ends.spread or width**-0.5)
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


class Observed(nn.Module):
    """Rows of a series: W [x; m; u] + b, with m = 1 and x = 0 where a number is missing.

    u are the inputs that are known beforehand.
    """

    def __init__(self, space: Series, width: int, dropout: float = 0.0) -> None:
        super().__init__()
        self.numbers = space.width
        self.project = nn.Linear(2 * space.width + space.known, width)
        self.dropout = SequenceDropout(dropout)

    def forward(self, rows: Float[Tensor, "*place numbers"]) -> Float[Tensor, "*place width"]:
        exact = rows.to(self.project.weight.dtype)
        seen, known = exact[..., : self.numbers], exact[..., self.numbers :]
        missing = seen.isnan()
        read = torch.cat([seen.masked_fill(missing, 0.0), missing.to(exact.dtype), known], dim=-1)
        return self.dropout(self.project(read))


class Beside(nn.Module):
    """What is known of a position, side by side: the word, its letters, and what else there is.

    x = [E w; letters(l₁ … l_n); F f₁; F f₂; …]

    A place that is not a word, as the end of a sequence, has no letters, and 0 for them.
    """

    def __init__(self, space: Columns, width: int, dropout: float, ends: Ends) -> None:
        super().__init__()
        self.spaces = space.parts
        words = self.spaces[0]
        if isinstance(words, Letters):
            raise TypeError("the word comes before its letters")
        given = [self._width(part, ends) for part in self.spaces[1:]]
        if sum(given) >= width:
            raise ModelError(
                "M127",
                f"width = {width}: {sum(given)} numbers come from letters and features, and the"
                " word itself needs some, too",
                help=[f"--set model.width={sum(given) + 64}", "--set model.letters_width=25"],
            )
        self.words = Embedding(words.size, width - sum(given), 0.0, ends)
        self.others = nn.ModuleList(
            _other(part, size, ends) for part, size in zip(self.spaces[1:], given, strict=True)
        )
        self.dropout = SequenceDropout(dropout)

    @property
    def has_words_alone(self) -> bool:
        """Whether nothing but the word is read."""
        return all(isinstance(layer, nn.Identity) for layer in self.others)

    @staticmethod
    def _width(part: Tokens | Labels | Letters, ends: Ends) -> int:
        if isinstance(part, Letters):
            return 0 if ends.letters == "none" else ends.letters_width
        return ends.feature_width

    def forward(self, columns: Int[Tensor, "*place columns"]) -> Float[Tensor, "*place width"]:
        vectors, start = [self.words(columns[..., 0])], 1
        for part, layer in zip(self.spaces[1:], self.others, strict=True):
            end = start + (part.length if isinstance(part, Letters) else 1)
            if not isinstance(layer, nn.Identity):
                found = columns[..., start:end]
                vectors.append(layer(found if isinstance(part, Letters) else found[..., 0]))
            start = end
        return self.dropout(torch.cat(vectors, dim=-1))


def _other(part: Tokens | Labels | Letters, width: int, ends: Ends) -> nn.Module:
    """What reads a column that is not the word; nothing where it is not to be read."""
    if not isinstance(part, Letters):
        return Embedding(part.size, width)
    return LetterReader(ends.letters, part.size, width) if width else nn.Identity()


def words_of(layer: nn.Module) -> Embedding | None:
    """The layer that has a vector for each word or symbol, if there is one."""
    if isinstance(layer, Beside):
        return layer.words
    return layer if isinstance(layer, Embedding) else None


def input_layer(
    space: Space, width: int, dropout: float = 0.0, ends: Ends = PLAIN_ENDS
) -> Embedding | Beside | Projection | Observed:
    """Symbols are looked up, real numbers are multiplied."""
    match space:
        case Tokens(size, unknowns):
            return Embedding(size, width, dropout, ends, unknowns=unknowns)
        case Labels(size):
            return Embedding(size, width, dropout, ends)
        case Columns():
            return Beside(space, width, dropout, ends)
        case Vectors(numbers):
            return Projection(numbers, width, dropout)
        case Bits(size):
            return _sum_of_vectors(size, width, dropout, ends)
        case Series():
            return Observed(space, width, dropout)


def _sum_of_vectors(size: int, width: int, dropout: float, ends: Ends) -> Projection:
    """Rows of bits: the sum of the vectors of those that are yes, which begin as symbols' do.

    Few are yes: the small numbers of a matrix for full rows would say next to nothing at first.
    """
    layer = Projection(size, width, dropout)
    nn.init.normal_(layer.project.weight, std=ends.spread or 1.0)
    return layer


def as_known(symbols: Int[Tensor, "*place"], size: int) -> Int[Tensor, "*place"]:
    """The symbols, those of one source that the vocabulary lacks being UNKNOWN."""
    return symbols.masked_fill(symbols >= size, UNKNOWN)


def tensors(
    sequences: Sequences,
) -> tuple[Shaped[Tensor, "batch time *numbers"], Int[Tensor, " batch"]]:
    """Values and lengths as tensors that share their memory with the arrays."""
    return torch.from_numpy(sequences.values), torch.from_numpy(sequences.lengths)
