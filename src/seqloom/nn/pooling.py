"""Pooling over time: from a state at each position to one vector for the whole sequence."""

from collections.abc import Callable
from typing import Literal, Protocol, runtime_checkable

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from ..trace import record

PoolingName = Literal["mean", "max", "last", "ends", "attentive"]


@runtime_checkable
class Body(Protocol):
    """The body of a model: from a vector at each position to a hidden state at each position."""

    def __call__(
        self, x: Float[Tensor, "batch time width"], lengths: Int[Tensor, " batch"]
    ) -> Float[Tensor, "batch time hidden"]: ...


@runtime_checkable
class HasFinalState(Protocol):
    """A body with final states: of the forward direction, and of the backward one if there is."""

    def encode(
        self, x: Float[Tensor, "batch time width"], lengths: Int[Tensor, " batch"]
    ) -> tuple[Float[Tensor, "batch time hidden"], Float[Tensor, "batch hidden"]]: ...


@runtime_checkable
class MultiBranch(Protocol):
    """A body with several parallel branches, or with fewer outputs than inputs (strides)."""

    def branches(
        self, x: Float[Tensor, "batch time width"], lengths: Int[Tensor, " batch"]
    ) -> list[tuple[Float[Tensor, "batch _ _"], Int[Tensor, " batch"]]]: ...


class AttentionPooling(nn.Module):
    """Attention pooling: Σ_t α_t h_t, α = softmax(v · tanh(W h + b)) over real positions."""

    def __init__(self, hidden: int) -> None:
        super().__init__()
        self.hide, self.score = nn.Linear(hidden, hidden), nn.Linear(hidden, 1, bias=False)

    def forward(
        self, states: Float[Tensor, "batch time hidden"], real: Bool[Tensor, "batch time"]
    ) -> Float[Tensor, "batch hidden"]:
        weights = record(self, "attention", self.weights(states, real)[:, None])
        return (weights @ states).squeeze(1)

    def weights(
        self, states: Float[Tensor, "batch time hidden"], real: Bool[Tensor, "batch time"]
    ) -> Float[Tensor, "batch time"]:
        """α at each position; 0 at padding."""
        scores = self.score(torch.tanh(self.hide(states))).squeeze(-1)
        return scores.masked_fill(~real, -torch.inf).softmax(-1)


class Pooling(nn.Module):
    """Pooling over time: one vector for a whole sequence.

    mean, max   over all real positions
    last        the output at the last real position
    ends        the final state of each direction, concatenated: h⃗ at the end, h⃖ at the beginning
    attentive   attention pooling
    """

    def __init__(self, kind: PoolingName, hidden: int) -> None:
        super().__init__()
        self.kind = kind
        self.attention = AttentionPooling(hidden) if kind == "attentive" else None

    def forward(
        self, body: Body, x: Float[Tensor, "batch time width"], lengths: Int[Tensor, " batch"]
    ) -> Float[Tensor, "batch hidden"]:
        if self.kind == "ends" and isinstance(body, HasFinalState):
            return body.encode(x, lengths)[1]
        if isinstance(body, MultiBranch):
            outputs = body.branches(x, lengths)
        else:
            outputs = [(body(x, lengths), lengths)]
        pooled = [self._pooled(states, lengths) for states, lengths in outputs]
        return pooled[0] if len(pooled) == 1 else torch.cat(pooled, dim=-1)

    def _pooled(self, states: Tensor, lengths: Tensor) -> Tensor:
        real = torch.arange(states.shape[1]) < lengths[:, None]
        if self.attention is not None:
            return self.attention(states, real)
        return _POOLS[self.kind](states, real, lengths)


def _mean(states: Tensor, real: Tensor, lengths: Tensor) -> Tensor:
    return (states * real[..., None]).sum(1) / lengths[:, None]


def _max(states: Tensor, real: Tensor, lengths: Tensor) -> Tensor:
    return states.masked_fill(~real[..., None], -torch.inf).max(1).values


def _last(states: Tensor, real: Tensor, lengths: Tensor) -> Tensor:
    return states[torch.arange(len(states)), lengths - 1]


_POOLS: dict[str, Callable[[Tensor, Tensor, Tensor], Tensor]] = {
    "mean": _mean,
    "max": _max,
    "last": _last,
    "ends": _last,  # of a body with one direction the final state is the last output
}
