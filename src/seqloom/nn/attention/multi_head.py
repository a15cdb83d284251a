"""Multi-head attention of a recurrent decoder over encoder outputs."""

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.functional import scaled_dot_product_attention

from ...errors import ModelError
from ...trace import intervened, is_watched
from .base import Attention, AttentionOutput, KeyValues, Queries, Scores
from .options import AttentionOptions


class MultiHeadAttention(Attention):
    """Multi-head scaled dot-product attention (Vaswani et al., 2017).

    q = Q h_t,  k = K m_s,  v = V m_s             cut into H heads, d components each
    α = softmax(q · k / √d)                       for each head
    c = O [Σ_s α₁ₛ v₁ₛ; …; Σ_s α_Hₛ v_Hₛ]

    Torch's fused kernel computes it. Where the weights are needed the equations run as they stand,
    because the fused kernel does not return them.
    """

    own_options = frozenset({"num_heads"})

    def __init__(self, value_size: int, query_size: int, num_heads: int) -> None:
        super().__init__()
        if value_size % num_heads:
            raise ModelError(
                "M200",
                f"num_heads = {num_heads} does not divide hidden_size = {value_size}",
                help=[f"--set model.num_heads={_largest_divisor(value_size, num_heads)}"],
            )
        self.heads = num_heads
        self.key = nn.Linear(value_size, 2 * value_size, bias=False)  # K and V, one product
        self.query = nn.Linear(query_size, value_size, bias=False)
        self.join = nn.Linear(value_size, value_size, bias=False)

    @classmethod
    def from_options(
        cls, value_size: int, query_size: int, attention_options: AttentionOptions
    ) -> "MultiHeadAttention":
        return cls(value_size, query_size, attention_options.num_heads)

    def keys(
        self, encoder_outputs: Float[Tensor, "batch position value"]
    ) -> Float[Tensor, "batch position both"]:
        """K m and V m at every source position."""
        return self.key(encoder_outputs)

    def forward(
        self,
        queries: Queries,
        source: KeyValues,
        previous_weights: Scores | None = None,
        need_weights: bool = True,
    ) -> AttentionOutput:
        q, k, v = self._heads(queries, source)
        mask = source.mask[:, None, None]
        if not need_weights and not is_watched():
            context, weights = scaled_dot_product_attention(q, k, v, attn_mask=mask), None
        else:
            scores = q @ k.transpose(-1, -2) * q.shape[-1] ** -0.5
            weights = scores.masked_fill(~mask, -torch.inf).softmax(-1)
            context = intervened(self, "attention", weights) @ v
        return AttentionOutput(self.join(context.transpose(1, 2).flatten(2)), weights)

    def _heads(self, queries: Queries, source: KeyValues) -> tuple[Tensor, Tensor, Tensor]:
        """Queries, keys and values: each (batch, heads, positions, head size)."""
        q = self.query(queries).unflatten(-1, (self.heads, -1)).transpose(1, 2)
        k, v = source.keys.unflatten(-1, (2, self.heads, -1)).permute(2, 0, 3, 1, 4)
        return q, k, v


def _largest_divisor(size: int, most: int) -> int:
    """The largest number of heads, up to `most`, that divides a size."""
    return next(heads for heads in range(min(most, size), 0, -1) if size % heads == 0)
