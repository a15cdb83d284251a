"""minGRU and minLSTM: the gates see the input only, so that training is a parallel scan."""

from torch import Tensor
from torch.nn.functional import logsigmoid

from ...trace import record
from ..kernels import unroll_minimal
from .base import AllProducts, Cell, Mask, Outputs, Products, RecurrentProduct, State

_SCAN = "it is trained by a parallel scan, where nothing may depend on the previous state"
_UNSUPPORTED = {"zoneout": _SCAN, "recurrent_dropout": _SCAN, "skip": _SCAN, "start": "it has no U"}


class MinGRU(Cell):
    """Minimal GRU, minGRU (Feng et al., 2024).

    z  = σ(W x + b)                  update gate: how much is new
    n  = W x + b                     candidate
    h' = (1 - z) ⊙ h + z ⊙ n
    """

    products = 2
    recurrent = 0
    unsupported = _UNSUPPORTED

    def step(self, a: Products, state: State, recur: RecurrentProduct) -> State:
        z, n = a.chunk(2, dim=-1)
        z = z.sigmoid()
        record(self, "gate.update", z)
        return ((1 - z) * state[0] + z * n,)

    def unroll_products(self, a: AllProducts, state: State, mask: Mask = None) -> Outputs:
        outputs = unroll_minimal(a, state[0])
        return outputs, (outputs[:, -1],)


class MinLSTM(Cell):
    """Minimal LSTM, minLSTM (Feng et al., 2024), with normalised gates.

    f, i = σ(W x + b)                forget and input gates
    n    = W x + b                   candidate
    h'   = f / (f + i) ⊙ h + i / (f + i) ⊙ n

    The share f / (f + i) is σ(log f - log i), which is defined where both gates underflow to 0.
    """

    products = 3
    recurrent = 0
    forget_block, input_block = 0, 1
    own_options = frozenset({"forget_bias", "span"})
    unsupported = _UNSUPPORTED

    def step(self, a: Products, state: State, recur: RecurrentProduct) -> State:
        keep, new = self._normalised(a)
        return (keep * state[0] + new,)

    def unroll_products(self, a: AllProducts, state: State, mask: Mask = None) -> Outputs:
        outputs = unroll_minimal(a, state[0])
        return outputs, (outputs[:, -1],)

    def _normalised(self, a: Tensor) -> tuple[Tensor, Tensor]:
        """f / (f + i), and i / (f + i) ⊙ n, which is added to the state."""
        f, i, n = a.chunk(3, dim=-1)
        record(self, "gate.forget", f.sigmoid())
        record(self, "gate.input", i.sigmoid())
        log_ratio = logsigmoid(f) - logsigmoid(i)
        return log_ratio.sigmoid(), (-log_ratio).sigmoid() * n
