"""Unroll of the LSTM as an autograd function, with or without a forget gate and peepholes."""

from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function
from torch.autograd.function import once_differentiable

from .autograd import PackedMatrix, masked_state, one_minus_square, times_one_minus, weight_gradient


class LSTMUnroll(Function):
    """LSTM: c' = f ⊙ c + i ⊙ g, h' = o ⊙ tanh(c') over all steps; gates in the order i, (f,) g, o.

    The gates overwrite `a`: they are what the backward pass needs, and `a` is needed no more.
    """

    @staticmethod
    def forward(
        ctx: Any,
        a: Tensor,
        weight: Tensor,
        h: Tensor,
        c: Tensor,
        mask: Tensor | None,
        peep: Tensor | None,
    ) -> tuple[Tensor, Tensor]:
        batch, time, _ = a.shape
        hidden = h.shape[-1]
        gates = a.detach().transpose(0, 1)
        outputs, cells = (a.new_empty(time + 1, batch, hidden) for _ in range(2))
        outputs[0], cells[0] = h, c
        tanh_c = a.new_empty(time, batch, hidden)  # kept: tanh costs more than to read it again
        _forward(PackedMatrix(weight, h, time), gates, outputs, cells, tanh_c, mask, peep)
        ctx.save_for_backward(weight, gates, outputs, cells, tanh_c, mask, peep)
        return outputs[1:].transpose(0, 1), cells[-1].clone()

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor, dc: Tensor) -> tuple[Tensor | None, ...]:
        weight, gates, outputs, cells, tanh_c, mask, peep = ctx.saved_tensors
        inner, keep, through = _slopes(gates, cells, tanh_c)
        time, batch, blocks, hidden = inner.shape
        flat = inner.view(time, batch, blocks * hidden)
        before, last = inner[:, :, :-1].unbind(0), inner[:, :, -1].unbind(0)
        early, late = inner[:, :, :2].unbind(0), inner[:, :, -1:].unbind(0)
        steps, outer = flat.unbind(0), grad.unbind(1)
        dh, dc = torch.zeros_like(dc), dc.clone()
        back, (into_early, into_late) = (
            PackedMatrix(weight.t(), dh, time),
            _full(peep, dh, time, back=True),
        )
        for t in reversed(range(time)):
            dh.add_(outer[t])
            last[t].mul_(dh)  # ∂L/∂o before σ
            dc.addcmul_(dh, through[t])  # what reaches c' by h' = o ⊙ tanh(c')
            if peep is not None:
                _peephole_back(dc, late[t], peep[2:], into_late)
            before[t].mul_(dc[:, None])  # i, f and g
            if keep is not None:
                dc.mul_(keep[t])
            if peep is not None:
                _peephole_back(dc, early[t], peep[:2], into_early)
            dh = masked_state(back.times(steps[t]), mask)
        d_weight = weight_gradient(flat, masked_state(outputs[:-1], mask))
        d_peep = None if peep is None else _peep_gradient(inner, cells, peep)
        return flat.transpose(0, 1), d_weight, dh, dc, None, d_peep


def _forward(
    weight: PackedMatrix,
    gates: Tensor,
    outputs: Tensor,
    cells: Tensor,
    tanh_c: Tensor,
    mask: Tensor | None,
    peep: Tensor | None,
) -> None:
    """Fill gates, outputs, cell states c and tanh(c)."""
    hidden = outputs.shape[-1]
    parts = gates.unflatten(-1, (-1, hidden))
    forgets = parts.shape[2] == 4
    early, candidate, late = parts[:, :, :-2], parts[:, :, -2].unbind(0), parts[:, :, -1].unbind(0)
    i, f = early[:, :, 0].unbind(0), early[:, :, -1].unbind(0)
    early_steps, late_steps = early.unbind(0), parts[:, :, -1:].unbind(0)
    h, c, activated = outputs.unbind(0), cells.unbind(0), tanh_c.unbind(0)
    to_early, to_late = _full(peep, c[0], len(activated))
    for t, gates_now in enumerate(gates.unbind(0)):
        weight.add_to(gates_now, masked_state(h[t], mask))
        if peep is not None:
            _add_peephole(early_steps[t], c[t], peep[:2], to_early)
        early_steps[t].sigmoid_()
        candidate[t].tanh_()
        if forgets:
            torch.mul(f[t], c[t], out=c[t + 1]).addcmul_(i[t], candidate[t])
        else:
            torch.addcmul(c[t], i[t], candidate[t], out=c[t + 1])
        if peep is not None:
            _add_peephole(late_steps[t], c[t + 1], peep[2:], to_late)
        late[t].sigmoid_()
        torch.tanh(c[t + 1], out=activated[t])
        torch.mul(late[t], activated[t], out=h[t + 1])


def _slopes(
    gates: Tensor, cells: Tensor, tanh_c: Tensor
) -> tuple[Tensor, tuple[Tensor, ...] | None, tuple[Tensor, ...]]:
    """The factors of ∂L/∂c' and ∂L/∂h' that give the gradients of the gates before activation.

    Also the forget gate of every step, and ∂h'/∂c' = o (1 - tanh²(c')). None of them depends on
    the recursion, so they are computed for all steps at once.
    """
    parts = gates.unflatten(-1, (-1, cells.shape[-1]))
    i, g, o = parts[:, :, 0], parts[:, :, -2], parts[:, :, -1]
    inner = times_one_minus(parts)
    inner[:, :, 0].mul_(g)
    one_minus_square(g, out=inner[:, :, -2]).mul_(i)
    inner[:, :, -1].mul_(tanh_c)
    keep = None
    if parts.shape[2] == 4:
        inner[:, :, 1].mul_(cells[:-1])
        keep = parts[:, :, 1].unbind(0)
    return inner, keep, one_minus_square(tanh_c).mul_(o).unbind(0)


Pair = tuple[PackedMatrix | None, PackedMatrix | None]


def _full(peep: Tensor | None, like: Tensor, steps: int, back: bool = False) -> Pair:
    """Full peephole matrices: of i and f, which see the old cell state, and of o, with the new.

    `back`: their transposes, through which gradients come back.
    """
    if peep is None or peep.dim() == 2:
        return None, None
    early, late = peep[:2].flatten(0, 1), peep[2]
    if back:
        early, late = early.t(), late.t()
    return PackedMatrix(early, like, steps), PackedMatrix(late, like, steps)


def _add_peephole(gates: Tensor, c: Tensor, peep: Tensor, full: PackedMatrix | None) -> None:
    """Add P c to some gates of one step, which lie side by side in memory."""
    if full is not None:
        full.add_to(gates.flatten(1), c)
    else:
        gates.addcmul_(c[:, None], peep)


def _peephole_back(dc: Tensor, gates: Tensor, peep: Tensor, full: PackedMatrix | None) -> None:
    """Add Pᵀ δ to ∂L/∂c: the gradients of the gates, back through the peepholes."""
    if full is not None:
        full.add_to(dc, gates.flatten(1))
    else:
        for gate, weight in zip(gates.unbind(1), peep, strict=True):
            dc.addcmul_(gate, weight)


def _peep_gradient(inner: Tensor, cells: Tensor, peep: Tensor) -> Tensor:
    """∂L/∂P; the input and forget gates saw the old cell state, the output gate the new one."""
    sides = [(0, cells[:-1]), (1, cells[:-1]), (3, cells[1:])]
    if peep.dim() > 2:
        return torch.stack([weight_gradient(inner[:, :, gate], c) for gate, c in sides])
    return torch.stack([(inner[:, :, gate] * c).sum((0, 1)) for gate, c in sides])
