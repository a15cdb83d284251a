"""Unrolls as autograd functions over Numba kernels, for float32 and many steps.

What can be done for all steps at once is left to torch, whose large products are as fast: W x + b
before, the gradients of the weights after. Only the steps themselves run in the kernels, where
each thread takes sequences of its own through all of them.

The kernels allocate nothing: all arrays, also their scratch memory, are made here.
"""

from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function
from torch.autograd.function import once_differentiable

from .autograd import weight_gradient
from .numba import elman, gru, lstm, minimal
from .numba.matmul import pack_panels


class CompiledElman(Function):
    """Elman RNN: h' = φ(a + U h) over all steps."""

    @staticmethod
    def forward(ctx: Any, a: Tensor, weight: Tensor, first: Tensor, activation: str) -> Tensor:
        batch, time, hidden = a.shape
        states = _states(a, first)
        ctx.fields = {"time": time, "hidden": hidden, "kind": elman.KINDS[activation]}
        scratch = torch.empty_like(first)
        panels = pack_panels(weight.t())
        fields = {**ctx.fields, **_strided("a", a)}
        elman.forward(batch, h=states, weight=panels, scratch=scratch, **fields)
        ctx.save_for_backward(weight, states)
        return states[1:].transpose(0, 1)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, outer: Tensor) -> tuple[Tensor | None, ...]:
        weight, states = ctx.saved_tensors
        grad, dh = torch.empty_like(states[1:]), torch.empty_like(states[0])
        outer = _contiguous_rows(outer)
        fields = {**ctx.fields, **_strided("outer", outer)}
        elman.backward(len(dh), h=states, grad=grad, dh=dh, weight=pack_panels(weight), **fields)
        return grad.transpose(0, 1), weight_gradient(grad, states[:-1]), dh, None


class CompiledGRU(Function):
    """GRU: h' = (1 - z) ⊙ n + z ⊙ h over all steps; blocks in the order (r,) z, n.

    The gates overwrite `a`.
    """

    @staticmethod
    def forward(
        ctx: Any, a: Tensor, weight: Tensor, bias: Tensor | None, first: Tensor, reset: str
    ) -> Tensor:
        batch, time, wide = a.shape
        hidden = first.shape[-1]
        gates, states = a.detach(), _states(a, first)
        kept = a.new_empty(time if reset == "after" else 0, batch, hidden)
        # With the reset before the product, that of the candidate must wait for the reset gate.
        first_product = wide - hidden if reset == "before" else wide
        more = {"bias": bias.contiguous()} if bias is not None else {}
        late = pack_panels(weight[first_product:].t()) if reset == "before" else kept
        blocks, kind = wide // hidden, gru.KINDS[reset]
        ctx.fields = {"time": time, "hidden": hidden, "blocks": blocks, "kind": kind}
        gru.forward(
            batch,
            h=states,
            kept=kept,
            weight=pack_panels(weight[:first_product].t()),
            late_weight=late,
            scratch=a.new_empty(batch, wide),
            more_scratch=torch.empty_like(first, memory_format=torch.contiguous_format),
            **_strided("a", gates),
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
        dh, scratch, more_scratch = (torch.empty_like(states[0]) for _ in range(3))
        outer = _contiguous_rows(outer)
        gru.backward(
            batch,
            h=states,
            kept=kept,
            grad=grad,
            late=late,
            dh=dh,
            weight=pack_panels(weight[:early]),
            late_weight=late if simple else pack_panels(weight[early:]),
            scratch=scratch,
            more_scratch=more_scratch,
            **_strided("a", gates),
            **_strided("outer", outer),
            **ctx.fields,
        )
        d_weight = torch.empty_like(weight, memory_format=torch.contiguous_format)
        weight_gradient(grad[..., :early], states[:-1], out=d_weight[:early])
        if ctx.reset == "after":
            weight_gradient(late, states[:-1], out=d_weight[early:])
        elif ctx.reset == "before":  # U was multiplied with r ⊙ h, which the kernel left in `late`
            weight_gradient(grad[..., early:], late, out=d_weight[early:])
        d_bias = late.sum((0, 1)) if ctx.reset == "after" else None
        return grad.transpose(0, 1), d_weight, d_bias, dh, None


class CompiledLSTM(Function):
    """LSTM: c' = f ⊙ c + i ⊙ g, h' = o ⊙ tanh(c') over all steps; gates in the order i, (f,) g, o.

    The gates overwrite `a`; `kept` holds tanh(c') for the backward pass.
    """

    @staticmethod
    def forward(
        ctx: Any, a: Tensor, weight: Tensor, h: Tensor, c: Tensor, peep: Tensor | None
    ) -> tuple[Tensor, Tensor]:
        batch, time, wide = a.shape
        hidden = h.shape[-1]
        gates, outputs, cells = a.detach(), _states(a, h), _states(a, c)
        kept = a.new_empty(time, batch, hidden)
        fields = {"time": time, "hidden": hidden, "blocks": wide // hidden}
        ctx.fields = {**fields, "kind": lstm.KINDS[0 if peep is None else peep.dim()]}
        lstm.forward(
            batch,
            h=outputs,
            c=cells,
            kept=kept,
            weight=pack_panels(weight.t()),
            scratch=a.new_empty(batch, wide),
            **_strided("a", gates),
            **_peepholes(peep, back=False),
            **ctx.fields,
        )
        ctx.save_for_backward(weight, gates, outputs, cells, kept, peep)
        return outputs[1:].transpose(0, 1), cells[-1].clone()

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, outer: Tensor, dc: Tensor) -> tuple[Tensor | None, ...]:
        weight, gates, outputs, cells, kept, peep = ctx.saved_tensors
        grad = kept.new_empty(*kept.shape[:2], len(weight))
        dc = dc.clone(memory_format=torch.contiguous_format)
        dh, scratch = torch.empty_like(dc), torch.empty_like(dc)
        outer = _contiguous_rows(outer)
        lstm.backward(
            len(dc),
            c=cells,
            kept=kept,
            grad=grad,
            dh=dh,
            dc=dc,
            weight=pack_panels(weight),
            scratch=scratch,
            **_strided("a", gates),
            **_strided("outer", outer),
            **_peepholes(peep, back=True),
            **ctx.fields,
        )
        d_weight = weight_gradient(grad, outputs[:-1])
        d_peep = None if peep is None else _peep_gradient(grad, cells, peep)
        return grad.transpose(0, 1), d_weight, dh, dc, d_peep


class CompiledMinimal(Function):
    """minGRU, minLSTM: h' = (1 - z) ⊙ h + z ⊙ n over all steps.

    Blocks z, n, or f, i, n with z = i / (f + i); with one block it is h' = h + n.
    """

    @staticmethod
    def forward(ctx: Any, a: Tensor, first: Tensor) -> Tensor:
        batch, time, wide = a.shape
        hidden = first.shape[-1]
        states = _states(a, first)
        ctx.fields = {"time": time, "hidden": hidden, "blocks": wide // hidden}
        minimal.forward(batch, h=states, **_strided("a", a), **ctx.fields)
        ctx.save_for_backward(a, states)
        return states[1:].transpose(0, 1)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, outer: Tensor) -> tuple[Tensor, Tensor]:
        a, states = ctx.saved_tensors
        grad = a.new_empty(a.shape[1], a.shape[0], a.shape[2])
        dh, scratch = torch.empty_like(states[0]), torch.empty_like(states[0])
        outer = _contiguous_rows(outer)
        fields = {**ctx.fields, **_strided("a", a), **_strided("outer", outer)}
        minimal.backward(len(dh), h=states, grad=grad, dh=dh, scratch=scratch, **fields)
        return grad.transpose(0, 1), dh


def _states(a: Tensor, first: Tensor) -> Tensor:
    """Memory for the states of all steps, (time + 1, batch, hidden), with the initial state."""
    states = a.new_empty(a.shape[1] + 1, *first.shape)
    states[0] = first
    return states


def _strided(name: str, x: Tensor) -> dict[str, Tensor | int]:
    """A (batch, time, features) array with its strides: the kernels read any order of the two."""
    return {name: x, f"{name}_row": x.stride(0), f"{name}_step": x.stride(1)}


def _contiguous_rows(x: Tensor) -> Tensor:
    """The same with contiguous features: vector loads need that."""
    return x if x.stride(-1) == 1 else x.contiguous()


def _peepholes(peep: Tensor | None, back: bool) -> dict[str, Tensor | int]:
    """The peephole weights for the forward pass, or, transposed, for the backward pass."""
    if peep is None:
        return {}
    if peep.dim() == 2:
        return {"peep": peep.contiguous()}
    early, late = peep[:2].flatten(0, 1), peep[2]
    if not back:
        early, late = early.t(), late.t()
    return {"early_weight": pack_panels(early), "late_weight": pack_panels(late)}


def _peep_gradient(grad: Tensor, cells: Tensor, peep: Tensor) -> Tensor:
    """∂L/∂P; the input and forget gates saw the old cell state, the output gate the new one."""
    total = torch.empty_like(peep, memory_format=torch.contiguous_format)
    hidden = cells.shape[-1]
    if peep.dim() == 3:
        weight_gradient(grad[..., : 2 * hidden], cells[:-1], out=total[:2].flatten(0, 1))
        weight_gradient(grad[..., 3 * hidden :], cells[1:], out=total[2])
        return total
    parts = grad.unflatten(-1, (-1, hidden))
    for row, (gate, c) in enumerate(((0, cells[:-1]), (1, cells[:-1]), (3, cells[1:]))):
        torch.sum(parts[:, :, gate] * c, (0, 1), out=total[row])
    return total
