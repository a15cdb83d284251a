"""Cross-entropy over a large vocabulary in chunks, so that the logits need little memory."""

from itertools import pairwise
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.autograd import Function
from torch.autograd.function import once_differentiable
from torch.nn.functional import cross_entropy

MAX_CHUNK_SIZE = 1 << 23  # logits in memory at a time, 32 MiB; smaller products are slower


def chunked_cross_entropy(
    states: Float[Tensor, "rows width"],
    weight: Float[Tensor, "size width"],
    bias: Float[Tensor, " size"],
    right: Int[Tensor, " rows"],
    smoothing: float = 0.0,
) -> Float[Tensor, ""]:
    """Mean cross-entropy of softmax(W h + b) with label smoothing ε, in chunks of rows.

    x = W h + b
    L = log Σ exp x - (1 - ε) x_right - ε mean x
    ∂L/∂x = softmax x - (1 - ε) 1_right - ε / n

    The gradient of a chunk's logits is known as soon as they are, so it is multiplied into those of
    states, weights and biases at once, and the logits are discarded: the plain loss keeps the
    logits of all rows, twice, until the backward pass.
    """
    loss: Tensor = _Chunked.apply(states, weight, bias, right, smoothing)
    return loss


def rows_at_once(size: int) -> int:
    """Number of rows in a chunk, each with so many logits."""
    return max(32, MAX_CHUNK_SIZE // size)


def chunks(rows: int, size: int) -> list[slice]:
    """The rows in chunks of about the same size."""
    count = max(1, -(-rows // rows_at_once(size)))
    cuts = [rows * number // count for number in range(count + 1)]
    return [slice(*pair) for pair in pairwise(cuts)]


class _Chunked(Function):
    """Computes the gradients in the forward pass; the backward pass only scales them."""

    @staticmethod
    def forward(
        ctx: Any, states: Tensor, weight: Tensor, bias: Tensor, right: Tensor, smoothing: float
    ) -> Tensor:
        needs_grad = any(ctx.needs_input_grad[:3])
        grads = tuple(map(torch.empty_like, (states, weight, bias))) if needs_grad else ()
        total, scale = states.new_zeros(()), 1 / max(1, len(states))
        cuts = chunks(len(states), len(weight))
        largest = max(chunk.stop - chunk.start for chunk in cuts)
        # One buffer for the logits of all chunks: mapping fresh memory costs as much as filling it.
        buffer = states.new_empty(largest, len(weight))
        for chunk in cuts:
            h = states[chunk]
            logits = torch.addmm(bias, h, weight.t(), out=buffer[: len(h)])
            losses, d_logits, underflown = _losses(logits, right[chunk], smoothing)
            if len(underflown):
                again = torch.addmm(bias, h[underflown], weight.t())
                losses[underflown] = cross_entropy(
                    again, right[chunk][underflown], reduction="none", label_smoothing=smoothing
                )
            total += losses.sum() * scale
            if needs_grad:
                d_states, d_weight, d_bias = grads
                more = float(chunk.start > 0)  # beta = 0: the first chunk overwrites what is there
                d_states[chunk].addmm_(d_logits, weight, beta=0, alpha=scale)
                d_weight.addmm_(d_logits.t(), h, beta=more, alpha=scale)
                d_bias.addmv_(d_logits.t(), d_logits.new_ones(len(h)), beta=more, alpha=scale)
        ctx.save_for_backward(*grads)
        return total

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        grads = ctx.saved_tensors
        if grad != 1:  # it is 1 where this is the whole loss: no pass over the weights then
            grads = tuple(grad * part for part in grads)
        return (*grads, None, None)


def _losses(logits: Tensor, right: Tensor, smoothing: float) -> tuple[Tensor, Tensor, Tensor]:
    """The loss of each row, and the gradient of its logits, which overwrites them.

    log Σ exp x = x_right - log softmax(x)_right needs no further pass over the logits. Where the
    probability of the right token underflows its log is -inf: these few rows are returned, and
    their loss is computed again by log-sum-exp.
    """
    rows = torch.arange(len(logits))
    chosen = logits[rows, right]
    mean = logits.mean(1) if smoothing else None
    probabilities = torch.softmax(logits, 1, out=logits)
    probability = probabilities[rows, right]
    losses = smoothing * chosen - probability.log()
    if mean is not None:
        losses -= smoothing * mean
    probabilities[rows, right] -= 1 - smoothing
    if smoothing:
        probabilities -= smoothing / logits.shape[1]
    underflown = (probability < torch.finfo(probability.dtype).tiny).nonzero()[:, 0]
    return losses, probabilities, underflown
