"""Which way an unroll is taken: by compiled steps where these are quicker, else by torch's."""

import torch
from torch import Tensor

from .elman import ElmanUnroll
from .gru import GRUUnroll
from .lstm import LSTMUnroll

STEPS, SEQUENCES, HIDDEN = 8, 4, 16  # fewer are left to torch


def unroll_elman(
    a: Tensor, weight: Tensor, first: Tensor, mask: Tensor | None, activation: str
) -> Tensor:
    """h' = φ(a + U (m ⊙ h)) over all steps."""
    if compiled_pays(a, first, mask):
        from .compiled import CompiledElman  # noqa: PLC0415 - Numba takes a second to import

        return CompiledElman.apply(a, weight, first, activation)
    return ElmanUnroll.apply(a, weight, first, mask, activation)


def unroll_gru(
    a: Tensor, weight: Tensor, bias: Tensor | None, first: Tensor, mask: Tensor | None, reset: str
) -> Tensor:
    """h' = (1 - z) ⊙ n + z ⊙ h over all steps; `a` is used up."""
    if compiled_pays(a, first, mask):
        from .compiled import CompiledGRU  # noqa: PLC0415

        return CompiledGRU.apply(a, weight, bias, first, reset)
    return GRUUnroll.apply(a, weight, bias, first, mask, reset)


def unroll_lstm(
    a: Tensor, weight: Tensor, h: Tensor, c: Tensor, mask: Tensor | None, peep: Tensor | None
) -> tuple[Tensor, Tensor]:
    """Outputs of all steps, and the last memory; `a` is used up."""
    if compiled_pays(a, h, mask):
        from .compiled import CompiledLSTM  # noqa: PLC0415

        return CompiledLSTM.apply(a, weight, h, c, peep)
    return LSTMUnroll.apply(a, weight, h, c, mask, peep)


def compiled_pays(a: Tensor, first: Tensor, mask: Tensor | None) -> bool:
    """Whether the compiled steps can be taken, and are worth it."""
    return (
        mask is None
        and a.dtype == torch.float32
        and a.shape[1] >= STEPS
        and a.shape[0] >= SEQUENCES
        and first.shape[-1] >= HIDDEN
        and a.stride(-1) == 1
    )
