"""The unroll of the simple recurrent network."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function
from torch.autograd.function import once_differentiable

from .steps import masked, one_minus_square, times_one_minus, weight_gradient

IN_PLACE: dict[str, Callable[[Tensor], Tensor]] = {
    "tanh": torch.tanh_,
    "sigmoid": torch.sigmoid_,
    "relu": torch.relu_,
}
SLOPES: dict[str, Callable[[Tensor], Tensor]] = {  # from the output, not from the input
    "tanh": one_minus_square,
    "sigmoid": times_one_minus,
    "relu": lambda h: (h > 0).to(h.dtype),
}


class ElmanUnroll(Function):
    """h' = φ(a + U (m ⊙ h)) over all steps."""

    @staticmethod
    def forward(
        ctx: Any, a: Tensor, weight: Tensor, first: Tensor, mask: Tensor | None, activation: str
    ) -> Tensor:
        batch, time, hidden = a.shape
        states = a.new_empty(time + 1, batch, hidden)
        states[0] = first
        turned, bend, h = weight.t(), IN_PLACE[activation], states.unbind(0)
        for t, product in enumerate(a.unbind(1)):
            bend(torch.addmm(product, masked(h[t], mask), turned, out=h[t + 1]))
        ctx.save_for_backward(weight, states, mask)
        ctx.activation = activation
        return states[1:].transpose(0, 1)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        weight, states, mask = ctx.saved_tensors
        inner = SLOPES[ctx.activation](states[1:])  # becomes the gradient of a, step by step
        steps, outer = inner.unbind(0), grad.unbind(1)
        dh = torch.zeros_like(states[0])
        for t in reversed(range(len(steps))):
            steps[t].mul_(dh.add_(outer[t]))
            torch.mm(steps[t], weight, out=dh)
            if mask is not None:
                dh.mul_(mask)
        d_weight = weight_gradient(inner, masked(states[:-1], mask))
        return inner.transpose(0, 1), d_weight, dh, None, None
