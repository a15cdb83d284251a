"""The unroll of the GRU: no reset gate, or one after or before the product."""

from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function
from torch.autograd.function import once_differentiable

from .steps import masked, weight_gradient


class GRUUnroll(Function):
    """h' = (1 - z) ⊙ n + z ⊙ h over all steps; blocks in the order (r,) z, n."""

    @staticmethod
    def forward(
        ctx: Any,
        a: Tensor,
        weight: Tensor,
        bias: Tensor | None,
        first: Tensor,
        mask: Tensor | None,
        reset: str,
    ) -> Tensor:
        batch, time, width = a.shape
        hidden = first.shape[-1]
        gates = a.new_empty(time, batch, width)
        states = a.new_empty(time + 1, batch, hidden)
        states[0] = first
        seen = a.new_empty(time, batch, width if reset == "after" else 0)
        if reset == "after":
            _forward_after(a, weight, bias, gates, states, seen, mask)
        else:
            _forward_before(a, weight, gates, states, mask, reset == "before")
        ctx.save_for_backward(weight, gates, states, seen, mask)
        ctx.reset = reset
        return states[1:].transpose(0, 1)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        weight, gates, states, seen, mask = ctx.saved_tensors
        if ctx.reset == "after":
            return *_backward_after(grad, weight, gates, states, seen, mask), None, None
        if ctx.reset == "before":
            return *_backward_before(grad, weight, gates, states, mask), None, None
        return *_backward_simple(grad, weight, gates, states, mask), None, None


def _forward_after(
    a: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    gates: Tensor,
    states: Tensor,
    seen: Tensor,
    mask: Tensor | None,
) -> None:
    """`seen` keeps U h + d, whose last block the gradient of the reset gate needs."""
    hidden = states.shape[-1]
    shift = torch.cat([weight.new_zeros(2 * hidden), bias]) if bias is not None else None
    turned = weight.t()
    r, z, n = (part.unbind(0) for part in gates.split(hidden, dim=-1))
    both, early = gates[..., : 2 * hidden].unbind(0), seen[..., : 2 * hidden].unbind(0)
    late, whole, h = seen[..., 2 * hidden :].unbind(0), seen.unbind(0), states.unbind(0)
    first, last = a[..., : 2 * hidden].unbind(1), a[..., 2 * hidden :].unbind(1)
    for t in range(len(whole)):
        state = masked(h[t], mask)
        if shift is None:
            torch.mm(state, turned, out=whole[t])
        else:
            torch.addmm(shift, state, turned, out=whole[t])
        torch.add(first[t], early[t], out=both[t]).sigmoid_()
        torch.addcmul(last[t], r[t], late[t], out=n[t]).tanh_()
        torch.lerp(n[t], h[t], z[t], out=h[t + 1])


def _forward_before(
    a: Tensor,
    weight: Tensor,
    gates: Tensor,
    states: Tensor,
    mask: Tensor | None,
    resets: bool,
) -> None:
    """The reset gate before the product, or none at all."""
    hidden = states.shape[-1]
    early = gates.shape[-1] - hidden  # how wide the gates are
    gate_weight, new_weight = weight[:early].t(), weight[early:].t()
    z, n = gates[..., early - hidden : early].unbind(0), gates[..., early:].unbind(0)
    r, both, h = gates[..., :hidden].unbind(0), gates[..., :early].unbind(0), states.unbind(0)
    first, last = a[..., :early].unbind(1), a[..., early:].unbind(1)
    for t in range(len(z)):
        state = masked(h[t], mask)
        torch.addmm(first[t], state, gate_weight, out=both[t]).sigmoid_()
        inner = masked(r[t] * h[t], mask) if resets else state
        torch.addmm(last[t], inner, new_weight, out=n[t]).tanh_()
        torch.lerp(n[t], h[t], z[t], out=h[t + 1])


def _backward_after(
    grad: Tensor, weight: Tensor, gates: Tensor, states: Tensor, seen: Tensor, mask: Tensor | None
) -> tuple[Tensor | None, ...]:
    hidden = states.shape[-1]
    r, z, n = gates.split(hidden, dim=-1)
    slopes = grad.new_empty(*gates.shape[:2], 4, hidden)  # of r, z, U h + d and n
    slopes[:, :, 3] = (1 - z) * (1 - n * n)
    slopes[:, :, 2] = slopes[:, :, 3] * r
    slopes[:, :, 1] = (states[:-1] - n) * z * (1 - z)
    slopes[:, :, 0] = slopes[:, :, 2] * (1 - r) * seen[..., 2 * hidden :]
    steps, outer, keep = slopes.unbind(0), grad.unbind(1), z.unbind(0)
    recurrent = slopes[:, :, :3].flatten(2).unbind(0)
    dh = torch.zeros_like(states[0])
    for t in reversed(range(len(steps))):
        dh.add_(outer[t])
        steps[t].mul_(dh[:, None])
        dh.mul_(keep[t]).add_(masked(recurrent[t] @ weight, mask))
    inner = slopes[:, :, :3].flatten(2)
    d_weight = weight_gradient(inner, masked(states[:-1], mask))
    d_bias = slopes[:, :, 2].sum((0, 1))
    d_a = torch.cat([slopes[:, :, :2], slopes[:, :, 3:]], dim=2).flatten(2)
    return d_a.transpose(0, 1), d_weight, d_bias, dh


def _backward_simple(
    grad: Tensor, weight: Tensor, gates: Tensor, states: Tensor, mask: Tensor | None
) -> tuple[Tensor | None, ...]:
    hidden = states.shape[-1]
    z, n = gates.split(hidden, dim=-1)
    slopes = grad.new_empty(*gates.shape[:2], 2, hidden)
    slopes[:, :, 0] = (states[:-1] - n) * z * (1 - z)
    slopes[:, :, 1] = (1 - z) * (1 - n * n)
    flat = slopes.flatten(2)
    steps, whole, outer, keep = slopes.unbind(0), flat.unbind(0), grad.unbind(1), z.unbind(0)
    dh = torch.zeros_like(states[0])
    for t in reversed(range(len(steps))):
        dh.add_(outer[t])
        steps[t].mul_(dh[:, None])
        dh.mul_(keep[t]).add_(masked(whole[t] @ weight, mask))
    d_weight = weight_gradient(flat, masked(states[:-1], mask))
    return flat.transpose(0, 1), d_weight, None, dh


def _backward_before(
    grad: Tensor, weight: Tensor, gates: Tensor, states: Tensor, mask: Tensor | None
) -> tuple[Tensor | None, ...]:
    hidden = states.shape[-1]
    gate_weight, new_weight = weight[: 2 * hidden], weight[2 * hidden :]
    r, z, n = gates.split(hidden, dim=-1)
    slopes = grad.new_empty(*gates.shape[:2], 3, hidden)  # of r, z and n
    slopes[:, :, 0] = states[:-1] * r * (1 - r)
    slopes[:, :, 1] = (states[:-1] - n) * z * (1 - z)
    slopes[:, :, 2] = (1 - z) * (1 - n * n)
    flat = slopes.flatten(2)
    resets, later, new = (slopes[:, :, at].unbind(0) for at in range(3))
    both, outer = flat[..., : 2 * hidden].unbind(0), grad.unbind(1)
    keep, open_r = z.unbind(0), r.unbind(0)
    dh = torch.zeros_like(states[0])
    for t in reversed(range(len(both))):
        dh.add_(outer[t])
        new[t].mul_(dh)
        later[t].mul_(dh)
        inner = masked(new[t] @ new_weight, mask)  # the gradient of r ⊙ h
        resets[t].mul_(inner)
        dh.mul_(keep[t]).addcmul_(inner, open_r[t]).add_(masked(both[t] @ gate_weight, mask))
    seen = masked(states[:-1], mask)
    d_gates = weight_gradient(flat[..., : 2 * hidden], seen)
    d_new = weight_gradient(slopes[:, :, 2], masked(r * states[:-1], mask))
    return flat.transpose(0, 1), torch.cat([d_gates, d_new]), None, dh
