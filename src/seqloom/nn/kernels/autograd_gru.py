"""Unroll of the GRU as an autograd function: reset gate after or before the product, or none."""

from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function
from torch.autograd.function import once_differentiable

from .autograd import add_product, masked_state, one_minus_square, times_one_minus, weight_gradient


class GRUUnroll(Function):
    """GRU: h' = (1 - z) ⊙ n + z ⊙ h over all steps; blocks in the order (r,) z, n.

    The gates overwrite `a`: they are what the backward pass needs, and `a` is needed no more.
    """

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
        batch, time, _ = a.shape
        hidden = first.shape[-1]
        gates = a.detach().transpose(0, 1)
        states = a.new_empty(time + 1, batch, hidden)
        states[0] = first
        candidate = None
        if reset == "after" and bias is not None:
            candidate = a.new_empty(time, batch, hidden)
            _forward_after(weight, bias, gates, states, candidate, mask)
        else:
            _forward_before(weight, gates, states, mask, reset == "before")
        ctx.save_for_backward(weight, gates, states, candidate, mask)
        ctx.reset = reset
        return states[1:].transpose(0, 1)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        weight, gates, states, candidate, mask = ctx.saved_tensors
        if ctx.reset == "after":
            return *_backward_after(grad, weight, gates, states, candidate, mask), None, None
        if ctx.reset == "before":
            return *_backward_before(grad, weight, gates, states, mask), None, None
        return *_backward_simple(grad, weight, gates, states, mask), None, None


def _forward_after(
    weight: Tensor,
    bias: Tensor,
    gates: Tensor,
    states: Tensor,
    candidate: Tensor,
    mask: Tensor | None,
) -> None:
    """`candidate` keeps U h + d of the candidate: ∂L/∂r is the candidate's gradient times it."""
    hidden = states.shape[-1]
    gate_weight, new_weight = weight[: 2 * hidden].t(), weight[2 * hidden :].t()
    # unbind once: indexing a tensor by t at every step costs as much as a small operation.
    r, z, n = (part.unbind(0) for part in gates.split(hidden, dim=-1))
    both, late = gates[..., : 2 * hidden].unbind(0), candidate.unbind(0)
    h = states.unbind(0)
    for t in range(len(late)):
        state = masked_state(h[t], mask)
        both[t].addmm_(state, gate_weight).sigmoid_()
        torch.addmm(bias, state, new_weight, out=late[t])
        n[t].addcmul_(r[t], late[t]).tanh_()
        torch.lerp(n[t], h[t], z[t], out=h[t + 1])  # n + z (h - n)


def _forward_before(
    weight: Tensor,
    gates: Tensor,
    states: Tensor,
    mask: Tensor | None,
    resets: bool,
) -> None:
    """The reset gate before the product, or none at all."""
    hidden = states.shape[-1]
    early = gates.shape[-1] - hidden  # size of the gates, without the candidate
    gate_weight, new_weight = weight[:early].t(), weight[early:].t()
    z, n = gates[..., early - hidden : early].unbind(0), gates[..., early:].unbind(0)
    r, both, h = gates[..., :hidden].unbind(0), gates[..., :early].unbind(0), states.unbind(0)
    for t in range(len(z)):
        state = masked_state(h[t], mask)
        both[t].addmm_(state, gate_weight).sigmoid_()
        inner = masked_state(r[t] * h[t], mask) if resets else state
        n[t].addmm_(inner, new_weight).tanh_()
        torch.lerp(n[t], h[t], z[t], out=h[t + 1])


def _slopes(gates: Tensor, states: Tensor) -> Tensor:
    """The factors of ∂L/∂h' that give the gradients of z and n before their activations.

    (h - n) z (1 - z) and (1 - z) (1 - n²); for a reset gate the slope r (1 - r) alone. They do not
    depend on the recursion, so they are computed for all steps at once.
    """
    parts = gates.unflatten(-1, (-1, states.shape[-1]))
    z, n = parts[:, :, -2], parts[:, :, -1]
    slopes = torch.empty_like(parts)
    times_one_minus(parts[:, :, :-1], out=slopes[:, :, :-1])
    slopes[:, :, -2].mul_(states[:-1] - n)
    new = one_minus_square(n, out=slopes[:, :, -1])
    new.addcmul_(new, z, value=-1)
    return slopes


def _backward_after(
    grad: Tensor,
    weight: Tensor,
    gates: Tensor,
    states: Tensor,
    candidate: Tensor,
    mask: Tensor | None,
) -> tuple[Tensor | None, ...]:
    """`late` is the gradient of U h + d of the candidate: that of n times r."""
    hidden = states.shape[-1]
    gate_weight, new_weight = weight[: 2 * hidden], weight[2 * hidden :]
    r, z, _ = gates.split(hidden, dim=-1)
    slopes = _slopes(gates, states)
    late = slopes[:, :, 2] * r
    slopes[:, :, 0].mul_(candidate).mul_(slopes[:, :, 2])
    flat = slopes.flatten(2)
    both, last, steps = flat[..., : 2 * hidden].unbind(0), late.unbind(0), slopes.unbind(0)
    outer, keep = grad.unbind(1), z.unbind(0)
    dh = torch.zeros_like(states[0])
    for_all = dh[:, None]  # a view: it follows dh, which changes in place
    for t in reversed(range(len(steps))):
        dh.add_(outer[t])
        steps[t].mul_(for_all)
        last[t].mul_(dh)
        add_product(dh.mul_(keep[t]), both[t], gate_weight, mask)
        add_product(dh, last[t], new_weight, mask)
    inputs = masked_state(states[:-1], mask)  # what U was multiplied with
    d_gates = weight_gradient(flat[..., : 2 * hidden], inputs)
    d_weight = torch.cat([d_gates, weight_gradient(late, inputs)])
    return flat.transpose(0, 1), d_weight, late.sum((0, 1)), dh


def _backward_simple(
    grad: Tensor, weight: Tensor, gates: Tensor, states: Tensor, mask: Tensor | None
) -> tuple[Tensor | None, ...]:
    slopes = _slopes(gates, states)
    flat = slopes.flatten(2)
    steps, whole, outer = slopes.unbind(0), flat.unbind(0), grad.unbind(1)
    keep = gates[..., : states.shape[-1]].unbind(0)
    dh = torch.zeros_like(states[0])
    for_both = dh[:, None]  # a view: it follows dh, which changes in place
    for t in reversed(range(len(steps))):
        dh.add_(outer[t])
        steps[t].mul_(for_both)
        add_product(dh.mul_(keep[t]), whole[t], weight, mask)
    d_weight = weight_gradient(flat, masked_state(states[:-1], mask))
    return flat.transpose(0, 1), d_weight, None, dh


def _backward_before(
    grad: Tensor, weight: Tensor, gates: Tensor, states: Tensor, mask: Tensor | None
) -> tuple[Tensor | None, ...]:
    hidden = states.shape[-1]
    gate_weight, new_weight = weight[: 2 * hidden], weight[2 * hidden :]
    r, z, _ = gates.split(hidden, dim=-1)
    slopes = _slopes(gates, states)  # of r, z and n
    slopes[:, :, 0].mul_(states[:-1])
    flat = slopes.flatten(2)
    resets, both = slopes[:, :, 0].unbind(0), flat[..., : 2 * hidden].unbind(0)
    late, new = slopes[:, :, 1:].unbind(0), slopes[:, :, 2].unbind(0)
    outer, keep, open_r = grad.unbind(1), z.unbind(0), r.unbind(0)
    dh = torch.zeros_like(states[0])
    for_both = dh[:, None]  # a view: it follows dh, which changes in place
    for t in reversed(range(len(both))):
        dh.add_(outer[t])
        late[t].mul_(for_both)
        inner = masked_state(new[t] @ new_weight, mask)  # ∂L/∂(r ⊙ h)
        resets[t].mul_(inner)
        add_product(dh.mul_(keep[t]).addcmul_(inner, open_r[t]), both[t], gate_weight, mask)
    d_gates = weight_gradient(flat[..., : 2 * hidden], masked_state(states[:-1], mask))
    d_new = weight_gradient(slopes[:, :, 2], masked_state(r * states[:-1], mask))
    return flat.transpose(0, 1), torch.cat([d_gates, d_new]), None, dh
