"""Location-based attention: location-aware and local attention, and the coverage loss."""

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.functional import pad

from ...batch import Sequences
from ...trace import intervened
from .base import (
    AttentionOutput,
    KeyValues,
    Queries,
    Scores,
    Weights,
    masked_softmax,
    mean_over_heads,
)
from .options import AttentionOptions
from .scores import AdditiveAttention, GeneralAttention


def coverage_loss(weights: Weights, target: Sequences) -> Float[Tensor, ""]:
    """The coverage loss (See et al., 2017), per real target token.

    k_ts = Σ_{t' < t} α_t's                 coverage: attention on position s before step t
    L_t  = Σ_s min(α_ts, k_ts)              only repeated attention is penalised
    """
    alpha = mean_over_heads(weights)
    coverage = alpha.cumsum(1) - alpha  # exclusive cumulative sum: the steps before t
    overlap = torch.minimum(alpha, coverage).sum(-1)
    return (overlap * torch.from_numpy(target.mask)).sum() / int(target.lengths.sum())


class LocalAttention(GeneralAttention):
    """Local attention with predictive alignment (local-p of Luong et al., 2015).

    p_t  = (S - 1) σ(v · tanh(P h_t))                expected position; the first of S is 0
    e_ts = h_t · W m_s - (s - p_t)² / 2 (D/2)²       where |s - p_t| ≤ D; no weight elsewhere
    α_t  = softmax(e_t)

    The Gaussian of the paper stands inside the softmax, so that the weights sum to one: they are
    proportional to exp(h_t · W m_s) times the Gaussian.
    """

    own_options = frozenset({"attention_window"})

    def __init__(self, value_size: int, query_size: int, window: int) -> None:
        super().__init__(value_size, query_size)
        self.window = window
        self.hide = nn.Linear(query_size, query_size, bias=False)
        self.place = nn.Linear(query_size, 1, bias=False)

    @classmethod
    def from_options(
        cls, value_size: int, query_size: int, attention_options: AttentionOptions
    ) -> "LocalAttention":
        return cls(value_size, query_size, attention_options.attention_window)

    def scores(self, queries: Queries, source: KeyValues) -> Scores:
        last = source.mask.sum(1) - 1
        expected = last[:, None, None] * self.place(self.hide(queries).tanh()).sigmoid()
        distance = torch.arange(source.mask.shape[1]) - expected
        # (s - p)² / 2 (D/2)² = 2 ((s - p) / D)²
        scores = super().scores(queries, source) - 2 * (distance / self.window).square()
        return scores.masked_fill(distance.abs() > self.window, -torch.inf)


CHANNELS = 10  # convolution filters over the previous weights, as in the paper


class LocationAttention(AdditiveAttention):
    """Location-aware attention (Chorowski et al., 2015): additive, with the previous weights.

    f_ts = Σ_i F_i α_{t-1,s+i}                     i = -w … w, ten filters
    e_ts = v · tanh(W₁ m_s + W₂ h_t + U f_ts)

    Before the first step α_0 = 0.
    """

    own_options = frozenset({"attention_width", "attention_window"})
    needs_previous_weights = True

    def __init__(self, value_size: int, query_size: int, hidden_size: int, window: int) -> None:
        super().__init__(value_size, query_size, hidden_size)
        self.window = window
        self.around = nn.Linear(2 * window + 1, CHANNELS, bias=False)
        self.located = nn.Linear(CHANNELS, hidden_size, bias=False)

    @classmethod
    def from_options(
        cls, value_size: int, query_size: int, attention_options: AttentionOptions
    ) -> "LocationAttention":
        options = attention_options
        return cls(value_size, query_size, options.attention_width, options.attention_window)

    def forward(
        self,
        queries: Queries,
        source: KeyValues,
        previous_weights: Scores | None = None,
        need_weights: bool = True,
    ) -> AttentionOutput:
        """Without `previous_weights` the queries are the steps of a target, one after another."""
        projected = self.query(queries)[:, :, None]
        if previous_weights is not None:
            weights = self._weights(projected, source, previous_weights)
            return AttentionOutput(intervened(self, "attention", weights) @ source.values, weights)
        # Each step reads the weights of the one before it: a loop cannot be avoided.
        current, steps = queries.new_zeros(len(queries), 1, source.keys.shape[1]), []
        for query in projected.split(1, dim=1):
            current = self._weights(query, source, current)
            steps.append(current)
        weights = torch.cat(steps, dim=1)
        return AttentionOutput(intervened(self, "attention", weights) @ source.values, weights)

    def _weights(self, projected: Tensor, source: KeyValues, previous: Scores) -> Scores:
        """α of one step, `projected` being W₂ h."""
        # Sliding windows of the padded weights times a matrix: a convolution over positions.
        windows = pad(previous, (self.window, self.window)).unfold(-1, 2 * self.window + 1, 1)
        mixed = self.located(self.around(windows)) + (source.keys[:, None] + projected)
        scores = self.score(mixed.tanh_()).squeeze(-1)
        return masked_softmax(scores, source.mask)
