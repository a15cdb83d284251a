"""Cells whose gates see only the input, so that a sequence is trained by a parallel scan."""

from torch import Tensor

from ...trace import record
from ..kernels import unroll_minimal
from .base import AllProducts, Cell, Mask, Outputs, Products, Recur, State

_SCAN = "it is trained by a parallel scan, where nothing may hang on the state before"
_REFUSES = {"zoneout": _SCAN, "recurrent_dropout": _SCAN, "skip": _SCAN, "start": "it has no U"}


class MinGRU(Cell):
    """The minimal GRU (Feng et al., 2024).

    z  = σ(W x + b)                  how much is new
    n  = W x + b                     candidate
    h' = (1 - z) ⊙ h + z ⊙ n
    """

    products = 2
    recurrent = 0
    refuses = _REFUSES

    def step(self, a: Products, state: State, recur: Recur) -> State:
        z, n = a.chunk(2, dim=-1)
        z = z.sigmoid()
        record(self, "gate.update", z)
        return ((1 - z) * state[0] + z * n,)

    def unrolled(self, a: AllProducts, state: State, mask: Mask = None) -> Outputs:
        outputs = unroll_minimal(a, state[0])
        return outputs, (outputs[:, -1],)


class MinLSTM(Cell):
    """The minimal LSTM (Feng et al., 2024).

    f, i = σ(W x + b)                forget and input gates
    n    = W x + b                   candidate
    h'   = f / (f + i) ⊙ h + i / (f + i) ⊙ n
    """

    products = 3
    recurrent = 0
    keeps, lets_in = 0, 1
    takes = frozenset({"forget_bias", "span"})
    refuses = _REFUSES

    def step(self, a: Products, state: State, recur: Recur) -> State:
        keep, new = self._shares(a)
        return (keep * state[0] + new,)

    def unrolled(self, a: AllProducts, state: State, mask: Mask = None) -> Outputs:
        outputs = unroll_minimal(a, state[0])
        return outputs, (outputs[:, -1],)

    def _shares(self, a: Tensor) -> tuple[Tensor, Tensor]:
        """What is kept of the state, and what is added to it."""
        f, i, n = a.chunk(3, dim=-1)
        f, i = f.sigmoid(), i.sigmoid()
        record(self, "gate.forget", f)
        record(self, "gate.input", i)
        return f / (f + i), i / (f + i) * n
