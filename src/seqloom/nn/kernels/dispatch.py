"""Which way an unroll is taken: by compiled steps where these are quicker, else by torch's."""

from functools import cache

import torch
from torch import Tensor

from .autograd import ElmanUnroll, MinimalUnroll, SumUnroll
from .autograd_gru import GRUUnroll
from .autograd_lstm import LSTMUnroll

STEPS = 8  # fewer are not worth bringing matrices into order
NARROW = 16  # numbers of a state: no machine's compiled products take fewer at once


def unroll_elman(
    a: Tensor, weight: Tensor, first: Tensor, mask: Tensor | None, activation: str
) -> Tensor:
    """h' = φ(a + U (m ⊙ h)) over all steps."""
    if mask is None and compiled_pays(a, first):
        from .compiled import CompiledElman  # noqa: PLC0415 - Numba takes a second to import

        return CompiledElman.apply(a, weight, first, activation)
    return ElmanUnroll.apply(a, weight, first, mask, activation)


def unroll_gru(
    a: Tensor, weight: Tensor, bias: Tensor | None, first: Tensor, mask: Tensor | None, reset: str
) -> Tensor:
    """h' = (1 - z) ⊙ n + z ⊙ h over all steps; `a` is used up."""
    if mask is None and compiled_pays(a, first):
        from .compiled import CompiledGRU  # noqa: PLC0415

        return CompiledGRU.apply(a, weight, bias, first, reset)
    return GRUUnroll.apply(a, weight, bias, first, mask, reset)


def unroll_lstm(
    a: Tensor, weight: Tensor, h: Tensor, c: Tensor, mask: Tensor | None, peep: Tensor | None
) -> tuple[Tensor, Tensor]:
    """Outputs of all steps, and the last memory; `a` is used up."""
    if mask is None and compiled_pays(a, h):
        from .compiled import CompiledLSTM  # noqa: PLC0415

        return CompiledLSTM.apply(a, weight, h, c, peep)
    return LSTMUnroll.apply(a, weight, h, c, mask, peep)


def unroll_minimal(a: Tensor, first: Tensor) -> Tensor:
    """h' = (1 - z) ⊙ h + z ⊙ n over all steps, or, where `a` has no gate, h + n."""
    if compiled_pays(a, first):
        from .compiled import CompiledMinimal  # noqa: PLC0415

        return CompiledMinimal.apply(a, first)
    kind = SumUnroll if a.shape[-1] == first.shape[-1] else MinimalUnroll
    return kind.apply(a, first)


def compiled_pays(x: Tensor, first: Tensor) -> bool:
    """Whether the steps of these sequences can be compiled, and are worth it."""
    hidden = first.shape[-1]
    many = x.shape[1] >= STEPS and hidden >= NARROW and x.dtype == torch.float32
    return many and x.stride(-1) == 1 and hidden >= _at_once()


@cache
def _at_once() -> int:
    """How many numbers the compiled products take at once on this machine."""
    from .numba.matmul import COLUMNS  # noqa: PLC0415 - Numba takes a second to import

    return COLUMNS
