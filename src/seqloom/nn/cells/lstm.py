"""Long short-term memory in the steps of its history.

The constant error carousel.
"""

import torch
from jaxtyping import Float
from torch import Tensor, nn

from ...trace import record
from ..kernels import compiled_pays, unroll_lstm, unroll_minimal
from .base import AllProducts, Cell, Mask, Outputs, Products, Recur, State
from .options import Wiring

_ONLY = "it only adds up what comes in"


class Carousel(Cell):
    """The constant error carousel (Hochreiter, 1991): a linear unit that feeds itself by weight 1.

    h' = h + W x + b

    ∂h'/∂h is the identity: no gradient fades, and nothing is ever forgotten.
    """

    products = 1
    recurrent = 0
    refuses = {"zoneout": _ONLY, "recurrent_dropout": _ONLY, "start": "it has no matrix U"}

    def stretch(self) -> float:
        return 1.0

    def step(self, a: Products, state: State, recur: Recur) -> State:
        return (state[0] + a,)

    def unrolled(self, a: AllProducts, state: State, mask: Mask = None) -> Outputs:
        """A running sum."""
        outputs = unroll_minimal(a, state[0])
        return outputs, (outputs[:, -1],)


LARGE = 1 << 15  # numbers of all outputs, from which on torch's kernel is not the quickest,
MANY = 8  # and sequences: the compiled unroll shares these among threads, torch the numbers of each


class LSTMSimple(Cell):
    """Long short-term memory as it was first, without forgetting (Hochreiter & Schmidhuber, 1997).

    i, o = σ(W x + b + U h)          input and output gates
    g    = tanh(W x + b + U h)       candidate
    c'   = c + i ⊙ g
    h'   = o ⊙ tanh(c')
    """

    tensors = 2
    products = 3

    def step(self, a: Products, state: State, recur: Recur) -> State:
        h, c = state
        i, g, o = (a + recur(h)).chunk(3, dim=-1)
        i, o = i.sigmoid(), o.sigmoid()
        record(self, "gate.input", i)
        record(self, "gate.output", o)
        c = c + i * g.tanh()
        return o * c.tanh(), c

    def unrolled(self, a: AllProducts, state: State, mask: Mask = None) -> Outputs:
        return _unrolled(self, a, state, mask, None)


class LSTM(Cell):
    """Long short-term memory with a forget gate (Gers et al., 2000).

    i, f, o = σ(W x + b + U h)       input, forget and output gates
    g       = tanh(W x + b + U h)    candidate
    c'      = f ⊙ c + i ⊙ g
    h'      = o ⊙ tanh(c')
    """

    tensors = 2
    products = 4
    keeps, lets_in = 1, 0
    takes = frozenset({"forget_bias", "span"})

    def step(self, a: Products, state: State, recur: Recur) -> State:
        h, c = state
        i, f, g, o = (a + recur(h)).chunk(4, dim=-1)
        i, f, o = i.sigmoid(), f.sigmoid(), o.sigmoid()
        for name, gate in (("input", i), ("forget", f), ("output", o)):
            record(self, f"gate.{name}", gate)
        c = f * c + i * g.tanh()
        return o * c.tanh(), c

    def quick(self, x: Float[Tensor, "batch time inputs"], state: State) -> Outputs:
        """Torch's kernel, except where the compiled unroll is quicker."""
        assert self.recur is not None  # noqa: S101 - for the type checker
        h, c = state
        large = len(x) >= MANY and h.numel() * x.shape[1] >= LARGE
        if large and torch.is_grad_enabled() and compiled_pays(x, h):
            return super().quick(x, state)
        bias = self.read.bias
        weights = [self.read.weight, self.recur.weight, bias, torch.zeros_like(bias)]
        grad = torch.is_grad_enabled()
        outputs, h, c = torch.lstm(x, (h[None], c[None]), weights, True, 1, 0.0, grad, False, True)
        return outputs, (h[0], c[0])

    def unrolled(self, a: AllProducts, state: State, mask: Mask = None) -> Outputs:
        return _unrolled(self, a, state, mask, None)


class LSTMPeephole(LSTM):
    """An LSTM whose gates see the memory (Gers & Schmidhuber, 2000).

    i, f = σ(W x + b + U h + P c)    input and forget gates see the old memory
    g    = tanh(W x + b + U h)       candidate
    c'   = f ⊙ c + i ⊙ g
    o    = σ(W x + b + U h + P c')   the output gate sees the new one
    h'   = o ⊙ tanh(c')

    P is a full matrix for each gate, or by option a diagonal one: P c = p ⊙ c.
    """

    takes = frozenset({"forget_bias", "span", "peepholes"})

    def build(self, wiring: Wiring) -> None:
        width = (self.hidden,) if wiring.peepholes == "diagonal" else (self.hidden, self.hidden)
        self.peep = nn.Parameter(torch.empty(3, *width))  # of the gates i, f and o

    def step(self, a: Products, state: State, recur: Recur) -> State:
        h, c = state
        i, f, g, o = (a + recur(h)).chunk(4, dim=-1)
        i = (i + self.seen(c, 0)).sigmoid()
        f = (f + self.seen(c, 1)).sigmoid()
        c = f * c + i * g.tanh()
        o = (o + self.seen(c, 2)).sigmoid()
        for name, gate in (("input", i), ("forget", f), ("output", o)):
            record(self, f"gate.{name}", gate)
        return o * c.tanh(), c

    def seen(self, c: Tensor, gate: int) -> Tensor:
        """P c of one gate."""
        p = self.peep[gate]
        return c @ p.t() if p.dim() > 1 else c * p

    def quick(self, x: Float[Tensor, "batch time inputs"], state: State) -> Outputs:
        return self.unrolled(self.read_all(x), state)

    def unrolled(self, a: AllProducts, state: State, mask: Mask = None) -> Outputs:
        return _unrolled(self, a, state, mask, self.peep)


def _unrolled(
    cell: Cell, a: Tensor, state: State, mask: Tensor | None, peep: Tensor | None
) -> Outputs:
    assert cell.recur is not None  # noqa: S101 - for the type checker
    h, c = state
    outputs, memory = unroll_lstm(a, cell.recur.weight, h, c, mask, peep)
    return outputs, (outputs[:, -1], memory)
