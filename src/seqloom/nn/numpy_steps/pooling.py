"""From the states so far to one for the whole, kept up to date state by state.

Sums are kept in double precision: a stream may go on for millions of steps.
"""

from typing import Any, Protocol, runtime_checkable

import numpy as np

from ..pooling import Pooling
from .base import Row, Rows, array_of


@runtime_checkable
class RunningPool(Protocol):
    """What a pooling has to remember of the states it has seen."""

    def begin(self) -> Rows:
        """Before any state."""
        ...

    def step(self, output: Row, end: Row, memory: Rows) -> tuple[Row, Rows]:
        """The pooled state with one more, and what is remembered."""
        ...


class _Last:
    """The last output."""

    def __init__(self, pooling: Pooling, hidden: int) -> None:
        return

    def begin(self) -> Rows:
        return ()

    def step(self, output: Row, end: Row, memory: Rows) -> tuple[Row, Rows]:
        return output, memory


class _Ends(_Last):
    """What the top layer itself ended with."""

    def step(self, output: Row, end: Row, memory: Rows) -> tuple[Row, Rows]:
        return end, memory


class _Mean:
    """The sum so far and how many it is of."""

    def __init__(self, pooling: Pooling, hidden: int) -> None:
        self.hidden = hidden

    def begin(self) -> Rows:
        return np.zeros(self.hidden), np.zeros(1)

    def step(self, output: Row, end: Row, memory: Rows) -> tuple[Row, Rows]:
        total, count = memory[0] + output, memory[1] + 1
        return (total / count).astype(output.dtype), (total, count)


class _Max:
    """The largest of each number so far."""

    def __init__(self, pooling: Pooling, hidden: int) -> None:
        self.hidden = hidden

    def begin(self) -> Rows:
        return (np.full(self.hidden, -np.inf, np.float32),)

    def step(self, output: Row, end: Row, memory: Rows) -> tuple[Row, Rows]:
        largest = np.maximum(memory[0], output)
        return largest, (largest,)


class _Attentive:
    """Σ e^s h and Σ e^s, both times e^{-m}, where m is the largest score s so far."""

    def __init__(self, pooling: Pooling, hidden: int) -> None:
        summary: Any = pooling.attention
        self.hide, self.bias = array_of(summary.hide.weight), array_of(summary.hide.bias)
        self.score, self.hidden = array_of(summary.score.weight)[0], hidden

    def begin(self) -> Rows:
        return np.zeros(self.hidden), np.zeros(1), np.full(1, -np.inf)

    def step(self, output: Row, end: Row, memory: Rows) -> tuple[Row, Rows]:
        total, weight, largest = memory
        score = np.float64(self.score @ np.tanh(self.hide @ output + self.bias))
        now = np.maximum(largest, score)
        old, new = np.exp(largest - now), np.exp(score - now)
        total, weight = total * old + output * new, weight * old + new
        return (total / weight).astype(output.dtype), (total, weight, now)


_KINDS: dict[str, type[_Last] | type[_Mean] | type[_Max] | type[_Attentive]] = {
    "last": _Last,
    "ends": _Ends,
    "mean": _Mean,
    "max": _Max,
    "attentive": _Attentive,
}


def running_pool(pooling: Pooling, hidden: int) -> RunningPool:
    """The twin of a pooling."""
    return _KINDS[pooling.kind](pooling, hidden)
