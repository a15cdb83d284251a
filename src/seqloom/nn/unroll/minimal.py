"""The unrolls of cells whose gates see only the input, and of the one that has no gates."""

from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function
from torch.autograd.function import once_differentiable

from ..scan import LARGE, scan, scan_back
from .steps import times_one_minus


class MinimalUnroll(Function):
    """h' = (1 - z) ⊙ h + z ⊙ n over all steps; blocks z, n, or f, i, n with z = i / (f + i)."""

    @staticmethod
    def forward(ctx: Any, a: Tensor, first: Tensor) -> Tensor:
        parts = a.transpose(0, 1).unflatten(-1, (-1, first.shape[-1]))
        gates, n = parts[:, :, :-1].sigmoid(), parts[:, :, -1]
        z = gates[:, :, 0]
        if gates.shape[2] == 2:
            z = gates[:, :, 1] / (z + gates[:, :, 1])
        keep = 1 - z
        outputs = scan(keep, z * n, first)
        ctx.save_for_backward(a, first, gates, keep, outputs)
        return outputs.transpose(0, 1)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, Tensor]:
        a, first, gates, keep, outputs = ctx.saved_tensors
        parts = a.transpose(0, 1).unflatten(-1, (-1, first.shape[-1]))
        g = scan_back(keep, grad.transpose(0, 1))
        found = torch.empty_like(parts)
        torch.addcmul(g, g, keep, value=-1, out=found[:, :, -1])  # g ⊙ z
        torch.sub(parts[1:, :, -1], outputs[:-1], out=found[1:, :, 0])
        torch.sub(parts[0, :, -1], first, out=found[0, :, 0])
        found[:, :, 0].mul_(g).mul_(times_one_minus(keep))  # g ⊙ (n - h) ⊙ z (1 - z)
        if gates.shape[2] == 2:  # z hangs on f by -z (1 - z) (1 - f), on i by z (1 - z) (1 - i)
            torch.addcmul(
                found[:, :, 0], found[:, :, 0], gates[:, :, 1], value=-1, out=found[:, :, 1]
            )
            found[:, :, 0].mul_(gates[:, :, 0] - 1)
        return found.flatten(2).transpose(0, 1), g[0] * keep[0]


class SumUnroll(Function):
    """h' = h + a over all steps."""

    @staticmethod
    def forward(ctx: Any, a: Tensor, first: Tensor) -> Tensor:
        if first.numel() < LARGE:
            return a.cumsum(1).add_(first[:, None])
        outputs = a.new_empty(a.shape[1], *first.shape)
        state = first
        for added, output in zip(a.unbind(1), outputs.unbind(0), strict=True):
            state = torch.add(state, added, out=output)
        return outputs.transpose(0, 1)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, Tensor]:
        if grad[:, 0].numel() < LARGE:
            found = grad.flip(1).cumsum(1).flip(1)
            return found, found[:, 0].clone()
        found = grad.new_empty(grad.shape[1], grad.shape[0], grad.shape[2])
        g, outer = found.unbind(0), grad.unbind(1)
        g[-1].copy_(outer[-1])
        for t in reversed(range(len(g) - 1)):
            torch.add(g[t + 1], outer[t], out=g[t])
        return found.transpose(0, 1), g[0].clone()
