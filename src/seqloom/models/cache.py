"""Cache language model: what was said a moment ago is likely to be said again."""

from collections.abc import Mapping
from typing import Literal

import numpy as np
from jaxtyping import Bool, Float, Int

from ..batch import Batch, Sequences
from ..decoding import search as find
from ..errors import ModelError
from ..model import Model, Prediction, Search, State, Weights
from ..signature import BEGIN, PAD, Form, Signature, Tokens

NEVER = (PAD, BEGIN)  # they mark places; nobody says them
COUNTS = "counts"


class Cache(Model):
    """Says again what was said lately, over how often symbols come at all (Kuhn & De Mori, 1990).

    p(w | h) = λ Σ_i a^(i-1) [w = h_-i] / Σ_i a^(i-1) + (1 - λ) p(w)      i = 1 ... window
    p(w)     = (c(w) + T / V) / (n + T)                                   Witten & Bell, 1991

    h_-i is the symbol i places back, λ the weight, a the decay; before the first symbol p(w) stands
    alone. c counts, n is their sum, T how many of the V symbols were seen in training. With an even
    base p(w) is 1 / V. PAD and BEGIN are never predicted.

    It is meant to be mixed with another model: seqloom mix.

    Args:
        window: How many symbols back it remembers.
        decay: How much less a symbol counts for each place further back; 1 counts all alike.
        weight: The share of what was said lately, from 0 to less than 1.
        base: What the rest is: unigram as often as in training, even all symbols alike.
    """

    forms = frozenset({Form.NEXT})
    in_order = True

    def __init__(
        self,
        signature: Signature,
        *,
        window: int = 200,
        decay: float = 1.0,
        weight: float = 0.5,
        base: Literal["unigram", "even"] = "unigram",
    ) -> None:
        super().__init__(signature)
        if not isinstance(signature.target, Tokens):
            raise ModelError("M170", "a cache remembers symbols; it cannot predict labels")
        if window < 1 or not 0 < decay <= 1 or not 0 <= weight < 1:
            raise ModelError(
                "M170",
                f"a cache of window {window}, decay {decay:g} and weight {weight:g} cannot be",
                help=["window at least 1, decay above 0 and at most 1, weight from 0 to below 1"],
            )
        self.window, self.decay, self.weight, self.base = window, decay, weight, base
        self.vocabulary = signature.target.size
        self._counts = np.zeros(self.vocabulary, dtype=np.int64)

    def statistics(self, batch: Batch) -> Int[np.ndarray, " vocabulary"]:
        return np.bincount(batch.target.values[batch.target.mask], minlength=self.vocabulary)

    def statistics_from(
        self, window: Batch, state: State
    ) -> tuple[Int[np.ndarray, " vocabulary"], State]:
        """A symbol counts the same wherever it stands, so nothing is carried on."""
        return self.statistics(window), state

    def update(self, statistics: Int[np.ndarray, " vocabulary"]) -> None:
        self._counts = statistics.astype(np.int64)

    def log_prob(self, batch: Batch) -> Float[np.ndarray, " batch"]:
        window = Batch(batch.target.late(BEGIN), batch.target)
        total: np.ndarray = self.log_probs_from(window, self.begin(batch.source))[0].sum(1)
        return total

    def log_probs_from(
        self, window: Batch, state: State
    ) -> tuple[Float[np.ndarray, "batch time"], State]:
        target, mask = window.target, window.target.mask
        # What place t has read lately stands in columns t + 1 ... t + window.
        read = np.concatenate([state[0], window.source.values], axis=1)
        is_said = _is_said(read)
        again, said = np.zeros(mask.shape), np.zeros(mask.shape)
        for back, weight in enumerate(self._weights()):
            first = self.window - back
            there = slice(first, first + mask.shape[1])
            again += weight * (is_said[:, there] & (read[:, there] == target.values))
            said += weight * is_said[:, there]
        chance = self._mixed(again, said, self._base()[target.values])
        after = window.source.lengths[:, None] + np.arange(self.window)
        return np.where(mask, _log(chance), 0.0), (np.take_along_axis(read, after, axis=1),)

    def predict(self, source: Sequences, search: Search) -> Prediction:
        return find(self, source, search, prefix=source)

    def begin(self, source: Sequences) -> State:
        return (np.full((len(source), self.window), BEGIN, dtype=np.int64),)

    def step(
        self, symbols: Int[np.ndarray, " batch"], state: State
    ) -> tuple[Float[np.ndarray, "batch vocabulary"], State]:
        lately = np.concatenate([state[0], symbols[:, None]], axis=1)[:, 1:]
        weight = _is_said(lately) * self._weights()[::-1]
        again = np.zeros((len(symbols), self.vocabulary))
        np.add.at(again, (np.arange(len(symbols))[:, None], lately), weight)
        chance = self._mixed(again, weight.sum(1, keepdims=True), self._base())
        return _log(chance), (lately,)

    def weights(self) -> Weights:
        return {COUNTS: self._counts}

    def restore(self, weights: Mapping[str, np.ndarray]) -> None:
        if weights.keys() != {COUNTS} or weights[COUNTS].shape != (self.vocabulary,):
            raise ModelError("M111", f"the counts do not fit a cache of {self.vocabulary} symbols")
        self._counts = np.array(weights[COUNTS])

    def _weights(self) -> Float[np.ndarray, " window"]:
        """How much each place back counts, the nearest first."""
        found: np.ndarray = self.decay ** np.arange(self.window)
        return found

    def _base(self) -> Float[np.ndarray, " vocabulary"]:
        """The chance of each symbol, whatever was said lately."""
        can_be = np.ones(self.vocabulary)
        can_be[list(NEVER)] = 0
        counts = self._counts * can_be if self.base == "unigram" else np.zeros(self.vocabulary)
        kinds = max(1, int(np.count_nonzero(counts)))
        found: np.ndarray = (counts + kinds * can_be / can_be.sum()) / (counts.sum() + kinds)
        return found

    def _mixed(
        self,
        again: Float[np.ndarray, "batch _"],
        said: Float[np.ndarray, "batch _"],
        base: Float[np.ndarray, "*_"],
    ) -> Float[np.ndarray, "batch _"]:
        """The cache with the base; the base alone where nothing was said yet."""
        share = np.where(said > 0, self.weight, 0.0)
        mixed: np.ndarray = share * again / np.where(said > 0, said, 1) + (1 - share) * base
        return mixed


def _is_said(symbols: Int[np.ndarray, "batch time"]) -> Bool[np.ndarray, "batch time"]:
    return ~np.isin(symbols, NEVER)


def _log(chance: Float[np.ndarray, "batch _"]) -> Float[np.ndarray, "batch _"]:
    """Logarithms; minus infinity of what can never be."""
    with np.errstate(divide="ignore"):
        found: np.ndarray = np.log(chance)
    return found
