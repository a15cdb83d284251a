"""From a state for each position to one for the whole sequence."""

from collections.abc import Callable
from typing import Literal, Protocol, runtime_checkable

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from ..trace import record

PoolingName = Literal["mean", "max", "last", "ends", "attentive"]


@runtime_checkable
class Body(Protocol):
    """Anything from vectors to vectors over time."""

    def __call__(
        self, x: Float[Tensor, "batch time width"], lengths: Int[Tensor, " batch"]
    ) -> Float[Tensor, "batch time hidden"]: ...


@runtime_checkable
class Ended(Protocol):
    """A body that knows where its reading ended: to the right, and to the left where it has two."""

    def read(
        self, x: Float[Tensor, "batch time width"], lengths: Int[Tensor, " batch"]
    ) -> tuple[Float[Tensor, "batch time hidden"], Float[Tensor, "batch hidden"]]: ...


@runtime_checkable
class Parted(Protocol):
    """A body that shortens what it reads, or reads it several times side by side."""

    def parts(
        self, x: Float[Tensor, "batch time width"], lengths: Int[Tensor, " batch"]
    ) -> list[tuple[Float[Tensor, "batch _ _"], Int[Tensor, " batch"]]]: ...


class Summary(nn.Module):
    """A learned mean: weights α = softmax(v · tanh(W h + b)) over the real places."""

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
        """How much each place counts; 0 beyond the real ones."""
        scores = self.score(torch.tanh(self.hide(states))).squeeze(-1)
        return scores.masked_fill(~real, -torch.inf).softmax(-1)


class Pooling(nn.Module):
    """One state for a whole sequence.

    mean, max   over all real places
    last        at the last real place
    ends        the last state of each direction, joined: h⃗ at the end, h⃖ at the beginning
    attentive   a learned mean
    """

    def __init__(self, kind: PoolingName, hidden: int) -> None:
        super().__init__()
        self.kind = kind
        self.attention = Summary(hidden) if kind == "attentive" else None

    def forward(
        self, body: Body, x: Float[Tensor, "batch time width"], lengths: Int[Tensor, " batch"]
    ) -> Float[Tensor, "batch hidden"]:
        if self.kind == "ends" and isinstance(body, Ended):
            return body.read(x, lengths)[1]
        found = (
            body.parts(x, lengths) if isinstance(body, Parted) else [(body(x, lengths), lengths)]
        )
        pooled = [self._pooled(states, lengths) for states, lengths in found]
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
    "ends": _last,  # a body that reads one way only ends at the last place
}
