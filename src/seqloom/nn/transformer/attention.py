"""Attention with several heads: every place looks in several ways at once."""

from typing import NamedTuple

import torch
from jaxtyping import Bool, Complex, Float
from torch import Tensor, nn
from torch.nn.functional import scaled_dot_product_attention

from ...trace import is_watched, record
from .positions import turned


class Sight(NamedTuple):
    """What places may see, and where they stand."""

    causal: bool = False  # none may see what comes after it
    mask: Bool[Tensor, "*batch query key"] | None = None  # true where a place may look
    turns: Complex[Tensor, "time half"] | None = None  # rotary positions


class Heads(nn.Module):
    """Queries look at keys and find values, in several ways at once (Vaswani et al., 2017).

    α = softmax(q kᵀ / √d)          for each head, d numbers wide, over the places it may see
    y = V [α₁ v₁; …; α_H v_H]       what the heads found, joined and mixed

    Torch's fused kernel computes it; the equations as they stand do when somebody watches. With
    `biases` every product has a vector added.
    """

    def __init__(self, width: int, heads: int, biases: bool = False) -> None:
        super().__init__()
        self.heads = heads
        self.join = nn.Linear(width, width, bias=biases)

    def look(
        self,
        queries: Float[Tensor, "batch time heads numbers"],
        keys: Float[Tensor, "batch place heads numbers"],
        values: Float[Tensor, "batch place heads numbers"],
        sight: Sight,
    ) -> Float[Tensor, "batch time width"]:
        """What each query finds."""
        q, k, v = queries.transpose(1, 2), keys.transpose(1, 2), values.transpose(1, 2)
        if is_watched():
            found = self._seen(q, k, v, sight)
        else:
            found = scaled_dot_product_attention(
                q, k, v, attn_mask=sight.mask, is_causal=sight.causal and sight.mask is None
            )
        return self.join(found.transpose(1, 2).flatten(2))

    def _seen(self, q: Tensor, k: Tensor, v: Tensor, sight: Sight) -> Tensor:
        """The readable twin."""
        scores = q @ k.transpose(-1, -2) / q.shape[-1] ** 0.5
        if sight.mask is not None:
            scores = scores.masked_fill(~sight.mask, -torch.inf)
        elif sight.causal:
            past = torch.ones(scores.shape[-2:], dtype=torch.bool).tril()
            scores = scores.masked_fill(~past, -torch.inf)
        weights = scores.softmax(-1)
        return record(self, "attention", weights) @ v


class SelfAttention(Heads):
    """Every place looks at all it may see of its own sequence.

    q, k, v = W x        query, key and value of each place
    """

    def __init__(self, width: int, heads: int, biases: bool = False) -> None:
        super().__init__(width, heads, biases)
        self.read = nn.Linear(width, 3 * width, bias=biases)

    def products(
        self, x: Float[Tensor, "batch time width"], turns: Complex[Tensor, "time half"] | None
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Queries, keys and values: each (batch, time, heads, numbers)."""
        parts = self.read(x).unflatten(-1, (3, self.heads, -1))
        if turns is None:
            queries, keys, values = parts.unbind(2)
            return queries, keys, values
        queries, keys = turned(parts[:, :, :2], turns).unbind(2)
        return queries, keys, parts[:, :, 2]


class CrossAttention(Heads):
    """Every place of a target looks at the source, whose keys and values are computed once.

    q = A x,   k, v = B m        of the target's places x and the source's m
    """

    def __init__(self, width: int, heads: int, biases: bool = False) -> None:
        super().__init__(width, heads, biases)
        self.ask = nn.Linear(width, width, bias=biases)
        self.read = nn.Linear(width, 2 * width, bias=biases)

    def queries(
        self, x: Float[Tensor, "batch time width"]
    ) -> Float[Tensor, "batch time heads numbers"]:
        """A x."""
        return self.ask(x).unflatten(-1, (self.heads, -1))

    def known(
        self, memory: Float[Tensor, "batch place width"]
    ) -> Float[Tensor, "batch 2 heads place numbers"]:
        """The keys and the values of a source."""
        return self.read(memory).unflatten(-1, (2, self.heads, -1)).permute(0, 2, 3, 1, 4)
