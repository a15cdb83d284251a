"""Multi-head attention of Transformers: self-attention and cross-attention."""

from typing import NamedTuple

import torch
from jaxtyping import Bool, Complex, Float
from torch import Tensor, nn
from torch.nn.functional import scaled_dot_product_attention

from ...trace import is_watched, record
from .positions import rotate


class AttentionPattern(NamedTuple):
    """Which positions attend to which (the attention mask), and their rotary positions."""

    causal: bool = False  # no position attends to later ones
    mask: Bool[Tensor, "*batch query key"] | None = None  # true where a position may attend
    rotations: Complex[Tensor, "time half"] | None = None  # rotary positions


class TransformerAttention(nn.Module):
    """Multi-head scaled dot-product attention (Vaswani et al., 2017).

    α = softmax(q kᵀ / √d)          for each head of size d, over the positions it may attend to
    y = V [α₁ v₁; …; α_H v_H]       the heads concatenated, and projected

    Torch's fused kernel computes it. While `watch` records, the equations run as they stand: the
    kernel does not return the weights. With `biases` every projection has a bias.
    """

    def __init__(self, width: int, heads: int, biases: bool = False) -> None:
        super().__init__()
        self.heads = heads
        self.join = nn.Linear(width, width, bias=biases)

    def attend(
        self,
        queries: Float[Tensor, "batch time heads head_size"],
        keys: Float[Tensor, "batch position heads head_size"],
        values: Float[Tensor, "batch position heads head_size"],
        pattern: AttentionPattern,
    ) -> Float[Tensor, "batch time width"]:
        """The output at each query position."""
        q, k, v = queries.transpose(1, 2), keys.transpose(1, 2), values.transpose(1, 2)
        if is_watched():
            context = self._reference(q, k, v, pattern)
        else:
            # is_causal without a mask lets torch choose kernels that never compute the upper half.
            context = scaled_dot_product_attention(
                q, k, v, attn_mask=pattern.mask, is_causal=pattern.causal and pattern.mask is None
            )
        return self.join(context.transpose(1, 2).flatten(2))

    def _reference(self, q: Tensor, k: Tensor, v: Tensor, pattern: AttentionPattern) -> Tensor:
        """The reference implementation, which records the weights."""
        scores = q @ k.transpose(-1, -2) / q.shape[-1] ** 0.5
        if pattern.mask is not None:
            scores = scores.masked_fill(~pattern.mask, -torch.inf)
        elif pattern.causal:
            past = torch.ones(scores.shape[-2:], dtype=torch.bool).tril()
            scores = scores.masked_fill(~past, -torch.inf)
        weights = scores.softmax(-1)
        return record(self, "attention", weights) @ v


class SelfAttention(TransformerAttention):
    """Self-attention: every position attends to those of its own sequence that it may see.

    q, k, v = W x        query, key and value of each position
    """

    def __init__(self, width: int, heads: int, biases: bool = False) -> None:
        super().__init__(width, heads, biases)
        self.read = nn.Linear(width, 3 * width, bias=biases)

    def products(
        self, x: Float[Tensor, "batch time width"], rotations: Complex[Tensor, "time half"] | None
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Queries, keys and values: each (batch, time, heads, head size)."""
        parts = self.read(x).unflatten(-1, (3, self.heads, -1))
        if rotations is None:
            queries, keys, values = parts.unbind(2)
            return queries, keys, values
        queries, keys = rotate(parts[:, :, :2], rotations).unbind(2)
        return queries, keys, parts[:, :, 2]


class CrossAttention(TransformerAttention):
    """Cross-attention: every target position attends to the source (encoder-decoder attention).

    q = A x,   k, v = B m        target states x, encoder outputs m; k and v are computed once
    """

    def __init__(self, width: int, heads: int, biases: bool = False) -> None:
        super().__init__(width, heads, biases)
        self.ask = nn.Linear(width, width, bias=biases)
        self.read = nn.Linear(width, 2 * width, bias=biases)

    def queries(
        self, x: Float[Tensor, "batch time width"]
    ) -> Float[Tensor, "batch time heads head_size"]:
        """A x."""
        return self.ask(x).unflatten(-1, (self.heads, -1))

    def keys_values(
        self, encoder_outputs: Float[Tensor, "batch position width"]
    ) -> Float[Tensor, "batch 2 heads position head_size"]:
        """The keys and the values of a source."""
        keys_values = self.read(encoder_outputs).unflatten(-1, (2, self.heads, -1))
        return keys_values.permute(0, 2, 3, 1, 4)
