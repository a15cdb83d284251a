"""What attention is: a weighted look at a memory."""

from abc import ABC, abstractmethod
from typing import ClassVar, NamedTuple

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from ...trace import changed, record
from .options import Attending

Queries = Float[Tensor, "batch time query"]
Scores = Float[Tensor, "batch time place"]
Weights = Float[Tensor, "batch *heads time place"]


class Seen(NamedTuple):
    """What can be looked at: one row for each source."""

    memory: Float[Tensor, "batch place memory"]
    keys: Float[Tensor, "batch place key"]  # what of the scores does not depend on the query
    real: Bool[Tensor, "batch place"]


class Found(NamedTuple):
    """What a look found, and how much it looked at each place."""

    context: Float[Tensor, "batch time memory"]
    weights: Weights | None  # None where nobody asked and a fused kernel did not tell


class Attention(nn.Module, ABC):
    """A weighted look at a memory.

    Queries are the places of one target, or at a single step the candidates for it: all of a row
    look at the same source.
    """

    takes: ClassVar[frozenset[str]] = frozenset()  # options that only some kinds have
    follows: ClassVar[bool] = False  # whether a step needs to know where the one before looked

    @classmethod
    @abstractmethod
    def made(cls, memory: int, query: int, attending: Attending) -> "Attention":
        """Of these widths and options."""

    def keys(self, memory: Float[Tensor, "batch place memory"]) -> Float[Tensor, "batch place key"]:
        """What of the scores is the same for all queries, computed once."""
        return memory

    @abstractmethod
    def forward(
        self, queries: Queries, seen: Seen, before: Scores | None = None, weighed: bool = True
    ) -> Found:
        """The context of every query, and the weights, which must be there where `weighed`.

        `before` are the weights of the step before, where queries are candidates for one; without
        them the queries are all steps of a target.
        """

    def show(self, weights: Weights | None) -> None:
        """Record weights for whoever watches; the caller has those of all steps."""
        if weights is not None:
            record(self, "attention", weights)


class Scored(Attention):
    """One look for each query; kinds differ in how they score.

    e_ts = score(h_t, m_s)        of memory place s for query t
    α_t  = softmax(e_t)           over the real places only
    c_t  = Σ_s α_ts m_s           context
    """

    @abstractmethod
    def scores(self, queries: Queries, seen: Seen) -> Scores:
        """e for every query and place."""

    def forward(
        self, queries: Queries, seen: Seen, before: Scores | None = None, weighed: bool = True
    ) -> Found:
        weights = over_real(self.scores(queries, seen), seen.real)
        return Found(changed(self, "attention", weights) @ seen.memory, weights)


def over_real(scores: Scores, real: Bool[Tensor, "batch place"]) -> Scores:
    """softmax(e) over the real places; 0 elsewhere."""
    return scores.masked_fill(~real[:, None], -torch.inf).softmax(-1)


def shares(weights: Weights) -> Scores:
    """How much each query looked at each place: with several heads, their mean."""
    return weights.mean(1) if weights.dim() > 3 else weights
