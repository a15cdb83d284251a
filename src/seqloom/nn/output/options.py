"""What descent aims at beside the right answer: the options that all who give labels share."""

from dataclasses import dataclass
from typing import Any, cast

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.utils.parametrize import is_parametrized, register_parametrization

from ...errors import ModelError
from ...signature import Labels, Space


@dataclass(frozen=True, kw_only=True)
class Aims:
    """What descent aims at beside the right answer.

    Args:
        smoothing: How much of each right answer's weight is spread over all answers in training;
            reported figures are always the true ones.
        balance: How far rare labels are made up for in training: 0 leaves them as they are, with 1
            all examples of a label weigh together as much as those of any other.
        max_norm: The longest the weights of a label's score may be, as 3; 0 is no limit.
    """

    smoothing: float = 0.0
    balance: float = 0.0
    max_norm: float = 0.0

    def __post_init__(self) -> None:
        if not 0 <= self.smoothing < 1:
            raise ModelError("M324", "smoothing must be at least 0 and below 1")
        if not 0 <= self.balance <= 1:
            raise ModelError("M324", "balance must be from 0 to 1")
        if self.max_norm < 0:
            raise ModelError("M324", "max_norm must not be negative; 0 is no limit")

    def weights(self, space: Space) -> Float[Tensor, " classes"] | None:
        """How much an example of each label weighs; over all examples the mean is 1.

        w_c ∝ n_c^{-β}          n_c examples of the label c;  β = balance
        """
        if not self.balance:
            return None
        if not isinstance(space, Labels) or not space.counts:
            raise ModelError(
                "M325",
                f"balance = {self.balance:g}: nobody counted how often each answer comes",
                help=["leave balance out: it is for single labels of a file"],
            )
        counts = torch.tensor(space.counts, dtype=torch.float64).clamp(min=1)
        even = counts**-self.balance
        return (even * counts.sum() / (counts * even).sum()).float()


class Limited(nn.Module):
    """Rows no longer than c: w min(1, c / ‖w‖) (Kim, 2014)."""

    def __init__(self, longest: float) -> None:
        super().__init__()
        self.longest = longest

    def forward(self, weight: Float[Tensor, "rows width"]) -> Float[Tensor, "rows width"]:
        length = weight.norm(dim=1, keepdim=True).clamp(min=torch.finfo(weight.dtype).tiny)
        return weight * (self.longest / length).clamp(max=1)


def learned(scores: nn.Linear) -> Tensor:
    """The weights as descent moves them, before any limit."""
    if not is_parametrized(scores):
        return scores.weight
    return cast(Any, scores.parametrizations).weight.original


def limit(scores: nn.Linear, aims: Aims) -> nn.Linear:
    """The layer with its rows limited, where they are to be."""
    if aims.max_norm:
        register_parametrization(scores, "weight", Limited(aims.max_norm))
    return scores


PLAIN_AIMS = Aims()
