"""From what an encoder read to the state a decoder starts with."""

from collections.abc import Callable
from typing import Literal, NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from .cells import State

BridgeName = Literal["ends", "last", "mean", "learned", "zero"]


class Read(NamedTuple):
    """What an encoder made of a source."""

    memory: Float[Tensor, "batch place hidden"]
    ends: Float[Tensor, "batch hidden"]
    real: Bool[Tensor, "batch place"]
    lengths: Int[Tensor, " batch"]


SUMMARIES: dict[str, Callable[[Read], Tensor]] = {
    "ends": lambda read: read.ends,
    "last": lambda read: read.memory[torch.arange(len(read.memory)), read.lengths - 1],
    "mean": lambda read: (read.memory * read.real[..., None]).sum(1) / read.lengths[:, None],
}


def summary(kind: str, read: Read) -> Float[Tensor, "batch hidden"]:
    """One vector v for a source.

    ends   v = [m⃗_S; m⃖_1]: where reading ended, from the left and from the right
    last   v = m_S: what is remembered at the last place
    mean   v = Σ_s m_s / S
    """
    return SUMMARIES[kind](read)


class Bridge(nn.Module):
    """The first state of every cell of a decoder: tanh(B v + b), v being the source's vector."""

    def __init__(self, hidden: int, parts: int) -> None:
        super().__init__()
        self.parts = parts
        self.give = nn.Linear(hidden, hidden * parts)

    def forward(self, vector: Float[Tensor, "batch hidden"]) -> State:
        return self.give(vector).tanh().chunk(self.parts, dim=-1)


class Start(nn.Module):
    """A first state that does not depend on the source: learned, or zero."""

    def __init__(self, hidden: int, parts: int, learned: bool) -> None:
        super().__init__()
        self.hidden, self.parts = hidden, parts
        self.first = nn.Parameter(torch.zeros(parts, hidden)) if learned else None

    def forward(self, vector: Float[Tensor, "batch hidden"]) -> State:
        first = vector.new_zeros(self.parts, self.hidden) if self.first is None else self.first
        return tuple(part.expand(len(vector), -1) for part in first)


def bridge(kind: BridgeName, hidden: int, parts: int) -> Bridge | Start:
    """What hands over, by its name."""
    return Bridge(hidden, parts) if kind in SUMMARIES else Start(hidden, parts, kind == "learned")
