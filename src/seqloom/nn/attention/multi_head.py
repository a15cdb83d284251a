"""Attention in several ways at once."""

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.functional import scaled_dot_product_attention

from ...errors import ModelError
from ...trace import changed, is_watched
from .base import Attention, Found, Queries, Scores, Seen
from .options import Attending


class ManyHeaded(Attention):
    """Scaled products of a share of the numbers for each head (Vaswani et al., 2017).

    q = Q h_t,  k = K m_s,  v = V m_s             cut into H heads, d numbers each
    α = softmax(q · k / √d)                       for each head
    c = O [Σ_s α₁ₛ v₁ₛ; …; Σ_s α_Hₛ v_Hₛ]

    Torch's fused kernel computes it; the equations as they stand do where the weights are wanted.
    """

    takes = frozenset({"heads"})

    def __init__(self, memory: int, query: int, heads: int) -> None:
        super().__init__()
        if memory % heads:
            raise ModelError(
                "M200",
                f"{heads} heads cannot share {memory} numbers evenly",
                help=[f"--set model.heads={_divisor(memory, heads)}"],
            )
        self.heads = heads
        self.key = nn.Linear(memory, 2 * memory, bias=False)
        self.query = nn.Linear(query, memory, bias=False)
        self.join = nn.Linear(memory, memory, bias=False)

    @classmethod
    def made(cls, memory: int, query: int, attending: Attending) -> "ManyHeaded":
        return cls(memory, query, attending.heads)

    def keys(
        self, memory: Float[Tensor, "batch place memory"]
    ) -> Float[Tensor, "batch place both"]:
        """K m and V m for every place of the memory."""
        return self.key(memory)

    def forward(
        self, queries: Queries, seen: Seen, before: Scores | None = None, weighed: bool = True
    ) -> Found:
        q, k, v = self._parts(queries, seen)
        real = seen.real[:, None, None]
        if not weighed and not is_watched():
            found, weights = scaled_dot_product_attention(q, k, v, attn_mask=real), None
        else:
            scores = q @ k.transpose(-1, -2) * q.shape[-1] ** -0.5
            weights = scores.masked_fill(~real, -torch.inf).softmax(-1)
            found = changed(self, "attention", weights) @ v
        return Found(self.join(found.transpose(1, 2).flatten(2)), weights)

    def _parts(self, queries: Queries, seen: Seen) -> tuple[Tensor, Tensor, Tensor]:
        """Queries, keys and values: each (batch, heads, places, numbers)."""
        q = self.query(queries).unflatten(-1, (self.heads, -1)).transpose(1, 2)
        k, v = seen.keys.unflatten(-1, (2, self.heads, -1)).permute(2, 0, 3, 1, 4)
        return q, k, v


def _divisor(number: int, most: int) -> int:
    """The largest number of heads, up to `most`, that shares evenly."""
    return next(heads for heads in range(min(most, number), 0, -1) if number % heads == 0)
