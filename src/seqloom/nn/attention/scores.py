"""Attention scores: dot-product, scaled dot-product, general (bilinear), additive attention."""

from jaxtyping import Float
from torch import Tensor, nn

from ...errors import ModelError
from .base import KeyValues, Queries, Scores, SingleHeadAttention
from .options import AttentionOptions


class DotAttention(SingleHeadAttention):
    """Dot-product attention (Luong et al., 2015): e_ts = h_t · m_s."""

    @classmethod
    def from_options(
        cls, value_size: int, query_size: int, attention_options: AttentionOptions
    ) -> "DotAttention":
        if value_size != query_size:
            raise ModelError(
                "M200",
                f"attention = {attention_options.attention} needs states of one size: the decoder"
                f" has {query_size}, the encoder {value_size}",
                help=["--set model.attention=general   has a matrix between them"],
            )
        return cls()

    def scores(self, queries: Queries, source: KeyValues) -> Scores:
        return queries @ source.keys.transpose(1, 2)


class ScaledDotAttention(DotAttention):
    """Scaled dot-product attention (Vaswani et al., 2017): e_ts = h_t · m_s / √d.

    Unscaled products grow with √d and saturate the softmax.
    """

    def scores(self, queries: Queries, source: KeyValues) -> Scores:
        return super().scores(queries * queries.shape[-1] ** -0.5, source)


class GeneralAttention(SingleHeadAttention):
    """General (bilinear) attention (Luong et al., 2015): e_ts = h_t · W m_s."""

    def __init__(self, value_size: int, query_size: int) -> None:
        super().__init__()
        self.key = nn.Linear(value_size, query_size, bias=False)

    @classmethod
    def from_options(
        cls, value_size: int, query_size: int, attention_options: AttentionOptions
    ) -> "GeneralAttention":
        return cls(value_size, query_size)

    def keys(
        self, encoder_outputs: Float[Tensor, "batch position value"]
    ) -> Float[Tensor, "batch position query"]:
        """W m at every source position."""
        return self.key(encoder_outputs)

    def scores(self, queries: Queries, source: KeyValues) -> Scores:
        return queries @ source.keys.transpose(1, 2)


class AdditiveAttention(SingleHeadAttention):
    """Additive (MLP) attention (Bahdanau et al., 2015).

    e_ts = v · tanh(W₁ m_s + W₂ h_t)
    """

    own_options = frozenset({"attention_width"})

    def __init__(self, value_size: int, query_size: int, hidden_size: int) -> None:
        super().__init__()
        self.key = nn.Linear(value_size, hidden_size)
        self.query = nn.Linear(query_size, hidden_size, bias=False)
        self.score = nn.Linear(hidden_size, 1, bias=False)

    @classmethod
    def from_options(
        cls, value_size: int, query_size: int, attention_options: AttentionOptions
    ) -> "AdditiveAttention":
        return cls(value_size, query_size, attention_options.attention_width)

    def keys(
        self, encoder_outputs: Float[Tensor, "batch position value"]
    ) -> Float[Tensor, "batch position hidden"]:
        """W₁ m at every source position."""
        return self.key(encoder_outputs)

    def scores(self, queries: Queries, source: KeyValues) -> Scores:
        # (batch, time, place, hidden) is the largest array of a decoder: tanh works in place on it.
        mixed = source.keys[:, None] + self.query(queries)[:, :, None]
        scores: Tensor = self.score(mixed.tanh_()).squeeze(-1)
        return scores
