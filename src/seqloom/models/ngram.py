"""N-gram language model: counts of short contexts, interpolated down to no context at all."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from ..batch import Batch, Sequences
from ..decoding import search as find
from ..errors import ModelError
from ..forms import BEGIN, Form, Signature, Tokens
from ..model import Model, Prediction, Search, State, Weights


@dataclass(frozen=True)
class Counts:
    """How often each n-gram of the highest order was seen, one row each, in order."""

    rows: Int[np.ndarray, "kinds order"]
    times: Int[np.ndarray, " kinds"]

    @classmethod
    def of(cls, rows: Int[np.ndarray, "n order"], times: Int[np.ndarray, " n"]) -> "Counts":
        """Equal rows joined and their counts summed."""
        kinds, which = np.unique(rows, axis=0, return_inverse=True)
        return cls(kinds, np.bincount(which.ravel(), weights=times).astype(np.int64))

    def __add__(self, other: "Counts") -> "Counts":
        return Counts.of(
            np.concatenate([self.rows, other.rows]), np.concatenate([self.times, other.times])
        )


class NGram(Model):
    """Counts what followed the last few symbols, and mixes orders (Witten & Bell, 1991).

    p_k(w | u) = (c(u w) + T(u) p_{k-1}(w | u')) / (c(u) + T(u))

    c counts, T(u) is the number of different symbols seen after u, u' is u without its first
    symbol, and p_0 is even. Contexts form a tree read from the nearest symbol back: a context is a
    node, and the codes node · size + symbol, sorted, hold its longer contexts and what follows it.

    Args:
        order: How many symbols a gram has: 2 looks one symbol back, 3 looks two back.
    """

    forms = frozenset({Form.NEXT})

    def __init__(self, signature: Signature, *, order: int = 3) -> None:
        super().__init__(signature)
        if not isinstance(signature.target, Tokens):
            raise ModelError("M122", "an n-gram model counts symbols; it cannot predict labels")
        if order < 1:
            raise ModelError("M122", f"an n-gram has at least one symbol, not {order}")
        self.order, self.vocabulary = order, signature.target.size
        self._tree = {
            f"{name}.{level}": np.zeros(0, dtype=np.int64)
            for level in range(order)
            for name in ("contexts", "grams", "times")
        }

    def statistics(self, batch: Batch) -> Counts:
        grams = self._grams(batch.target)[batch.target.mask]
        return Counts.of(grams, np.ones(len(grams), dtype=np.int64))

    def update(self, statistics: Counts) -> None:
        rows, node = statistics.rows, np.zeros(len(statistics.rows), dtype=np.int64)
        for level in range(self.order):
            grams, which = np.unique(node * self.vocabulary + rows[:, -1], return_inverse=True)
            times = np.bincount(which.ravel(), weights=statistics.times).astype(np.int64)
            self._tree[f"grams.{level}"], self._tree[f"times.{level}"] = grams, times
            if level + 1 < self.order:
                codes = node * self.vocabulary + rows[:, -2 - level]
                self._tree[f"contexts.{level}"], node = np.unique(codes, return_inverse=True)
                node = node.ravel()

    def log_prob(self, batch: Batch) -> Float[np.ndarray, " batch"]:
        mask = batch.target.mask
        rows = self._grams(batch.target)[mask]
        chance, node = np.full(len(rows), 1 / self.vocabulary), np.zeros(len(rows), dtype=np.int64)
        for level in range(self.order):
            place = self._find(f"grams.{level}", node, rows[:, -1])
            times = np.append(self._tree[f"times.{level}"], 0)[place]
            chance = self._mixed(level, node, times, chance)
            if level + 1 < self.order:
                node = self._find(f"contexts.{level}", node, rows[:, -2 - level])
        logs = np.zeros(mask.shape)
        logs[mask] = np.log(chance)
        total: np.ndarray = logs.sum(1)
        return total

    def predict(self, source: Sequences, search: Search) -> Prediction:
        return find(self, source, search, prefix=source)

    def begin(self, source: Sequences) -> State:
        return (np.full((len(source), self.order - 1), BEGIN),)

    def step(
        self, symbols: Int[np.ndarray, " batch"], state: State
    ) -> tuple[Float[np.ndarray, "batch vocabulary"], State]:
        (before,) = state
        context = np.concatenate([before, symbols[:, None]], axis=1)[:, 1:]
        chance = np.full((len(symbols), self.vocabulary), 1 / self.vocabulary)
        node = np.zeros(len(symbols), dtype=np.int64)
        for level in range(self.order):
            chance = self._mixed(level, node, self._following(level, node), chance)
            if level + 1 < self.order:
                node = self._find(f"contexts.{level}", node, context[:, -1 - level])
        return np.log(chance), (context,)

    def weights(self) -> Weights:
        return dict(self._tree)

    def restore(self, weights: Mapping[str, np.ndarray]) -> None:
        if weights.keys() != self._tree.keys():
            raise ModelError("M111", f"the counts do not fit an n-gram of order {self.order}")
        self._tree = {name: np.array(array) for name, array in weights.items()}

    def _grams(self, target: Sequences) -> Int[np.ndarray, "batch time order"]:
        """Each symbol with those before it; a sequence is preceded by BEGIN for ever."""
        begin = np.full((len(target), self.order - 1), BEGIN)
        padded = np.concatenate([begin, target.values], axis=1)
        return np.lib.stride_tricks.sliding_window_view(padded, self.order, axis=1)

    def _find(
        self, name: str, node: Int[np.ndarray, " n"], symbol: Int[np.ndarray, " n"]
    ) -> Int[np.ndarray, " n"]:
        """The place of each code; -1 where it, or the context itself, was never seen."""
        codes = self._tree[name]
        code = np.where(node >= 0, node * self.vocabulary + symbol, -1)
        place = np.searchsorted(codes, code)
        found = np.append(codes, -2)[place] == code
        return np.where(found, place, -1)

    def _children(self, level: int, node: Int[np.ndarray, " n"]) -> tuple[np.ndarray, np.ndarray]:
        """From where to where the symbols that follow each context stand among the grams."""
        grams = self._tree[f"grams.{level}"]
        start = np.searchsorted(grams, node * self.vocabulary)
        end = np.searchsorted(grams, (node + 1) * self.vocabulary)
        return start, np.where(node >= 0, end, start)

    def _mixed(
        self, level: int, node: Int[np.ndarray, " n"], times: np.ndarray, lower: np.ndarray
    ) -> np.ndarray:
        """Witten and Bell's equation for one order; a context never seen leaves the lower one."""
        start, end = self._children(level, node)
        sums = np.concatenate([[0], np.cumsum(self._tree[f"times.{level}"])])
        shape = (len(node),) + (1,) * (lower.ndim - 1)
        kinds, count = (end - start).reshape(shape), (sums[end] - sums[start]).reshape(shape)
        mixed = (times + kinds * lower) / np.maximum(count + kinds, 1)
        return np.where(kinds > 0, mixed, lower)

    def _following(self, level: int, node: Int[np.ndarray, " n"]) -> np.ndarray:
        """How often each symbol of the vocabulary followed each context."""
        times = np.zeros((len(node), self.vocabulary), dtype=np.int64)
        for row, (start, end) in enumerate(zip(*self._children(level, node), strict=True)):
            symbols = self._tree[f"grams.{level}"][start:end] % self.vocabulary
            times[row, symbols] = self._tree[f"times.{level}"][start:end]
        return times
