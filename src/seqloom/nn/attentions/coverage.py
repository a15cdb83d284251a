"""What it costs to look at the same place again."""

import torch
from jaxtyping import Float
from torch import Tensor

from ...batch import Sequences
from .attention import Weights, shares


def coverage(weights: Weights, target: Sequences) -> Float[Tensor, ""]:
    """The coverage loss of See et al. (2017), for each real target symbol.

    k_ts = Σ_{t' < t} α_t's                 how much was looked at place s before step t
    L_t  = Σ_s min(α_ts, k_ts)              only what overlaps costs
    """
    alpha = shares(weights)
    before = alpha.cumsum(1) - alpha
    again = torch.minimum(alpha, before).sum(-1)
    return (again * torch.from_numpy(target.mask)).sum() / int(target.lengths.sum())
