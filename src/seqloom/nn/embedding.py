"""Input layers: embeddings of tokens, words, characters and features; projections of real numbers.

Here the NumPy arrays of a batch become tensors.
"""

from collections.abc import Iterable

import numpy as np
import torch
from jaxtyping import Bool, Float, Int, Shaped
from torch import Tensor, nn

from ..batch import Sequences
from ..errors import ModelError
from ..signature import PAD, UNKNOWN, Bits, Columns, Labels, Letters, Series, Space, Tokens, Vectors
from .char_embedding import CharEncoder
from .dropout import SequenceDropout
from .token_options import DEFAULT_TOKEN_OPTIONS, TokenOptions


class Embedding(nn.Module):
    """Token embedding, with word dropout and variational dropout in training.

    Ids from `size` on are the numbered unknown tokens of a source; they are embedded as UNKNOWN.
    """

    def __init__(
        self,
        size: int,
        width: int,
        dropout: float = 0.0,
        token_options: TokenOptions = DEFAULT_TOKEN_OPTIONS,
        *,
        unknowns: int = 0,
    ) -> None:
        super().__init__()
        self.unknowns = unknowns
        self.table = nn.Embedding(size, width, padding_idx=PAD)
        self.dropout, self.word_dropout = SequenceDropout(dropout), token_options.word_dropout
        self.unknown_rate = token_options.unknown_rate
        self.singletons: Bool[Tensor, " size"] | None = None  # in training, see `find_singletons`
        # Tied to the output, the embeddings are also its weights: torch's N(0, 1) is too large.
        if token_options.spread or token_options.tie_embeddings:
            nn.init.normal_(self.table.weight, std=token_options.spread or width**-0.5)
            self.table.weight.data[PAD] = 0
        self.table.weight.requires_grad = not token_options.freeze_embeddings

    def forward(self, tokens: Int[Tensor, "*shape"]) -> Float[Tensor, "*shape width"]:
        if self.unknowns:
            tokens = replace_unknown(tokens, self.table.num_embeddings)
        if self.training and self.singletons is not None:
            sampled = torch.rand(tokens.shape) < self.unknown_rate
            tokens = tokens.masked_fill(self.singletons[tokens] & sampled, UNKNOWN)
        vectors = self.table(tokens)
        if self.training and self.word_dropout:
            # By word type: all occurrences of a word are dropped together (Gal & Ghahramani, 2016).
            kept = torch.rand(self.table.num_embeddings) >= self.word_dropout
            vectors = vectors * (kept / (1 - self.word_dropout))[tokens][..., None]
        return self.dropout(vectors)

    def find_singletons(self, sources: Iterable[Int[np.ndarray, " time"]]) -> None:
        """Find the tokens that these training sequences have once, to be read as unknown at times.

        Only where none of them is unknown: the embedding of unknown tokens has no gradient then,
        and a new word would be read as noise.
        """
        size = self.table.num_embeddings
        ids = np.concatenate([np.zeros(0, dtype=np.int64), *sources])
        counts = np.bincount(ids, minlength=size)
        known, unknown = np.split(counts, [size])
        singletons = known == 1
        singletons[: UNKNOWN + 1] = False
        is_trained = known[UNKNOWN] > 0 or unknown.any() or not self.table.weight.requires_grad
        is_needed = self.unknown_rate > 0 and singletons.any() and not is_trained
        self.singletons = torch.from_numpy(singletons) if is_needed else None


class VectorInput(nn.Module):
    """Linear input layer for real-valued vectors: W x + b, with dropout."""

    def __init__(self, size: int, width: int, dropout: float = 0.0) -> None:
        super().__init__()
        self.project = nn.Linear(size, width)
        self.dropout = SequenceDropout(dropout)

    def forward(self, vectors: Float[Tensor, "*shape features"]) -> Float[Tensor, "*shape width"]:
        exact = vectors.to(self.project.weight.dtype)  # copies of a model may be in float64
        return self.dropout(self.project(exact))


class SeriesInput(nn.Module):
    """Linear input layer for the rows of a time series: W [x; m; u] + b.

    m is a mask: where a value is missing, m = 1 and x = 0. u are the covariates known in advance.
    """

    def __init__(self, space: Series, width: int, dropout: float = 0.0) -> None:
        super().__init__()
        self.size = space.width
        self.project = nn.Linear(2 * space.width + space.known, width)
        self.dropout = SequenceDropout(dropout)

    def forward(self, rows: Float[Tensor, "*shape features"]) -> Float[Tensor, "*shape width"]:
        exact = rows.to(self.project.weight.dtype)
        values, covariates = exact[..., : self.size], exact[..., self.size :]
        missing = values.isnan()
        filled, mask = values.masked_fill(missing, 0.0), missing.to(exact.dtype)
        return self.dropout(self.project(torch.cat([filled, mask, covariates], dim=-1)))


class ConcatenatedEmbedding(nn.Module):
    """Embeddings of a word, its characters and its features, concatenated.

    x = [E w; chars(l₁ … l_n); F f₁; F f₂; …]

    A position that is not a word, as the end of a sequence, has no characters, and 0 for them.
    """

    def __init__(
        self, space: Columns, width: int, dropout: float, token_options: TokenOptions
    ) -> None:
        super().__init__()
        self.spaces = space.parts
        words = self.spaces[0]
        if isinstance(words, Letters):
            raise TypeError("the word comes before its letters")
        sizes = [self._size(part, token_options) for part in self.spaces[1:]]
        if sum(sizes) >= width:
            raise ModelError(
                "M127",
                f"embedding_size = {width}: {sum(sizes)} of it are for characters and features, and"
                " nothing is left for the word itself",
                help=[
                    f"--set model.embedding_size={sum(sizes) + 64}",
                    "--set model.letters_width=25",
                ],
            )
        self.words = Embedding(words.size, width - sum(sizes), 0.0, token_options)
        self.others = nn.ModuleList(
            _column_embedding(part, size, token_options)
            for part, size in zip(self.spaces[1:], sizes, strict=True)
        )
        self.dropout = SequenceDropout(dropout)

    @property
    def is_word_only(self) -> bool:
        """Whether only the word is embedded."""
        return all(isinstance(layer, nn.Identity) for layer in self.others)

    @staticmethod
    def _size(part: Tokens | Labels | Letters, token_options: TokenOptions) -> int:
        if isinstance(part, Letters):
            return 0 if token_options.letters == "none" else token_options.letters_width
        return token_options.feature_width

    def forward(self, columns: Int[Tensor, "*shape columns"]) -> Float[Tensor, "*shape width"]:
        vectors, start = [self.words(columns[..., 0])], 1
        for part, layer in zip(self.spaces[1:], self.others, strict=True):
            end = start + (part.length if isinstance(part, Letters) else 1)
            if not isinstance(layer, nn.Identity):
                ids = columns[..., start:end]
                vectors.append(layer(ids if isinstance(part, Letters) else ids[..., 0]))
            start = end
        return self.dropout(torch.cat(vectors, dim=-1))


def _column_embedding(
    part: Tokens | Labels | Letters, width: int, token_options: TokenOptions
) -> nn.Module:
    """The embedding of a column besides the word; nn.Identity for characters that are not read."""
    if not isinstance(part, Letters):
        return Embedding(part.size, width)
    return CharEncoder(token_options.letters, part.size, width) if width else nn.Identity()


def word_embedding(layer: nn.Module | None) -> Embedding | None:
    """The word or token embedding of an input layer, if it has one."""
    if isinstance(layer, ConcatenatedEmbedding):
        return layer.words
    return layer if isinstance(layer, Embedding) else None


def input_layer(
    space: Space,
    width: int,
    dropout: float = 0.0,
    token_options: TokenOptions = DEFAULT_TOKEN_OPTIONS,
) -> Embedding | ConcatenatedEmbedding | VectorInput | SeriesInput:
    """The input layer for an input space: an embedding for ids, a projection for real numbers."""
    match space:
        case Tokens(size, unknowns):
            return Embedding(size, width, dropout, token_options, unknowns=unknowns)
        case Labels(size):
            return Embedding(size, width, dropout, token_options)
        case Columns():
            return ConcatenatedEmbedding(space, width, dropout, token_options)
        case Vectors(size):
            return VectorInput(size, width, dropout)
        case Bits(size):
            return _multi_hot_input(size, width, dropout, token_options)
        case Series():
            return SeriesInput(space, width, dropout)


def _multi_hot_input(
    size: int, width: int, dropout: float, token_options: TokenOptions
) -> VectorInput:
    """For multi-hot vectors: the sum of the embeddings of all ones.

    Few components are one, so the weights start like embeddings: nn.Linear's initialisation, made
    for dense inputs, would give almost no signal at first.
    """
    layer = VectorInput(size, width, dropout)
    nn.init.normal_(layer.project.weight, std=token_options.spread or 1.0)
    return layer


def replace_unknown(tokens: Int[Tensor, "*shape"], size: int) -> Int[Tensor, "*shape"]:
    """The tokens, with the numbered unknown ones of a source (from `size` on) as UNKNOWN."""
    return tokens.masked_fill(tokens >= size, UNKNOWN)


def to_tensors(
    sequences: Sequences,
) -> tuple[Shaped[Tensor, "batch time *features"], Int[Tensor, " batch"]]:
    """Values and lengths as tensors that share memory with the arrays."""
    return torch.from_numpy(sequences.values), torch.from_numpy(sequences.lengths)
