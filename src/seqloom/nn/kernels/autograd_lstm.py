"""The unroll of the LSTM, with or without a forget gate and peepholes."""

from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function
from torch.autograd.function import once_differentiable

from .autograd import Matrix, masked, one_minus_square, times_one_minus, weight_gradient


class LSTMUnroll(Function):
    """c' = f ⊙ c + i ⊙ g, h' = o ⊙ tanh(c') over all steps; gates in the order i, (f,) g, o.

    The gates take the place of `a` in memory.
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
        outputs, memory = (a.new_empty(time + 1, batch, hidden) for _ in range(2))
        outputs[0], memory[0] = h, c
        bent = a.new_empty(time, batch, hidden)
        _forward(Matrix(weight, h, time), gates, outputs, memory, bent, mask, peep)
        ctx.save_for_backward(weight, gates, outputs, memory, bent, mask, peep)
        return outputs[1:].transpose(0, 1), memory[-1].clone()

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor, dc: Tensor) -> tuple[Tensor | None, ...]:
        weight, gates, outputs, memory, bent, mask, peep = ctx.saved_tensors
        inner, keep, through = _slopes(gates, memory, bent)
        time, batch, blocks, hidden = inner.shape
        flat = inner.view(time, batch, blocks * hidden)
        before, last = inner[:, :, :-1].unbind(0), inner[:, :, -1].unbind(0)
        early, late = inner[:, :, :2].unbind(0), inner[:, :, -1:].unbind(0)
        steps, outer = flat.unbind(0), grad.unbind(1)
        dh, dc = torch.zeros_like(dc), dc.clone()
        back, (into_early, into_late) = (
            Matrix(weight.t(), dh, time),
            _full(peep, dh, time, back=True),
        )
        for t in reversed(range(time)):
            dh.add_(outer[t])
            last[t].mul_(dh)  # the output gate
            dc.addcmul_(dh, through[t])
            if peep is not None:
                _back(dc, late[t], peep[2:], into_late)
            before[t].mul_(dc[:, None])  # the other gates and the candidate
            if keep is not None:
                dc.mul_(keep[t])
            if peep is not None:
                _back(dc, early[t], peep[:2], into_early)
            dh = masked(back.times(steps[t]), mask)
        d_weight = weight_gradient(flat, masked(outputs[:-1], mask))
        d_peep = None if peep is None else _peep_gradient(inner, memory, peep)
        return flat.transpose(0, 1), d_weight, dh, dc, None, d_peep


def _forward(
    weight: Matrix,
    gates: Tensor,
    outputs: Tensor,
    memory: Tensor,
    bent: Tensor,
    mask: Tensor | None,
    peep: Tensor | None,
) -> None:
    """Fill gates, outputs, memory and tanh(memory)."""
    hidden = outputs.shape[-1]
    parts = gates.unflatten(-1, (-1, hidden))
    forgets = parts.shape[2] == 4
    early, candidate, late = parts[:, :, :-2], parts[:, :, -2].unbind(0), parts[:, :, -1].unbind(0)
    i, f = early[:, :, 0].unbind(0), early[:, :, -1].unbind(0)
    early_steps, late_steps = early.unbind(0), parts[:, :, -1:].unbind(0)
    h, c, tanh_c = outputs.unbind(0), memory.unbind(0), bent.unbind(0)
    to_early, to_late = _full(peep, c[0], len(tanh_c))
    for t, gates_now in enumerate(gates.unbind(0)):
        weight.add_to(gates_now, masked(h[t], mask))
        if peep is not None:
            _see(early_steps[t], c[t], peep[:2], to_early)
        early_steps[t].sigmoid_()
        candidate[t].tanh_()
        if forgets:
            torch.mul(f[t], c[t], out=c[t + 1]).addcmul_(i[t], candidate[t])
        else:
            torch.addcmul(c[t], i[t], candidate[t], out=c[t + 1])
        if peep is not None:
            _see(late_steps[t], c[t + 1], peep[2:], to_late)
        late[t].sigmoid_()
        torch.tanh(c[t + 1], out=tanh_c[t])
        torch.mul(late[t], tanh_c[t], out=h[t + 1])


def _slopes(
    gates: Tensor, memory: Tensor, bent: Tensor
) -> tuple[Tensor, tuple[Tensor, ...] | None, tuple[Tensor, ...]]:
    """What the gradients of memory and output are multiplied by to give those of the gates.

    Also the forget gate of every step, and what leads from the output back to the memory.
    """
    parts = gates.unflatten(-1, (-1, memory.shape[-1]))
    i, g, o = parts[:, :, 0], parts[:, :, -2], parts[:, :, -1]
    inner = times_one_minus(parts)
    inner[:, :, 0].mul_(g)
    one_minus_square(g, out=inner[:, :, -2]).mul_(i)
    inner[:, :, -1].mul_(bent)
    keep = None
    if parts.shape[2] == 4:
        inner[:, :, 1].mul_(memory[:-1])
        keep = parts[:, :, 1].unbind(0)
    return inner, keep, one_minus_square(bent).mul_(o).unbind(0)


Pair = tuple[Matrix | None, Matrix | None]


def _full(peep: Tensor | None, like: Tensor, steps: int, back: bool = False) -> Pair:
    """P of the gates that see the old memory and of the one that sees the new, where it is full.

    Gradients come back through their transposes.
    """
    if peep is None or peep.dim() == 2:
        return None, None
    early, late = peep[:2].flatten(0, 1), peep[2]
    if back:
        early, late = early.t(), late.t()
    return Matrix(early, like, steps), Matrix(late, like, steps)


def _see(gates: Tensor, c: Tensor, peep: Tensor, full: Matrix | None) -> None:
    """Add P c to gates of one step that stand side by side."""
    if full is not None:
        full.add_to(gates.flatten(1), c)
    else:
        gates.addcmul_(c[:, None], peep)


def _back(dc: Tensor, gates: Tensor, peep: Tensor, full: Matrix | None) -> None:
    """Add to the memory's gradient what the gates that saw it hand back."""
    if full is not None:
        full.add_to(dc, gates.flatten(1))
    else:
        for gate, weight in zip(gates.unbind(1), peep, strict=True):
            dc.addcmul_(gate, weight)


def _peep_gradient(inner: Tensor, memory: Tensor, peep: Tensor) -> Tensor:
    """The input and forget gates saw the old memory, the output gate the new one."""
    sides = [(0, memory[:-1]), (1, memory[:-1]), (3, memory[1:])]
    if peep.dim() > 2:
        return torch.stack([weight_gradient(inner[:, :, gate], seen) for gate, seen in sides])
    return torch.stack([(inner[:, :, gate] * seen).sum((0, 1)) for gate, seen in sides])
