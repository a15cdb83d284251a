"""The loss of a large output layer, in chunks, so that memory stays flat."""

from itertools import pairwise
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.autograd import Function
from torch.autograd.function import once_differentiable
from torch.nn.functional import cross_entropy

NUMBERS_AT_ONCE = 1 << 23  # scores held in memory at one time, 32 MiB; products of fewer are slower


def chunked_cross_entropy(
    states: Float[Tensor, "rows width"],
    weight: Float[Tensor, "size width"],
    bias: Float[Tensor, " size"],
    right: Int[Tensor, " rows"],
    smoothing: float = 0.0,
) -> Float[Tensor, ""]:
    """Mean of -log softmax(W h + b) at the right symbols: `cross_entropy` of all scores at once.

    x = W h + b
    L = log Σ exp x - (1 - ε) x_right - ε mean x
    ∂L/∂x = softmax x - (1 - ε) 1_right - ε / n

    The gradient of a chunk's scores is known as soon as they are, so it is multiplied into those of
    states, weights and biases at once, and the scores are thrown away: a plain loss keeps the
    scores of all rows, twice, until it goes back.
    """
    loss: Tensor = _Chunked.apply(states, weight, bias, right, smoothing)
    return loss


def rows_at_once(size: int) -> int:
    """How many rows of so many scores make a chunk."""
    return max(32, NUMBERS_AT_ONCE // size)


def pieces(rows: int, size: int) -> list[slice]:
    """The rows in chunks of about the same size."""
    count = max(1, -(-rows // rows_at_once(size)))
    cuts = [rows * number // count for number in range(count + 1)]
    return [slice(*pair) for pair in pairwise(cuts)]


class _Chunked(Function):
    """Goes back while it goes forward; the way back only scales what was found."""

    @staticmethod
    def forward(
        ctx: Any, states: Tensor, weight: Tensor, bias: Tensor, right: Tensor, smoothing: float
    ) -> Tensor:
        wanted = any(ctx.needs_input_grad[:3])
        grads = tuple(map(torch.empty_like, (states, weight, bias))) if wanted else ()
        total, scale = states.new_zeros(()), 1 / max(1, len(states))
        cuts = pieces(len(states), len(weight))
        largest = max(piece.stop - piece.start for piece in cuts)
        room = states.new_empty(largest, len(weight))  # one for all: fresh memory costs time
        for piece in cuts:
            some = states[piece]
            scores = torch.addmm(bias, some, weight.t(), out=room[: len(some)])
            losses, of_scores, lost = _losses(scores, right[piece], smoothing)
            if len(lost):
                again = torch.addmm(bias, some[lost], weight.t())
                losses[lost] = cross_entropy(
                    again, right[piece][lost], reduction="none", label_smoothing=smoothing
                )
            total += losses.sum() * scale
            if wanted:
                of_states, of_weight, of_bias = grads
                more = float(piece.start > 0)  # the first chunk finds nothing to add to
                of_states[piece].addmm_(of_scores, weight, beta=0, alpha=scale)
                of_weight.addmm_(of_scores.t(), some, beta=more, alpha=scale)
                of_bias.addmv_(of_scores.t(), of_scores.new_ones(len(some)), beta=more, alpha=scale)
        ctx.save_for_backward(*grads)
        return total

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        found = ctx.saved_tensors
        if grad != 1:  # it is 1 where this is the whole loss
            found = tuple(grad * part for part in found)
        return (*found, None, None)


def _losses(scores: Tensor, right: Tensor, smoothing: float) -> tuple[Tensor, Tensor, Tensor]:
    """The loss of each row, and the gradient of its scores, which takes their place.

    log Σ exp x = x_right - log softmax(x)_right, which needs no further pass over the scores; the
    few rows where the right symbol's chance is too small for a float are told, to be done again.
    """
    rows = torch.arange(len(scores))
    chosen = scores[rows, right]
    mean = scores.mean(1) if smoothing else None
    chances = torch.softmax(scores, 1, out=scores)
    chance = chances[rows, right]
    losses = smoothing * chosen - chance.log()
    if mean is not None:
        losses -= smoothing * mean
    chances[rows, right] -= 1 - smoothing
    if smoothing:
        chances -= smoothing / scores.shape[1]
    return losses, chances, (chance < torch.finfo(chance.dtype).tiny).nonzero()[:, 0]
