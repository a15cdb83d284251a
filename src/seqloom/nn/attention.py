"""Attention: a weighted look at a memory."""

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from ..trace import record


class AdditiveAttention(nn.Module):
    """Additive attention (Bahdanau et al., 2015): a small network scores every pair.

    e_ts = v · tanh(W₁ m_s + W₂ h_t)     score of memory place s for query t
    α_t  = softmax(e_t)                  over the real places only
    c_t  = Σ_s α_ts m_s                  context

    W₁ m_s does not depend on the query, so it is computed once (`keys`).
    """

    def __init__(self, memory: int, query: int, hidden: int) -> None:
        super().__init__()
        self.key = nn.Linear(memory, hidden)
        self.query = nn.Linear(query, hidden, bias=False)
        self.score = nn.Linear(hidden, 1, bias=False)

    def keys(
        self, memory: Float[Tensor, "batch place memory"]
    ) -> Float[Tensor, "batch place hidden"]:
        """W₁ m for every place of the memory."""
        return self.key(memory)

    def forward(
        self,
        queries: Float[Tensor, "batch time query"],
        keys: Float[Tensor, "batch place hidden"],
        memory: Float[Tensor, "batch place memory"],
        allowed: Bool[Tensor, "batch place"],
    ) -> Float[Tensor, "batch time memory"]:
        """The context of every query."""
        mixed = keys[:, None] + self.query(queries)[:, :, None]
        scores = self.score(mixed.tanh_()).squeeze(-1)
        weights = scores.masked_fill(~allowed[:, None], -torch.inf).softmax(-1)
        record(self, "attention", weights)
        return weights @ memory
