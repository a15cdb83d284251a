"""N-gram language model with back-off: counting, smoothing, scoring and decoding."""

from collections.abc import Mapping

import numpy as np
from jaxtyping import Float, Int

from ..batch import Batch, Sequences
from ..config import Size
from ..decoding import beam_search
from ..errors import ModelError
from ..model import Model, Prediction, Search, State, Weights
from ..signature import BEGIN, PAD, Form, Signature, Tokens
from ..statistical.ngram.backoff import BackoffModel, build_backoff
from ..statistical.ngram.counts import MEBIBYTE, CountedKeys, KeyPacking, NGramCounts
from ..statistical.ngram.levels import levels_of
from ..statistical.ngram.smoothing import Smoothing, SmoothingSettings, smooth


class NGram(Model):
    """N-gram language model with back-off: Kneser-Ney, Katz, Witten-Bell and other smoothing.

    p(w | u) = P(u w)              if u w was seen in training
               B(u) p(w | u')      else; u' is u without its first token

    Smoothing turns counts into P and back-off weights B. A text is BEGIN, its tokens and END;
    contexts do not reach back beyond BEGIN. PAD and BEGIN are never predicted.

    Args:
        order: N-gram order: 2 is a bigram model, 3 a trigram model.
        smoothing: Smoothing method.
        k: For add-k alone: the k that is added to every count.
        min_frequency: Minimum count of unigrams, bigrams, … to be kept, as [1, 1, 2]; the last is
            for all longer n-grams. Empty: 1, and for katz [1, 1, 2].
        good_turing: For katz alone: highest count that is discounted (Good-Turing), of unigrams,
            bigrams, …; the last is for all longer n-grams.
        memory: Memory limit of counting, in MiB; counts beyond it go to disk.
    """

    forms = frozenset({Form.NEXT})
    learns = "closed form (n-gram counts, smoothed)"
    in_order = True

    def __init__(
        self,
        signature: Signature,
        *,
        order: Size = 5,
        smoothing: Smoothing = "modified-kneser-ney",
        k: float = 1.0,
        min_frequency: tuple[int, ...] = (),
        good_turing: tuple[int, ...] = (1, 7),
        memory: int = 1024,
    ) -> None:
        super().__init__(signature)
        if not isinstance(signature.target, Tokens):
            raise ModelError("M122", "an n-gram model predicts tokens, not labels")
        if order < 1:
            raise ModelError(
                "M122", f"model.order = {order}: expected a whole number of at least 1"
            )
        self.order, self.vocabulary = order, signature.target.size
        default = (1, 1, 2) if smoothing == "katz" else (1,)
        least = _counts("min_frequency", min_frequency or default, 1)
        if list(least) != sorted(least):
            raise _wrong(
                "min_frequency", list(least), "must not fall: an n-gram needs its prefix to be kept"
            )
        if k <= 0:
            raise _wrong("k", k, "must be above 0; for no smoothing: maximum-likelihood")
        if memory < 0:
            raise _wrong("memory", memory, "must not be negative: it is in MiB")
        discounted = _counts("good_turing", good_turing, 0)
        self.settings = SmoothingSettings(smoothing, k, least, discounted)
        self.memory = memory * MEBIBYTE
        self._packing = KeyPacking(order, self.vocabulary)
        self._grams = BackoffModel.uniform(self.vocabulary, order, self.settings.is_uniform)
        self._is_trained = False

    @property
    def grams(self) -> BackoffModel:
        """The smoothed back-off model."""
        return self._grams

    def statistics(self, batch: Batch) -> NGramCounts:
        return self.statistics_from(Batch(batch.target.shift_right(BEGIN), batch.target))[0]

    def statistics_from(self, segment: Batch, state: State = ()) -> tuple[NGramCounts, State]:
        """N-gram counts of a segment, and its last tokens as the context of the next one.

        `segment.source` is the predecessor of each target; the first segment has no state.
        """
        source, target = segment.source.values, segment.target
        before = state[0] if state else np.full((len(segment), self.order - 1), PAD)
        read = np.concatenate([before, source], axis=1)
        time, mask = source.shape[1], target.mask
        starts = range(self.order - 1, 0, -1)  # from the nearest token back
        columns = [read[:, start : start + time][mask] for start in starts]
        keys = self._packing.pack([*columns, target.values[mask]])
        rows = CountedKeys(keys, np.ones(len(keys), dtype=np.int64))
        last = target.lengths[:, None] + np.arange(self.order - 1)
        after = np.take_along_axis(read, last, axis=1)
        return NGramCounts(self._packing, self.memory, (rows,)), (after,)

    def update(self, statistics: NGramCounts) -> None:
        levels = levels_of(statistics.merged(), self._packing)
        self._grams = build_backoff(levels, smooth(levels, self.settings), self.settings.is_uniform)
        self._is_trained = True

    def log_prob(self, batch: Batch) -> Float[np.ndarray, " batch"]:
        segment = Batch(batch.target.shift_right(BEGIN), batch.target)
        log_probs, _ = self.log_probs_from(segment, self.begin(batch.source))
        total: np.ndarray = log_probs.sum(1)
        return total

    def log_probs_from(
        self, segment: Batch, state: State
    ) -> tuple[Float[np.ndarray, "batch time"], State]:
        """Log-probability of every target token, and the state after the segment."""
        (nodes,) = state
        source, target, mask = segment.source.values, segment.target, segment.target.mask
        some = np.flatnonzero(target.lengths)
        ends = np.cumsum(target.lengths[some])
        first = ends - target.lengths[some]
        found, contexts = self._grams.score(
            source[some, 0], target.values[mask], first, nodes[some]
        )
        log_probs, after = np.zeros(mask.shape), nodes.copy()
        log_probs[mask] = found
        for depth, context in enumerate(contexts):
            after[some, depth] = context[ends - 1]
        return log_probs, (after,)

    def predict(self, source: Sequences, search: Search) -> Prediction:
        return beam_search(self, source, search, prefix=source)

    def begin(self, source: Sequences) -> State:
        return (self._grams.begin(len(source)),)

    def step(
        self, tokens: Int[np.ndarray, " batch"], state: State
    ) -> tuple[Float[np.ndarray, "batch vocabulary"], State]:
        nodes = self._grams.read(tokens, state[0])
        return np.stack([self._grams.next_log_probs(row) for row in nodes]), (nodes,)

    @property
    def context_length(self) -> int:
        """Number of tokens before the predicted one that are read."""
        return self.order - 1

    def longest_context(self, read: Int[np.ndarray, " time"]) -> int:
        """Length of the longest suffix of these tokens that was counted in training."""
        nodes = self._grams.begin(1)
        for token in read:
            nodes = self._grams.read(np.array([token]), nodes)
        seen = np.flatnonzero(nodes[0] >= 0)
        return int(seen[-1]) + 1 if len(seen) else 0

    def weights(self) -> Weights:
        return self._grams.arrays()

    def restore(self, weights: Mapping[str, np.ndarray]) -> None:
        if weights.keys() != self.weights().keys():
            raise ModelError("M111", f"the counts do not fit an n-gram of order {self.order}")
        self._grams = BackoffModel.from_arrays(weights, self.order, self.settings.is_uniform)
        self._is_trained = True

    def num_parameters(self) -> int:
        """Number of learned numbers: none before training, as they are those of counted n-grams."""
        return super().num_parameters() if self._is_trained else 0


def _counts(option: str, counts: tuple[int, ...], least: int) -> tuple[int, ...]:
    """Counts by n-gram length, each at least `least`."""
    if not counts or min(counts) < least:
        raise _wrong(option, list(counts), f"must be at least {least}")
    return counts


def _wrong(option: str, value: object, problem: str) -> ModelError:
    example = {"min_frequency": "1,1,2", "good_turing": "1,7", "k": "0.1", "memory": "1024"}[option]
    message = f"model.{option} = {value!r} {problem}"
    return ModelError("M150", message, help=[f"--set model.{option}={example}"])
