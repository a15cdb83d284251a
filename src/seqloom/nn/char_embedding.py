"""Character-level word embeddings: a character CNN or BiLSTM, for words not in the vocabulary."""

from typing import Literal

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn.functional import pad

from ..signature import PAD
from .convolution import unfold_time
from .rnn import RNN

CharEncoderName = Literal["none", "convolution", "recurrent"]
CHAR_EMBEDDING_SIZE = 32
KERNEL = 3


class CharCNN(nn.Module):
    """Character CNN with max-over-time pooling (dos Santos & Zadrozny, 2014).

    c_t = b + Σ_k W_k e_{t+k}          k = -1, 0, 1;  e: character embeddings, 0 beyond the word
    v   = max_t c_t
    """

    def __init__(self, width: int) -> None:
        super().__init__()
        self.filters = nn.Linear(KERNEL * CHAR_EMBEDDING_SIZE, width)

    def forward(
        self, vectors: Float[Tensor, "words letters letter"], lengths: Int[Tensor, " words"]
    ) -> Float[Tensor, "words width"]:
        is_padding = (torch.arange(vectors.shape[1]) >= lengths[:, None])[..., None]
        padded = pad(vectors.masked_fill(is_padding, 0), (0, 0, KERNEL // 2, KERNEL // 2))
        responses = self.filters(unfold_time(padded, KERNEL))
        return responses.masked_fill(is_padding, -torch.inf).max(1).values


class CharLSTM(nn.Module):
    """Character BiLSTM: its two final states, concatenated (Lample et al., 2016)."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.body = RNN("lstm", CHAR_EMBEDDING_SIZE, width, bidirectional=True)

    def forward(
        self, vectors: Float[Tensor, "words letters letter"], lengths: Int[Tensor, " words"]
    ) -> Float[Tensor, "words width"]:
        return self.body.encode(vectors, lengths)[1]


CHAR_ENCODERS: dict[str, type[CharCNN] | type[CharLSTM]] = {
    "convolution": CharCNN,
    "recurrent": CharLSTM,
}


class CharEncoder(nn.Module):
    """A word embedding from the characters of each word, by a CNN or a BiLSTM.

    A word that comes several times in a batch is encoded once.
    """

    def __init__(self, kind: CharEncoderName, size: int, width: int) -> None:
        super().__init__()
        self.table = nn.Embedding(size, CHAR_EMBEDDING_SIZE, padding_idx=PAD)
        self.reader = CHAR_ENCODERS[kind](width)

    def forward(self, letters: Int[Tensor, "*shape letters"]) -> Float[Tensor, "*shape width"]:
        words, inverse = letters.flatten(0, -2).unique(dim=0, return_inverse=True)
        lengths = (words != PAD).sum(-1).clamp(min=1)  # 0 where there is no word: padding, or END
        trimmed = words[:, : int(lengths.max())]
        vectors = self.reader(self.table(trimmed), lengths)
        return vectors[inverse].unflatten(0, letters.shape[:-1])
