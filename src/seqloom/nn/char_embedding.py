"""A vector of a word from its letters, so that words never seen before have one too."""

from typing import Literal

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn.functional import pad

from ..signature import PAD
from .convolution import joined
from .rnn import Recurrence

LettersName = Literal["none", "convolution", "recurrent"]
LETTER = 32  # numbers that stand for a letter
KERNEL = 3


class LetterConvolution(nn.Module):
    """The largest answer of each filter anywhere in a word (dos Santos & Zadrozny, 2014).

    c_t = b + Σ_k W_k e_{t+k}          k = -1, 0, 1;  e the letters' vectors, 0 beyond the word
    v   = max_t c_t
    """

    def __init__(self, width: int) -> None:
        super().__init__()
        self.filters = nn.Linear(KERNEL * LETTER, width)

    def forward(
        self, vectors: Float[Tensor, "words letters letter"], lengths: Int[Tensor, " words"]
    ) -> Float[Tensor, "words width"]:
        beyond = (torch.arange(vectors.shape[1]) >= lengths[:, None])[..., None]
        around = pad(vectors.masked_fill(beyond, 0), (0, 0, KERNEL // 2, KERNEL // 2))
        found = self.filters(joined(around, KERNEL))
        return found.masked_fill(beyond, -torch.inf).max(1).values


class LetterRecurrence(nn.Module):
    """The last states of two LSTMs, one from either side (Lample et al., 2016)."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.body = Recurrence("lstm", LETTER, width, both=True)

    def forward(
        self, vectors: Float[Tensor, "words letters letter"], lengths: Int[Tensor, " words"]
    ) -> Float[Tensor, "words width"]:
        return self.body.read(vectors, lengths)[1]


KINDS: dict[str, type[LetterConvolution] | type[LetterRecurrence]] = {
    "convolution": LetterConvolution,
    "recurrent": LetterRecurrence,
}


class LetterReader(nn.Module):
    """Reads the letters of each word; a word that comes several times in a batch is read once."""

    def __init__(self, kind: LettersName, size: int, width: int) -> None:
        super().__init__()
        self.table = nn.Embedding(size, LETTER, padding_idx=PAD)
        self.reader = KINDS[kind](width)

    def forward(self, letters: Int[Tensor, "*place letters"]) -> Float[Tensor, "*place width"]:
        words, which = letters.flatten(0, -2).unique(dim=0, return_inverse=True)
        lengths = (words != PAD).sum(-1).clamp(min=1)  # where there is no word: padding, or END
        shortest = words[:, : int(lengths.max())]
        return self.reader(self.table(shortest), lengths)[which].unflatten(0, letters.shape[:-1])
