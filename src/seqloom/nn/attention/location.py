"""Attention that knows where it has just looked.

What it costs to look at the same place again.

Attention to a window around an expected place.
"""

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.functional import pad

from ...batch import Sequences
from ...trace import changed
from .base import Found, Queries, Scores, Seen, Weights, over_real, shares
from .options import Attending
from .scores import Additive, General


def coverage(weights: Weights, target: Sequences) -> Float[Tensor, ""]:
    """The coverage loss of See et al. (2017), for each real target symbol.

    k_ts = Σ_{t' < t} α_t's                 how much was looked at place s before step t
    L_t  = Σ_s min(α_ts, k_ts)              only what overlaps costs
    """
    alpha = shares(weights)
    before = alpha.cumsum(1) - alpha
    again = torch.minimum(alpha, before).sum(-1)
    return (again * torch.from_numpy(target.mask)).sum() / int(target.lengths.sum())


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


CHANNELS = 10  # as in the paper


class Location(Additive):
    """Additive attention that sees its weights of the step before (Chorowski et al., 2015).

    f_ts = Σ_i F_i α_{t-1,s+i}                     i = -w … w, ten numbers for each place
    e_ts = v · tanh(W₁ m_s + W₂ h_t + U f_ts)

    Before the first step it has looked nowhere: α_0 = 0.
    """

    takes = frozenset({"attention_width", "attention_window"})
    follows = True

    def __init__(self, memory: int, query: int, hidden: int, window: int) -> None:
        super().__init__(memory, query, hidden)
        self.window = window
        self.around = nn.Linear(2 * window + 1, CHANNELS, bias=False)
        self.located = nn.Linear(CHANNELS, hidden, bias=False)

    @classmethod
    def made(cls, memory: int, query: int, attending: Attending) -> "Location":
        return cls(memory, query, attending.attention_width, attending.attention_window)

    def forward(
        self, queries: Queries, seen: Seen, before: Scores | None = None, weighed: bool = True
    ) -> Found:
        """Without `before` the queries are the steps of a target, one after the other."""
        asked = self.query(queries)[:, :, None]
        if before is not None:
            weights = self._weights(asked, seen, before)
            return Found(changed(self, "attention", weights) @ seen.memory, weights)
        now, found = queries.new_zeros(len(queries), 1, seen.keys.shape[1]), []
        for one in asked.split(1, dim=1):
            now = self._weights(one, seen, now)
            found.append(now)
        weights = torch.cat(found, dim=1)
        return Found(changed(self, "attention", weights) @ seen.memory, weights)

    def _weights(self, asked: Tensor, seen: Seen, before: Scores) -> Scores:
        """α of one step, `asked` being W₂ h."""
        near = pad(before, (self.window, self.window)).unfold(-1, 2 * self.window + 1, 1)
        mixed = self.located(self.around(near)) + (seen.keys[:, None] + asked)
        scores = self.score(mixed.tanh_()).squeeze(-1)
        return over_real(scores, seen.real)
