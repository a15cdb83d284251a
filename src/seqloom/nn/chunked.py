"""The loss of a large output layer, in chunks, so that memory stays flat."""

from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.autograd import Function
from torch.autograd.function import once_differentiable

NUMBERS_AT_ONCE = 1 << 20  # scores held in memory at one time: a few MiB stay near the processor


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


class _Chunked(Function):
    """Goes back while it goes forward; the way back only scales what was found."""

    @staticmethod
    def forward(
        ctx: Any, states: Tensor, weight: Tensor, bias: Tensor, right: Tensor, smoothing: float
    ) -> Tensor:
        wanted = any(ctx.needs_input_grad[:3])
        grads = tuple(map(torch.zeros_like, (states, weight, bias))) if wanted else ()
        total, count = states.new_zeros(()), rows_at_once(len(weight))
        for start in range(0, len(states), count):
            piece = slice(start, start + count)
            scores = torch.addmm(bias, states[piece], weight.t())
            total += _loss(scores, right[piece], smoothing)
            if wanted:
                _add_gradients(grads, piece, scores, states, weight)
        scale = 1 / max(1, len(states))
        ctx.save_for_backward(*(grad.mul_(scale) for grad in grads))
        return total * scale

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        found = tuple(grad * part for part in ctx.saved_tensors)
        return (*found, None, None)


def _loss(scores: Tensor, right: Tensor, smoothing: float) -> Tensor:
    """The chunk's loss; the scores become its gradient, in place."""
    rows = torch.arange(len(scores))
    scores -= scores.max(1, keepdim=True).values
    chosen = scores[rows, right]
    mean = scores.mean(1) if smoothing else scores.new_zeros(())
    sums = scores.exp_().sum(1)
    loss = sums.log() - (1 - smoothing) * chosen - smoothing * mean
    scores /= sums[:, None]
    scores[rows, right] -= 1 - smoothing
    if smoothing:
        scores -= smoothing / scores.shape[1]
    return loss.sum()


def _add_gradients(
    grads: tuple[Tensor, ...], piece: slice, of_scores: Tensor, states: Tensor, weight: Tensor
) -> None:
    of_states, of_weight, of_bias = grads
    torch.mm(of_scores, weight, out=of_states[piece])
    of_weight.addmm_(of_scores.t(), states[piece])
    of_bias += of_scores.sum(0)
