"""Cache language model (Kuhn & De Mori, 1990): recent tokens are likely to come again."""

from collections.abc import Mapping
from typing import Literal

import numpy as np
from jaxtyping import Bool, Float, Int

from ..batch import Batch, Sequences
from ..decoding import beam_search
from ..errors import ModelError
from ..model import Model, Prediction, Search, State, Weights
from ..signature import BEGIN, PAD, Form, Signature, Tokens

SPECIAL = (PAD, BEGIN)  # never predicted
COUNTS = "counts"


class Cache(Model):
    """Cache language model: recent tokens, interpolated with unigrams (Kuhn & De Mori, 1990).

    p(w | h) = λ Σ_i a^(i-1) [w = h_-i] / Σ_i a^(i-1) + (1 - λ) p(w)      i = 1 ... window
    p(w)     = (c(w) + T / V) / (n + T)                                   Witten & Bell, 1991

    h_-i is the token i positions back, λ the weight, a the decay; for the first token p(w) is used
    alone. c are counts of tokens, n is their sum, and T the number of the V token types seen in
    training. With a uniform base (even) p(w) is 1 / V. PAD and BEGIN have probability 0.

    It is meant to be interpolated with another model: seqloom mix.

    Args:
        window: Cache size, in tokens.
        decay: Exponential decay of a token's count for each position further back; 1 is none.
        weight: Interpolation weight of the cache, from 0 to less than 1.
        base: Base distribution: unigram frequencies of training, or a uniform distribution (even).
    """

    forms = frozenset({Form.NEXT})
    learns = "closed form (unigram counts)"
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
            raise ModelError("M170", "a cache language model predicts tokens, not labels")
        if window < 1 or not 0 < decay <= 1 or not 0 <= weight < 1:
            raise ModelError(
                "M170",
                f"window = {window}, decay = {decay:g}, weight = {weight:g}: out of range",
                help=["window at least 1, decay above 0 and at most 1, weight from 0 to below 1"],
            )
        self.window, self.decay, self.weight, self.base = window, decay, weight, base
        self.vocabulary = signature.target.size
        self._counts = np.zeros(self.vocabulary, dtype=np.int64)

    def statistics(self, batch: Batch) -> Int[np.ndarray, " vocabulary"]:
        return np.bincount(batch.target.values[batch.target.mask], minlength=self.vocabulary)

    def statistics_from(
        self, segment: Batch, state: State
    ) -> tuple[Int[np.ndarray, " vocabulary"], State]:
        """Unigram counts do not depend on position, so there is no state."""
        return self.statistics(segment), state

    def update(self, statistics: Int[np.ndarray, " vocabulary"]) -> None:
        self._counts = statistics.astype(np.int64)

    def log_prob(self, batch: Batch) -> Float[np.ndarray, " batch"]:
        segment = Batch(batch.target.shift_right(BEGIN), batch.target)
        total: np.ndarray = self.log_probs_from(segment, self.begin(batch.source))[0].sum(1)
        return total

    def log_probs_from(
        self, segment: Batch, state: State
    ) -> tuple[Float[np.ndarray, "batch time"], State]:
        target, mask = segment.target, segment.target.mask
        # The cache of position t is columns t + 1 ... t + window. Looping over the distance back
        # keeps memory at (batch, time), and leaves position and batch to NumPy.
        read = np.concatenate([state[0], segment.source.values], axis=1)
        is_token = _is_token(read)
        matches, total = np.zeros(mask.shape), np.zeros(mask.shape)
        for back, weight in enumerate(self._weights()):
            first = self.window - back
            columns = slice(first, first + mask.shape[1])
            matches += weight * (is_token[:, columns] & (read[:, columns] == target.values))
            total += weight * is_token[:, columns]
        probabilities = self._interpolated(matches, total, self._base()[target.values])
        after = segment.source.lengths[:, None] + np.arange(self.window)
        log_probs = np.where(mask, _log(probabilities), 0.0)
        return log_probs, (np.take_along_axis(read, after, axis=1),)

    def predict(self, source: Sequences, search: Search) -> Prediction:
        return beam_search(self, source, search, prefix=source)

    def begin(self, source: Sequences) -> State:
        return (np.full((len(source), self.window), BEGIN, dtype=np.int64),)

    def step(
        self, tokens: Int[np.ndarray, " batch"], state: State
    ) -> tuple[Float[np.ndarray, "batch vocabulary"], State]:
        recent = np.concatenate([state[0], tokens[:, None]], axis=1)[:, 1:]
        weight = _is_token(recent) * self._weights()[::-1]
        matches = np.zeros((len(tokens), self.vocabulary))
        np.add.at(matches, (np.arange(len(tokens))[:, None], recent), weight)
        probabilities = self._interpolated(matches, weight.sum(1, keepdims=True), self._base())
        return _log(probabilities), (recent,)

    def weights(self) -> Weights:
        return {COUNTS: self._counts}

    def restore(self, weights: Mapping[str, np.ndarray]) -> None:
        if weights.keys() != {COUNTS} or weights[COUNTS].shape != (self.vocabulary,):
            raise ModelError("M111", f"the counts do not fit a cache of {self.vocabulary} tokens")
        self._counts = np.array(weights[COUNTS])

    def _weights(self) -> Float[np.ndarray, " window"]:
        """Decay weights a^(i-1), the nearest position first."""
        weights: np.ndarray = self.decay ** np.arange(self.window)
        return weights

    def _base(self) -> Float[np.ndarray, " vocabulary"]:
        """The base distribution p(w): unigrams with Witten-Bell smoothing, or uniform."""
        is_possible = np.ones(self.vocabulary)
        is_possible[list(SPECIAL)] = 0
        counts = np.zeros(self.vocabulary)
        if self.base == "unigram":
            counts = self._counts * is_possible
        types = max(1, int(np.count_nonzero(counts)))
        uniform = is_possible / is_possible.sum()
        base: np.ndarray = (counts + types * uniform) / (counts.sum() + types)
        return base

    def _interpolated(
        self,
        matches: Float[np.ndarray, "batch _"],
        total: Float[np.ndarray, "batch _"],
        base: Float[np.ndarray, "*_"],
    ) -> Float[np.ndarray, "batch _"]:
        """Cache and base interpolated; the base alone while the cache is empty."""
        weight = np.where(total > 0, self.weight, 0.0)
        cache = weight * matches / np.where(total > 0, total, 1)
        probabilities: np.ndarray = cache + (1 - weight) * base
        return probabilities


def _is_token(tokens: Int[np.ndarray, "batch time"]) -> Bool[np.ndarray, "batch time"]:
    return ~np.isin(tokens, SPECIAL)


def _log(probabilities: Float[np.ndarray, "batch _"]) -> Float[np.ndarray, "batch _"]:
    """Logarithms; minus infinity for probability 0."""
    with np.errstate(divide="ignore"):
        log_probs: np.ndarray = np.log(probabilities)
    return log_probs
