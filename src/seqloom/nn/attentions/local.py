"""Attention to a window around an expected place."""

import torch
from torch import nn

from .attending import Attending
from .attention import Queries, Scores, Seen
from .scores import General


class Local(General):
    """A window around a place that the state expects (local-p of Luong et al., 2015).

    p_t  = (S - 1) σ(v · tanh(P h_t))                the first of S places is 0
    e_ts = h_t · W m_s - (s - p_t)² / 2 (D/2)²       where |s - p_t| ≤ D; no weight elsewhere
    α_t  = softmax(e_t)

    The Gaussian of the paper stands inside the softmax: the weights are its product with the
    others, and sum to one.
    """

    takes = frozenset({"attention_window"})

    def __init__(self, memory: int, query: int, window: int) -> None:
        super().__init__(memory, query)
        self.window = window
        self.hide = nn.Linear(query, query, bias=False)
        self.place = nn.Linear(query, 1, bias=False)

    @classmethod
    def made(cls, memory: int, query: int, attending: Attending) -> "Local":
        return cls(memory, query, attending.attention_window)

    def scores(self, queries: Queries, seen: Seen) -> Scores:
        last = seen.real.sum(1) - 1
        expected = last[:, None, None] * self.place(self.hide(queries).tanh()).sigmoid()
        distance = torch.arange(seen.real.shape[1]) - expected
        near = super().scores(queries, seen) - 2 * (distance / self.window).square()
        return near.masked_fill(distance.abs() > self.window, -torch.inf)
