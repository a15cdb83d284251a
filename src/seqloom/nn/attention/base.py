"""Attention over encoder outputs: the base class, and attention with a single head."""

from abc import ABC, abstractmethod
from typing import ClassVar, NamedTuple

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from ...trace import intervened, record
from .options import AttentionOptions

Queries = Float[Tensor, "batch time query"]
Scores = Float[Tensor, "batch time position"]
Weights = Float[Tensor, "batch *heads time position"]


class KeyValues(NamedTuple):
    """Keys and values of the source sequences, one row for each source.

    `keys` is the part of the scores that does not depend on the query, computed once per source.
    """

    values: Float[Tensor, "batch position value"]  # the encoder outputs
    keys: Float[Tensor, "batch position key"]
    mask: Bool[Tensor, "batch position"]  # true at real positions, false at padding


class AttentionOutput(NamedTuple):
    """The context vectors, and the attention weights they were computed with."""

    context: Float[Tensor, "batch time value"]
    weights: Weights | None  # None where a fused kernel ran, which does not return them


class Attention(nn.Module, ABC):
    """Attention of decoder states (queries) over encoder outputs (keys and values).

    The queries of a row are the time steps of one target or, at a single step, the beam search
    candidates of one source: all of them attend to the same source.
    """

    own_options: ClassVar[frozenset[str]] = frozenset()  # options that only some kinds have
    needs_previous_weights: ClassVar[bool] = False  # whether a step needs the weights before it

    @classmethod
    @abstractmethod
    def from_options(
        cls, value_size: int, query_size: int, attention_options: AttentionOptions
    ) -> "Attention":
        """An attention layer for encoder outputs and queries of these sizes."""

    def keys(
        self, encoder_outputs: Float[Tensor, "batch position value"]
    ) -> Float[Tensor, "batch position key"]:
        """The keys: the part of the scores that is the same for all queries."""
        return encoder_outputs

    @abstractmethod
    def forward(
        self,
        queries: Queries,
        source: KeyValues,
        previous_weights: Scores | None = None,
        need_weights: bool = True,
    ) -> AttentionOutput:
        """The context vector of every query; the weights too, if `need_weights`.

        `previous_weights` are those of the step before, where the queries are candidates for a
        single step. Without them the queries are all steps of a target.
        """

    def record_weights(self, weights: Weights | None) -> None:
        """Record weights for `watch`. Only the caller has the weights of all steps together."""
        if weights is not None:
            record(self, "attention", weights)


class SingleHeadAttention(Attention):
    """Attention with one head; subclasses differ in their score function.

    e_ts = score(h_t, m_s)        of source position s for query t
    α_t  = softmax(e_t)           over real positions only
    c_t  = Σ_s α_ts m_s           context vector
    """

    @abstractmethod
    def scores(self, queries: Queries, source: KeyValues) -> Scores:
        """e for every query and source position."""

    def forward(
        self,
        queries: Queries,
        source: KeyValues,
        previous_weights: Scores | None = None,
        need_weights: bool = True,
    ) -> AttentionOutput:
        weights = masked_softmax(self.scores(queries, source), source.mask)
        context = intervened(self, "attention", weights) @ source.values
        return AttentionOutput(context, weights)


def masked_softmax(scores: Scores, mask: Bool[Tensor, "batch position"]) -> Scores:
    """softmax(e) over the real positions; 0 at padding."""
    return scores.masked_fill(~mask[:, None], -torch.inf).softmax(-1)


def mean_over_heads(weights: Weights) -> Scores:
    """Attention weights averaged over the heads, if there are several."""
    return weights.mean(1) if weights.dim() > 3 else weights
