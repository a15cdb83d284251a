"""Unrolls whose steps are compiled: the same autograd functions, for float32 and many steps.

What can be done for all steps at once is left to torch: the products of the input before, the
gradients of the weights after. Only the steps themselves run in `kernels`, each thread taking its
own sequences through all of them.
"""

from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function
from torch.autograd.function import once_differentiable

from .autograd import weight_gradient
from .numba import elman, gru, lstm, minimal
from .numba.matmul import in_panels


class CompiledElman(Function):
    """h' = φ(a + U h) over all steps."""

    @staticmethod
    def forward(ctx: Any, a: Tensor, weight: Tensor, first: Tensor, activation: str) -> Tensor:
        batch, time, hidden = a.shape
        states = _states(a, first)
        ctx.fields = {"time": time, "hidden": hidden, "kind": elman.KINDS[activation]}
        room = torch.empty_like(first)
        panels = in_panels(weight.t())
        elman.forward(batch, h=states, weight=panels, room=room, **_laid("a", a), **ctx.fields)
        ctx.save_for_backward(weight, states)
        return states[1:].transpose(0, 1)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, outer: Tensor) -> tuple[Tensor | None, ...]:
        weight, states = ctx.saved_tensors
        grad, dh = torch.empty_like(states[1:]), torch.empty_like(states[0])
        outer = _in_rows(outer)
        fields = {**ctx.fields, **_laid("outer", outer)}
        elman.backward(len(dh), h=states, grad=grad, dh=dh, weight=in_panels(weight), **fields)
        return grad.transpose(0, 1), weight_gradient(grad, states[:-1]), dh, None


class CompiledGRU(Function):
    """h' = (1 - z) ⊙ n + z ⊙ h over all steps; blocks in the order (r,) z, n.

    The gates take the place of `a` in memory.
    """

    @staticmethod
    def forward(
        ctx: Any, a: Tensor, weight: Tensor, bias: Tensor | None, first: Tensor, reset: str
    ) -> Tensor:
        batch, time, wide = a.shape
        hidden = first.shape[-1]
        gates, states = a.detach(), _states(a, first)
        kept = a.new_empty(time if reset == "after" else 0, batch, hidden)
        at_once = wide - hidden if reset == "before" else wide
        more = {"bias": bias.contiguous()} if bias is not None else {}
        late = in_panels(weight[at_once:].t()) if reset == "before" else kept
        blocks, kind = wide // hidden, gru.KINDS[reset]
        ctx.fields = {"time": time, "hidden": hidden, "blocks": blocks, "kind": kind}
        gru.forward(
            batch,
            h=states,
            kept=kept,
            weight=in_panels(weight[:at_once].t()),
            late_weight=late,
            room=a.new_empty(batch, wide),
            more_room=torch.empty_like(first, memory_format=torch.contiguous_format),
            **_laid("a", gates),
            **ctx.fields,
            **more,
        )
        ctx.save_for_backward(weight, gates, states, kept)
        ctx.reset = reset
        return states[1:].transpose(0, 1)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, outer: Tensor) -> tuple[Tensor | None, ...]:
        weight, gates, states, kept = ctx.saved_tensors
        simple = ctx.reset == "none"
        batch, hidden = states.shape[1:]
        early = len(weight) if simple else len(weight) - hidden
        grad = states.new_empty(len(states) - 1, batch, len(weight))
        late = states.new_empty(0 if simple else len(grad), batch, hidden)
        dh, room, more_room = (torch.empty_like(states[0]) for _ in range(3))
        outer = _in_rows(outer)
        gru.backward(
            batch,
            h=states,
            kept=kept,
            grad=grad,
            late=late,
            dh=dh,
            weight=in_panels(weight[:early]),
            late_weight=late if simple else in_panels(weight[early:]),
            room=room,
            more_room=more_room,
            **_laid("a", gates),
            **_laid("outer", outer),
            **ctx.fields,
        )
        d_weight = torch.empty_like(weight, memory_format=torch.contiguous_format)
        weight_gradient(grad[..., :early], states[:-1], out=d_weight[:early])
        if ctx.reset == "after":
            weight_gradient(late, states[:-1], out=d_weight[early:])
        elif ctx.reset == "before":  # U was multiplied with r ⊙ h
            weight_gradient(grad[..., early:], late, out=d_weight[early:])
        d_bias = late.sum((0, 1)) if ctx.reset == "after" else None
        return grad.transpose(0, 1), d_weight, d_bias, dh, None


class CompiledLSTM(Function):
    """c' = f ⊙ c + i ⊙ g, h' = o ⊙ tanh(c') over all steps; gates in the order i, (f,) g, o.

    The gates take the place of `a` in memory.
    """

    @staticmethod
    def forward(
        ctx: Any, a: Tensor, weight: Tensor, h: Tensor, c: Tensor, peep: Tensor | None
    ) -> tuple[Tensor, Tensor]:
        batch, time, wide = a.shape
        hidden = h.shape[-1]
        gates, outputs, memory = a.detach(), _states(a, h), _states(a, c)
        kept = a.new_empty(time, batch, hidden)
        fields = {"time": time, "hidden": hidden, "blocks": wide // hidden}
        ctx.fields = {**fields, "kind": lstm.KINDS[0 if peep is None else peep.dim()]}
        lstm.forward(
            batch,
            h=outputs,
            c=memory,
            kept=kept,
            weight=in_panels(weight.t()),
            room=a.new_empty(batch, wide),
            **_laid("a", gates),
            **_peepholes(peep, back=False),
            **ctx.fields,
        )
        ctx.save_for_backward(weight, gates, outputs, memory, kept, peep)
        return outputs[1:].transpose(0, 1), memory[-1].clone()

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, outer: Tensor, dc: Tensor) -> tuple[Tensor | None, ...]:
        weight, gates, outputs, memory, kept, peep = ctx.saved_tensors
        grad = kept.new_empty(*kept.shape[:2], len(weight))
        dc = dc.clone(memory_format=torch.contiguous_format)
        dh, room = torch.empty_like(dc), torch.empty_like(dc)
        outer = _in_rows(outer)
        lstm.backward(
            len(dc),
            c=memory,
            kept=kept,
            grad=grad,
            dh=dh,
            dc=dc,
            weight=in_panels(weight),
            room=room,
            **_laid("a", gates),
            **_laid("outer", outer),
            **_peepholes(peep, back=True),
            **ctx.fields,
        )
        d_weight = weight_gradient(grad, outputs[:-1])
        d_peep = None if peep is None else _peep_gradient(grad, memory, peep)
        return grad.transpose(0, 1), d_weight, dh, dc, d_peep


class CompiledMinimal(Function):
    """h' = (1 - z) ⊙ h + z ⊙ n over all steps; blocks z, n, or f, i, n with z = i / (f + i).

    With one block it is h' = h + n.
    """

    @staticmethod
    def forward(ctx: Any, a: Tensor, first: Tensor) -> Tensor:
        batch, time, wide = a.shape
        hidden = first.shape[-1]
        states = _states(a, first)
        ctx.fields = {"time": time, "hidden": hidden, "blocks": wide // hidden}
        minimal.forward(batch, h=states, **_laid("a", a), **ctx.fields)
        ctx.save_for_backward(a, states)
        return states[1:].transpose(0, 1)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, outer: Tensor) -> tuple[Tensor, Tensor]:
        a, states = ctx.saved_tensors
        grad = a.new_empty(a.shape[1], a.shape[0], a.shape[2])
        dh, room = torch.empty_like(states[0]), torch.empty_like(states[0])
        outer = _in_rows(outer)
        fields = {**ctx.fields, **_laid("a", a), **_laid("outer", outer)}
        minimal.backward(len(dh), h=states, grad=grad, dh=dh, room=room, **fields)
        return grad.transpose(0, 1), dh


def _states(a: Tensor, first: Tensor) -> Tensor:
    """Room for the states of all steps, behind the first one."""
    found = a.new_empty(a.shape[1] + 1, *first.shape)
    found[0] = first
    return found


def _laid(name: str, x: Tensor) -> dict[str, Tensor | int]:
    """Where the numbers of a batch of sequences lie, as the kernels ask for it."""
    return {name: x, f"{name}_row": x.stride(0), f"{name}_step": x.stride(1)}


def _in_rows(x: Tensor) -> Tensor:
    """The same, the numbers of each step side by side."""
    return x if x.stride(-1) == 1 else x.contiguous()


def _peepholes(peep: Tensor | None, back: bool) -> dict[str, Tensor | int]:
    """The peepholes' weights, for the way there or, transposed, for the way back."""
    if peep is None:
        return {}
    if peep.dim() == 2:
        return {"peep": peep.contiguous()}
    early, late = peep[:2].flatten(0, 1), peep[2]
    if not back:
        early, late = early.t(), late.t()
    return {"early_weight": in_panels(early), "late_weight": in_panels(late)}


def _peep_gradient(grad: Tensor, memory: Tensor, peep: Tensor) -> Tensor:
    """The input and forget gates saw the old memory, the output gate the new one."""
    found = torch.empty_like(peep, memory_format=torch.contiguous_format)
    hidden = memory.shape[-1]
    if peep.dim() == 3:
        weight_gradient(grad[..., : 2 * hidden], memory[:-1], out=found[:2].flatten(0, 1))
        weight_gradient(grad[..., 3 * hidden :], memory[1:], out=found[2])
        return found
    parts = grad.unflatten(-1, (-1, hidden))
    for place, (gate, seen) in enumerate(((0, memory[:-1]), (1, memory[:-1]), (3, memory[1:]))):
        torch.sum(parts[:, :, gate] * seen, (0, 1), out=found[place])
    return found
