"""The parts of a decoder at work: what it knows, what a step changes, what it has written."""

from collections.abc import Callable
from typing import NamedTuple

from jaxtyping import Float, Int
from torch import Tensor

from .attentions import Seen, Weights
from .cells import State
from .walk import Walk

Advance = Callable[[list[Tensor], State], tuple[Tensor, State]]
Drop = Callable[[Tensor], Tensor]


class Source(NamedTuple):
    """What is known of the sources, a row for each: no step changes it."""

    seen: Seen
    vector: Float[Tensor, "batch hidden"] | None  # read at every step
    symbols: Int[Tensor, "batch place"] | None  # to copy from


class Moving(NamedTuple):
    """What a step changes, a row for each candidate."""

    weights: Float[Tensor, "rows place"] | None  # where it looked last, if that matters
    fed: Float[Tensor, "rows outputs"] | None  # the last attentional state, with input feeding
    cells: State


class Drops(NamedTuple):
    """What drops numbers of decoder states, and of attentional states."""

    state: Drop
    joined: Drop


class Written(NamedTuple):
    """The attentional states at every place of the target, and where each looked."""

    states: Float[Tensor, "batch time outputs"]
    weights: Weights | None


def along(
    vector: Float[Tensor, "batch hidden"], like: Float[Tensor, "batch time _"]
) -> Float[Tensor, "batch time hidden"]:
    """The same vector at every place."""
    return vector[:, None].expand(-1, like.shape[1], -1)


def fixed(mask: Tensor | None) -> Drop:
    """What drops the same numbers at every step."""
    return lambda x: x if mask is None else x * mask


def on_foot(walk: Walk, a: Float[Tensor, "batch products"]) -> Advance:
    """A step of a walk, from the products of what was known beforehand."""
    return lambda fed, cells: walk.step(a, fed, cells)
