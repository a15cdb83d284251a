"""Attention that knows where it has just looked."""

import torch
from torch import Tensor, nn
from torch.nn.functional import pad

from ...trace import changed
from .attending import Attending
from .attention import Found, Queries, Scores, Seen, over_real
from .scores import Additive

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
