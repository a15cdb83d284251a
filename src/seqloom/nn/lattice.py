"""The lattice for gradients: sums over all paths of a batch in torch, and their compiled twin.

The equations are those of `seqloom/lattice/readable.py`; every state has a column of its own.
What cannot be has the score -inf, and no gradient.
"""

from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from ..lattice import quick
from ..lattice.states import Lattice, Places

Scores = Float[Tensor, "batch time labels"]
Lengths = Int[np.ndarray, " batch"]


def add(scores: Float[Tensor, "*any"], dim: int) -> Float[Tensor, "*rest"]:
    """log Σ exp; where all is -inf the sum is, too, and the gradient is 0 and not NaN."""
    top = scores.detach().amax(dim, keepdim=True)
    top = torch.where(top == -torch.inf, 0.0, top)
    total = (scores - top).exp().sum(dim)
    is_some = total > 0
    found = torch.where(is_some, total, 1.0).log() + top.squeeze(dim)
    return torch.where(is_some, found, -torch.inf)


def forward(
    scores: Scores, first: Float[Tensor, " labels"], moves: Float[Tensor, "labels labels"]
) -> Scores:
    """a_t(i): all ways to come to each label at each place, its own score being one part."""
    sums = [first + scores[:, 0]]
    for here in scores.unbind(1)[1:]:
        sums.append(add(sums[-1][..., None] + moves, dim=-2) + here)
    return torch.stack(sums, dim=1)


def backward(
    scores: Scores,
    moves: Float[Tensor, "labels labels"],
    last: Float[Tensor, " labels"],
    lengths: Lengths,
) -> Scores:
    """b_t(i): all ways to go on from each label at each place; `last` at and beyond the last."""
    sums, ends = [last.expand(len(scores), -1)], torch.from_numpy(lengths)
    for t in range(scores.shape[1] - 1, 0, -1):
        going = add(moves + (scores[:, t] + sums[-1])[:, None], dim=-1)
        sums.append(torch.where((ends > t)[:, None], going, last))
    return torch.stack(sums[::-1], dim=1)


def totals(
    scores: Scores,
    first: Float[Tensor, " labels"],
    moves: Float[Tensor, "labels labels"],
    last: Float[Tensor, " labels"],
    lengths: Lengths,
) -> Float[Tensor, " batch"]:
    """Z of each sequence: all paths together; 0 of one that has no places."""
    after = backward(scores, moves, last, lengths)
    found = add(first + scores[:, 0] + after[:, 0], dim=-1)
    return torch.where(torch.from_numpy(lengths) > 0, found, 0.0)


class QuickTotals(torch.autograd.Function):
    """The twin of `totals`: compiled, sequence by sequence, in double precision.

    ∂Z / ∂e_t(i) = p(y_t = i), ∂Z / ∂moves(i, j) = how often the move is made, on average: so the
    gradient is the chances, which come from the backward sums.
    """

    @staticmethod
    def forward(
        context: Any, scores: Tensor, first: Tensor, moves: Tensor, last: Tensor, lengths: Lengths
    ) -> Tensor:
        context.save_for_backward(scores, first, moves, last)
        context.lengths = lengths
        found = quick.totals(lattice_of(first, moves, last), places_of(scores, lengths))
        return torch.from_numpy(found).to(scores.dtype)

    @staticmethod
    def backward(context: Any, *gradients: Any) -> Any:
        scores, first, moves, last = context.saved_tensors
        (weights,) = gradients
        places = places_of(scores, context.lengths)
        found = quick.posteriors(lattice_of(first, moves, last), places, weights.double().numpy())
        each = np.repeat(weights.double().numpy(), context.lengths)
        of_scores = torch.zeros_like(scores)
        mask = np.arange(scores.shape[1]) < context.lengths[:, None]
        chances = torch.from_numpy(found.chances * each[:, None])
        of_scores[torch.from_numpy(mask)] = chances.to(scores.dtype)
        sums = (found.first, found.moves, found.last)
        return of_scores, *(torch.from_numpy(part).to(scores.dtype) for part in sums), None


def lattice_of(first: Tensor, moves: Tensor, last: Tensor) -> Lattice:
    """The same in NumPy."""
    return Lattice.of(*(part.detach().double().numpy() for part in (first, moves, last)))


def places_of(scores: Tensor, lengths: Lengths) -> Places:
    """Scores of real places, in NumPy."""
    return Places.of(scores.detach().double().numpy(), lengths)
