"""Options of the training loss: label smoothing, class weights, max-norm constraint."""

from dataclasses import dataclass
from typing import Any, cast

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.utils.parametrize import is_parametrized, register_parametrization

from ...errors import ModelError
from ...signature import Labels, Space


@dataclass(frozen=True, kw_only=True)
class LossOptions:
    """Options of the training loss and of the output layer's weights.

    Args:
        label_smoothing: Label smoothing (Szegedy et al., 2016): the fraction of each target's
            probability that is spread over all classes in training; reported losses are without it.
        balance: Class weights against imbalance: each class weighs n^-balance for its n examples; 0
            disables it, with 1 all classes have the same total weight.
        max_norm: Max-norm constraint on the output weights of each label, as 3 (Kim, 2014); 0
            disables it.
    """

    label_smoothing: float = 0.0
    balance: float = 0.0
    max_norm: float = 0.0

    def __post_init__(self) -> None:
        if not 0 <= self.label_smoothing < 1:
            raise ModelError(
                "M324", f"label_smoothing must be in [0, 1) (got {self.label_smoothing:g})"
            )
        if not 0 <= self.balance <= 1:
            raise ModelError("M324", f"balance must be in [0, 1] (got {self.balance:g})")
        if self.max_norm < 0:
            raise ModelError(
                "M324", f"max_norm must not be negative (got {self.max_norm:g}); 0 disables it"
            )

    def class_weights(self, space: Space) -> Float[Tensor, " classes"] | None:
        """Class weights; their mean over all examples is 1.

        w_c ∝ n_c^{-β}          n_c examples of the label c;  β = balance
        """
        if not self.balance:
            return None
        if not isinstance(space, Labels) or not space.counts:
            raise ModelError(
                "M325",
                f"balance = {self.balance:g} needs the frequency of each label, which is not known",
                help=["leave balance out: it is for single labels of a file"],
            )
        counts = torch.tensor(space.counts, dtype=torch.float64).clamp(min=1)
        weights = counts**-self.balance
        return (weights * counts.sum() / (counts * weights).sum()).float()


class MaxNorm(nn.Module):
    """Max-norm constraint on the rows of a matrix: w min(1, c / ‖w‖) (Kim, 2014)."""

    def __init__(self, limit: float) -> None:
        super().__init__()
        self.limit = limit

    def forward(self, weight: Float[Tensor, "rows width"]) -> Float[Tensor, "rows width"]:
        norm = weight.norm(dim=1, keepdim=True).clamp(min=torch.finfo(weight.dtype).tiny)
        return weight * (self.limit / norm).clamp(max=1)


def unconstrained_weight(scores: nn.Linear) -> Tensor:
    """The weights that the optimizer updates, before a max-norm constraint."""
    if not is_parametrized(scores):
        return scores.weight
    return cast(Any, scores.parametrizations).weight.original


def constrain_rows(scores: nn.Linear, loss_options: LossOptions) -> nn.Linear:
    """The layer, with the max-norm constraint if there is one."""
    if loss_options.max_norm:
        register_parametrization(scores, "weight", MaxNorm(loss_options.max_norm))
    return scores


DEFAULT_LOSS_OPTIONS = LossOptions()
