"""Running pooling in NumPy: mean, max, last or attention over a stream, updated state by state.

Sums are kept in double precision: a stream may go on for millions of steps.
"""

from typing import Any, Protocol, runtime_checkable

import numpy as np

from ..pooling import Pooling
from .base import Row, Rows, to_array


@runtime_checkable
class RunningPool(Protocol):
    """Pooling over the states so far, with what it must remember of them."""

    def begin(self) -> Rows:
        """What is remembered before the first state."""
        ...

    def step(self, output: Row, final: Row, past: Rows) -> tuple[Row, Rows]:
        """The pooled vector with one more state, and what is remembered."""
        ...


class _Last:
    """The last output."""

    def __init__(self, pooling: Pooling, hidden: int) -> None:
        return

    def begin(self) -> Rows:
        return ()

    def step(self, output: Row, final: Row, past: Rows) -> tuple[Row, Rows]:
        return output, past


class _Final(_Last):
    """The final state of the top layer, before a residual connection."""

    def step(self, output: Row, final: Row, past: Rows) -> tuple[Row, Rows]:
        return final, past


class _Mean:
    """The mean: the sum so far, and the number of states."""

    def __init__(self, pooling: Pooling, hidden: int) -> None:
        self.hidden = hidden

    def begin(self) -> Rows:
        return np.zeros(self.hidden), np.zeros(1)

    def step(self, output: Row, final: Row, past: Rows) -> tuple[Row, Rows]:
        total, count = past[0] + output, past[1] + 1
        return (total / count).astype(output.dtype), (total, count)


class _Max:
    """The maximum of each component so far."""

    def __init__(self, pooling: Pooling, hidden: int) -> None:
        self.hidden = hidden

    def begin(self) -> Rows:
        return (np.full(self.hidden, -np.inf, np.float32),)

    def step(self, output: Row, final: Row, past: Rows) -> tuple[Row, Rows]:
        largest = np.maximum(past[0], output)
        return largest, (largest,)


class _Attentive:
    """Attention pooling by an online softmax: Σ e^(s-m) h and Σ e^(s-m), m: largest score so far.

    When m grows, both sums are rescaled; so no exponential overflows.
    """

    def __init__(self, pooling: Pooling, hidden: int) -> None:
        attention: Any = pooling.attention
        self.hide, self.bias = to_array(attention.hide.weight), to_array(attention.hide.bias)
        self.score, self.hidden = to_array(attention.score.weight)[0], hidden

    def begin(self) -> Rows:
        return np.zeros(self.hidden), np.zeros(1), np.full(1, -np.inf)

    def step(self, output: Row, final: Row, past: Rows) -> tuple[Row, Rows]:
        total, weight, largest = past
        score = np.float64(self.score @ np.tanh(self.hide @ output + self.bias))
        now = np.maximum(largest, score)
        old, new = np.exp(largest - now), np.exp(score - now)
        total, weight = total * old + output * new, weight * old + new
        return (total / weight).astype(output.dtype), (total, weight, now)


_KINDS: dict[str, type[_Last] | type[_Mean] | type[_Max] | type[_Attentive]] = {
    "last": _Last,
    "ends": _Final,
    "mean": _Mean,
    "max": _Max,
    "attentive": _Attentive,
}


def running_pool(pooling: Pooling, hidden: int) -> RunningPool:
    """The running version of a pooling layer."""
    return _KINDS[pooling.kind](pooling, hidden)
