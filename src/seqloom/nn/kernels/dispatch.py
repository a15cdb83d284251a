"""Dispatch of unrolls: compiled kernels where they are faster, torch operations otherwise."""

from functools import cache

import torch
from torch import Tensor

from .autograd import ElmanUnroll, MinimalUnroll, SumUnroll
from .autograd_gru import GRUUnroll
from .autograd_lstm import LSTMUnroll

MIN_STEPS = 8  # below, packing the matrices into panels costs more than the steps gain
MIN_HIDDEN = 16  # two vectors of eight float32: no machine's compiled tiles are narrower


def unroll_elman(
    a: Tensor, weight: Tensor, first: Tensor, mask: Tensor | None, activation: str
) -> Tensor:
    """Elman RNN: h' = φ(a + U (m ⊙ h)) over all steps."""
    # The compiled kernels have no recurrent dropout: a mask goes to torch, here and below.
    if mask is None and use_compiled(a, first):
        from .compiled import CompiledElman  # noqa: PLC0415 - Numba takes a second to import

        return CompiledElman.apply(a, weight, first, activation)
    return ElmanUnroll.apply(a, weight, first, mask, activation)


def unroll_gru(
    a: Tensor, weight: Tensor, bias: Tensor | None, first: Tensor, mask: Tensor | None, reset: str
) -> Tensor:
    """GRU: h' = (1 - z) ⊙ n + z ⊙ h over all steps; `a` is overwritten."""
    if mask is None and use_compiled(a, first):
        from .compiled import CompiledGRU  # noqa: PLC0415

        return CompiledGRU.apply(a, weight, bias, first, reset)
    return GRUUnroll.apply(a, weight, bias, first, mask, reset)


def unroll_lstm(
    a: Tensor, weight: Tensor, h: Tensor, c: Tensor, mask: Tensor | None, peep: Tensor | None
) -> tuple[Tensor, Tensor]:
    """LSTM: the outputs of all steps, and the last cell state; `a` is overwritten."""
    if mask is None and use_compiled(a, h):
        from .compiled import CompiledLSTM  # noqa: PLC0415

        return CompiledLSTM.apply(a, weight, h, c, peep)
    return LSTMUnroll.apply(a, weight, h, c, mask, peep)


def unroll_minimal(a: Tensor, first: Tensor) -> Tensor:
    """minGRU, minLSTM: h' = (1 - z) ⊙ h + z ⊙ n over all steps; h + n where `a` has no gate."""
    if use_compiled(a, first):
        from .compiled import CompiledMinimal  # noqa: PLC0415

        return CompiledMinimal.apply(a, first)
    kind = SumUnroll if a.shape[-1] == first.shape[-1] else MinimalUnroll
    return kind.apply(a, first)


def use_compiled(x: Tensor, first: Tensor) -> bool:
    """Whether the compiled kernels can unroll these sequences, and are faster.

    They read float32 with contiguous features, and take at least one tile of columns at a time.
    """
    hidden = first.shape[-1]
    many = x.shape[1] >= MIN_STEPS and hidden >= MIN_HIDDEN and x.dtype == torch.float32
    return many and x.stride(-1) == 1 and hidden >= _tile_columns()


@cache
def _tile_columns() -> int:
    """Columns that the compiled products compute at once on this machine."""
    from .numba.matmul import COLUMNS  # noqa: PLC0415 - Numba takes a second to import

    return COLUMNS
