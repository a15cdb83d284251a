"""The steps of all recurrent cells in NumPy, one class for each cell of `nn/cells`."""

from collections.abc import Callable
from typing import Any

import numpy as np

from .base import GateActivation, MatrixProduct, NumpyCell, Row, Rows, to_array


def _tanh(v: Row) -> None:
    np.tanh(v, out=v)


def _relu(v: Row) -> None:
    np.maximum(v, 0, out=v)


def activation_of(activation: str, size: int) -> Callable[[Row], None]:
    """An activation function that works in place on `size` components."""
    functions: dict[str, Callable[[Row], None]] = {
        "tanh": _tanh,
        "relu": _relu,
        "sigmoid": GateActivation([True], size),
    }
    return functions[activation]


class NumpyElman(NumpyCell):
    """Elman RNN: h' = φ(W x + b + U h)."""

    def build(self, cell: Any) -> None:
        self.activate = activation_of(cell.activation, self.hidden)

    def step(self, a: Row, state: Rows) -> Rows:
        h = self.add_recurrent(a, state[0]).copy()  # the product's memory is used again
        self.activate(h)
        return (h,)


class NumpyContextRNN(NumpyCell):
    """Context RNN: h, c' = φ(W x + b + V c);   y = φ(W [h; c'] + b)."""

    def build(self, cell: Any) -> None:
        self.activate = activation_of(cell.activation, 2 * self.hidden)
        self.activate_output = activation_of(cell.activation, self.hidden)
        self.write, self.bias = MatrixProduct(cell.write.weight), to_array(cell.write.bias)

    def step(self, a: Row, state: Rows) -> Rows:
        both = self.add_recurrent(a, state[1])
        self.activate(both)
        y = self.write(both) + self.bias
        self.activate_output(y)
        return y, both[self.hidden :].copy()


class NumpyCarousel(NumpyCell):
    """Constant error carousel: h' = h + W x + b."""

    def step(self, a: Row, state: Rows) -> Rows:
        return (state[0] + a,)


class NumpyGRUSimple(NumpyCell):
    """GRU without a reset gate: h' = (1 - z) ⊙ n + z ⊙ h."""

    gates = (True, False)

    def step(self, a: Row, state: Rows) -> Rows:
        (h,) = state
        v = self.add_recurrent(a, h)
        self.activate_gates(v)
        z, n = v.reshape(2, -1)
        return (_interpolate(z, n, h),)


class NumpyGRUResetAfter(NumpyCell):
    """GRU, reset after the product: n = tanh(W x + b + r ⊙ (U h + d)), one product for all."""

    gates = (True, True)

    def build(self, cell: Any) -> None:
        self.d = to_array(cell.recur.bias)

    def step(self, a: Row, state: Rows) -> Rows:
        (h,) = state
        assert self.recur is not None  # noqa: S101 - for the type checker
        v = self.recur(h)
        gates, n = v[: 2 * self.hidden], v[2 * self.hidden :]
        gates += a[: 2 * self.hidden]
        self.activate_gates(gates)
        r, z = gates.reshape(2, -1)
        n += self.d
        n *= r
        n += a[2 * self.hidden :]
        np.tanh(n, out=n)
        return (_interpolate(z, n, h),)


class NumpyGRUResetBefore(NumpyCell):
    """GRU, reset before the product: n = tanh(W x + b + U (r ⊙ h)), which waits for r."""

    gates = (True, True)

    def build(self, cell: Any) -> None:
        gates, candidate = cell.recur.weight.split([2 * self.hidden, self.hidden])
        self.first, self.second = MatrixProduct(gates), MatrixProduct(candidate)
        self.recur = None  # two products instead

    def step(self, a: Row, state: Rows) -> Rows:
        (h,) = state
        v = self.first(h)
        v = v if self.norm is None else self.norm(v, 0, 2)
        v += a[: 2 * self.hidden]
        self.activate_gates(v)
        r, z = v.reshape(2, -1)
        n = self.second(r * h)
        n = n if self.norm is None else self.norm(n, 2, 3)
        n += a[2 * self.hidden :]
        np.tanh(n, out=n)
        return (_interpolate(z, n, h),)


def numpy_gru(cell: Any, norm: Any = None) -> NumpyCell:
    """The NumPy step of a GRU, by where its reset gate is applied."""
    kinds: dict[str, type[NumpyCell]] = {"after": NumpyGRUResetAfter, "before": NumpyGRUResetBefore}
    return kinds[cell.reset](cell, norm)


class NumpyMinGRU(NumpyCell):
    """minGRU: h' = (1 - z) ⊙ h + z ⊙ n."""

    gates = (True,)

    def step(self, a: Row, state: Rows) -> Rows:
        z = a[: self.hidden].copy()
        self.activate_gates(z)
        return (_interpolate(z, state[0], a[self.hidden :]),)


class NumpyMinLSTM(NumpyCell):
    """minLSTM: h' = f / (f + i) ⊙ h + i / (f + i) ⊙ n."""

    gates = (True,)

    def step(self, a: Row, state: Rows) -> Rows:
        # -log f and -log i; i / (f + i) = σ(log i - log f), also where both gates underflow to 0
        minus_log = np.logaddexp(np.float32(0), -a[: 2 * self.hidden])
        share: Row = minus_log[: self.hidden] - minus_log[self.hidden :]
        self.activate_gates(share)
        return (_interpolate(share, state[0], a[2 * self.hidden :]),)


def _interpolate(z: Row, new: Row, old: Row) -> Row:
    """(1 - z) ⊙ new + z ⊙ old."""
    state: Row = (1 - z) * new
    state += z * old
    return state


class NumpyLSTMSimple(NumpyCell):
    """LSTM without a forget gate: c' = c + i ⊙ g;   h' = o ⊙ tanh(c')."""

    gates = (True, False, True)

    def step(self, a: Row, state: Rows) -> Rows:
        h, c = state
        v = self.add_recurrent(a, h)
        self.activate_gates(v)
        i, g, o = v.reshape(3, -1)
        return _output(c, i, g, o)


class NumpyLSTM(NumpyCell):
    """LSTM: c' = f ⊙ c + i ⊙ g;   h' = o ⊙ tanh(c')."""

    gates = (True, True, False, True)

    def step(self, a: Row, state: Rows) -> Rows:
        h, c = state
        v = self.add_recurrent(a, h)
        self.activate_gates(v)
        i, f, g, o = v.reshape(4, -1)
        return _output(f * c, i, g, o)


class NumpyLSTMPeephole(NumpyCell):
    """LSTM with peepholes: i and f also see P c, and o sees P c'."""

    gates = (True, True, False)  # the output gate waits for the new cell state

    def build(self, cell: Any) -> None:
        peep = cell.peep
        self.is_full = peep.dim() > 2
        self.old = MatrixProduct(peep[:2].flatten(0, 1)) if self.is_full else None
        self.new = MatrixProduct(peep[2]) if self.is_full else None
        self.diagonal = to_array(peep)
        self.last = GateActivation([True], self.hidden)

    def step(self, a: Row, state: Rows) -> Rows:
        h, c = state
        v = self.add_recurrent(a, h)
        first, o = v[: 3 * self.hidden], v[3 * self.hidden :]
        old = (self.diagonal[:2] * c).ravel() if self.old is None else self.old(c)
        first[: 2 * self.hidden] += old
        self.activate_gates(first)
        i, f, g = first.reshape(3, -1)
        c = f * c + i * g
        o += self.diagonal[2] * c if self.new is None else self.new(c)
        self.last(o)
        return o * np.tanh(c), c


def _output(kept: Row, i: Row, g: Row, o: Row) -> Rows:
    """h' and c' = kept + i ⊙ g, where kept is f ⊙ c or c."""
    c = i * g
    c += kept
    h = np.tanh(c)
    h *= o
    return h, c
