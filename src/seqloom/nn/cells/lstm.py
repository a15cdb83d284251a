"""LSTM cells: the constant error carousel, without and with a forget gate, with peepholes."""

import torch
from jaxtyping import Float
from torch import Tensor, nn

from ...trace import record
from ..kernels import unroll_lstm, unroll_minimal, use_compiled
from .base import AllProducts, Cell, Mask, Outputs, Products, RecurrentProduct, State
from .options import RNNOptions

_ONLY = "it only accumulates its inputs"


class ConstantErrorCarousel(Cell):
    """Constant error carousel (Hochreiter, 1991): a linear unit with a self-connection of weight 1.

    h' = h + W x + b

    ∂h'/∂h is the identity: gradients do not vanish, and nothing is forgotten.
    """

    products = 1
    recurrent = 0
    unsupported = {"zoneout": _ONLY, "recurrent_dropout": _ONLY, "start": "it has no matrix U"}

    def jacobian_bound(self) -> float:
        return 1.0

    def step(self, a: Products, state: State, recur: RecurrentProduct) -> State:
        return (state[0] + a,)

    def unroll_products(self, a: AllProducts, state: State, mask: Mask = None) -> Outputs:
        """A cumulative sum."""
        outputs = unroll_minimal(a, state[0])
        return outputs, (outputs[:, -1],)


# When the compiled unroll replaces torch's kernel in training. It gives each thread sequences of
# its own, which pays from so many sequences and so many output values on; torch splits each product
# among the threads, and waits for all of them at every step.
MIN_OUTPUTS = 1 << 15
MIN_SEQUENCES = 8


class LSTMSimple(Cell):
    """LSTM without a forget gate, as first published (Hochreiter & Schmidhuber, 1997).

    i, o = σ(W x + b + U h)          input and output gates
    g    = tanh(W x + b + U h)       candidate
    c'   = c + i ⊙ g
    h'   = o ⊙ tanh(c')
    """

    tensors = 2
    products = 3

    def step(self, a: Products, state: State, recur: RecurrentProduct) -> State:
        h, c = state
        i, g, o = (a + recur(h)).chunk(3, dim=-1)
        i, o = i.sigmoid(), o.sigmoid()
        record(self, "gate.input", i)
        record(self, "gate.output", o)
        c = c + i * g.tanh()
        return o * c.tanh(), c

    def unroll_products(self, a: AllProducts, state: State, mask: Mask = None) -> Outputs:
        return _unroll(self, a, state, mask, None)


class LSTM(Cell):
    """Long short-term memory (LSTM) with a forget gate (Gers et al., 2000).

    i, f, o = σ(W x + b + U h)       input, forget and output gates
    g       = tanh(W x + b + U h)    candidate
    c'      = f ⊙ c + i ⊙ g
    h'      = o ⊙ tanh(c')
    """

    tensors = 2
    products = 4
    forget_block, input_block = 1, 0
    own_options = frozenset({"forget_bias", "span"})

    def step(self, a: Products, state: State, recur: RecurrentProduct) -> State:
        h, c = state
        i, f, g, o = (a + recur(h)).chunk(4, dim=-1)
        i, f, o = i.sigmoid(), f.sigmoid(), o.sigmoid()
        for name, gate in (("input", i), ("forget", f), ("output", o)):
            record(self, f"gate.{name}", gate)
        c = f * c + i * g.tanh()
        return o * c.tanh(), c

    def unroll(self, x: Float[Tensor, "batch time inputs"], state: State) -> Outputs:
        """Torch's fused kernel, except where the compiled unroll is faster."""
        assert self.recur is not None  # noqa: S101 - for the type checker
        h, c = state
        large = len(x) >= MIN_SEQUENCES and h.numel() * x.shape[1] >= MIN_OUTPUTS
        if large and torch.is_grad_enabled() and use_compiled(x, h):
            return super().unroll(x, state)
        bias = self.read.bias
        weights = [self.read.weight, self.recur.weight, bias, torch.zeros_like(bias)]
        grad = torch.is_grad_enabled()
        outputs, h, c = torch.lstm(x, (h[None], c[None]), weights, True, 1, 0.0, grad, False, True)
        return outputs, (h[0], c[0])

    def unroll_products(self, a: AllProducts, state: State, mask: Mask = None) -> Outputs:
        return _unroll(self, a, state, mask, None)


class LSTMPeephole(LSTM):
    """LSTM with peephole connections (Gers & Schmidhuber, 2000).

    i, f = σ(W x + b + U h + P c)    input and forget gates see the old cell state
    g    = tanh(W x + b + U h)       candidate
    c'   = f ⊙ c + i ⊙ g
    o    = σ(W x + b + U h + P c')   the output gate sees the new one
    h'   = o ⊙ tanh(c')

    P is a full matrix for each gate, or by option a diagonal one: P c = p ⊙ c.
    """

    own_options = frozenset({"forget_bias", "span", "peepholes"})

    def build(self, rnn_options: RNNOptions) -> None:
        width = (
            (self.hidden,) if rnn_options.peepholes == "diagonal" else (self.hidden, self.hidden)
        )
        self.peep = nn.Parameter(torch.empty(3, *width))  # P of the gates i, f and o

    def step(self, a: Products, state: State, recur: RecurrentProduct) -> State:
        h, c = state
        i, f, g, o = (a + recur(h)).chunk(4, dim=-1)
        i = (i + self.peephole(c, 0)).sigmoid()
        f = (f + self.peephole(c, 1)).sigmoid()
        c = f * c + i * g.tanh()
        o = (o + self.peephole(c, 2)).sigmoid()
        for name, gate in (("input", i), ("forget", f), ("output", o)):
            record(self, f"gate.{name}", gate)
        return o * c.tanh(), c

    def peephole(self, c: Tensor, gate: int) -> Tensor:
        """P c of one gate."""
        p = self.peep[gate]
        return c @ p.t() if p.dim() > 1 else c * p

    def unroll(self, x: Float[Tensor, "batch time inputs"], state: State) -> Outputs:
        return self.unroll_products(self.input_products(x), state)

    def unroll_products(self, a: AllProducts, state: State, mask: Mask = None) -> Outputs:
        return _unroll(self, a, state, mask, self.peep)


def _unroll(
    cell: Cell, a: Tensor, state: State, mask: Tensor | None, peep: Tensor | None
) -> Outputs:
    assert cell.recur is not None  # noqa: S101 - for the type checker
    h, c = state
    outputs, last = unroll_lstm(a, cell.recur.weight, h, c, mask, peep)
    return outputs, (outputs[:, -1], last)
