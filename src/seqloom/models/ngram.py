"""N-gram language model: counts of short contexts, smoothed down to no context at all."""

from collections.abc import Mapping

import numpy as np
from jaxtyping import Float, Int

from ..batch import Batch, Sequences
from ..decoding import search as find
from ..errors import ModelError
from ..model import Model, Prediction, Search, State, Weights
from ..signature import BEGIN, PAD, Form, Signature, Tokens
from ..statistical.ngram.backoff import BackOff, linked
from ..statistical.ngram.counts import MEBIBYTE, Counts, Packing, Rows
from ..statistical.ngram.levels import levels_of
from ..statistical.ngram.smoothing import Settings, Smoothing, smooth


class NGram(Model):
    """Counts what followed the last few symbols, and falls back on fewer where it saw too little.

    p(w | u) = P(u w)              if u w was seen
               B(u) p(w | u')      else; u' is u without its first symbol

    How P and B come from counts is the smoothing. A text is BEGIN, its symbols and END; before
    BEGIN there is nothing, so that contexts are shorter there. PAD and BEGIN never follow.

    Args:
        order: How many symbols a gram has: 2 looks one symbol back, 3 looks two back.
        smoothing: How much of what was seen is given to what was not.
        k: For add-k alone: what is added to every count.
        at_least: How often grams of one symbol, of two, ... must be seen to be kept, as in "1,1,2";
            the last is for all longer ones. Empty: 1, and for katz 1,1,2.
        good_turing: For katz alone: the highest count that is discounted, of grams of one symbol,
            of two, ...; the last is for all longer ones.
        memory: In MiB: counting takes no more than this, and what is beyond it goes to the disk.
    """

    forms = frozenset({Form.NEXT})
    in_order = True

    def __init__(
        self,
        signature: Signature,
        *,
        order: int = 5,
        smoothing: Smoothing = "modified-kneser-ney",
        k: float = 1.0,
        at_least: str = "",
        good_turing: str = "1,7",
        memory: int = 1024,
    ) -> None:
        super().__init__(signature)
        if not isinstance(signature.target, Tokens):
            raise ModelError("M122", "an n-gram model counts symbols; it cannot predict labels")
        if order < 1:
            raise ModelError("M122", f"an n-gram has at least one symbol, not {order}")
        self.order, self.vocabulary = order, signature.target.size
        least = _numbers("at_least", at_least or ("1,1,2" if smoothing == "katz" else "1"), 1)
        if list(least) != sorted(least):
            raise _wrong("at_least", at_least, "must not fall: what is kept needs its beginning")
        if k <= 0:
            raise _wrong("k", k, "must be above 0; maximum-likelihood adds nothing")
        if memory < 0:
            raise _wrong("memory", memory, "is a number of MiB")
        discounted = _numbers("good_turing", good_turing, 0)
        self.settings = Settings(smoothing, k, least, discounted)
        self.memory = memory * MEBIBYTE
        self._packing = Packing(order, self.vocabulary)
        self._grams = BackOff.even(self.vocabulary, order, self.settings.is_flat)

    @property
    def grams(self) -> BackOff:
        """What was counted and smoothed, as a back-off model."""
        return self._grams

    def statistics(self, batch: Batch) -> Counts:
        return self.statistics_from(Batch(batch.target.late(BEGIN), batch.target))[0]

    def statistics_from(self, window: Batch, state: State = ()) -> tuple[Counts, State]:
        """What a window of longer texts adds, and the state to count the next one from.

        `window.source` is each target's predecessor; before the first window there is no state.
        """
        source, target = window.source.values, window.target
        before = state[0] if state else np.full((len(window), self.order - 1), PAD)
        read = np.concatenate([before, source], axis=1)
        time, mask = source.shape[1], target.mask
        starts = range(self.order - 1, 0, -1)  # from the nearest symbol back
        columns = [read[:, start : start + time][mask] for start in starts]
        keys = self._packing.pack([*columns, target.values[mask]])
        rows = Rows(keys, np.ones(len(keys), dtype=np.int64))
        last = target.lengths[:, None] + np.arange(self.order - 1)
        after = np.take_along_axis(read, last, axis=1)
        return Counts(self._packing, self.memory, (rows,)), (after,)

    def update(self, statistics: Counts) -> None:
        levels = levels_of(statistics.merged(), self._packing)
        self._grams = linked(levels, smooth(levels, self.settings), self.settings.is_flat)

    def log_prob(self, batch: Batch) -> Float[np.ndarray, " batch"]:
        window = Batch(batch.target.late(BEGIN), batch.target)
        log_probs, _ = self.log_probs_from(window, self.begin(batch.source))
        total: np.ndarray = log_probs.sum(1)
        return total

    def log_probs_from(
        self, window: Batch, state: State
    ) -> tuple[Float[np.ndarray, "batch time"], State]:
        """Log-probability of every target symbol, and the state after the window."""
        (nodes,) = state
        source, target, mask = window.source.values, window.target, window.target.mask
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
        return find(self, source, search, prefix=source)

    def begin(self, source: Sequences) -> State:
        return (self._grams.begin(len(source)),)

    def step(
        self, symbols: Int[np.ndarray, " batch"], state: State
    ) -> tuple[Float[np.ndarray, "batch vocabulary"], State]:
        nodes = self._grams.read(symbols, state[0])
        return np.stack([self._grams.following(row) for row in nodes]), (nodes,)

    def matched(self, read: Int[np.ndarray, " time"]) -> int:
        """How long the longest context is that was counted, of those that end here."""
        nodes = self._grams.begin(1)
        for symbol in read:
            nodes = self._grams.read(np.array([symbol]), nodes)
        seen = np.flatnonzero(nodes[0] >= 0)
        return int(seen[-1]) + 1 if len(seen) else 0

    def weights(self) -> Weights:
        return self._grams.arrays()

    def restore(self, weights: Mapping[str, np.ndarray]) -> None:
        if weights.keys() != self.weights().keys():
            raise ModelError("M111", f"the counts do not fit an n-gram of order {self.order}")
        self._grams = BackOff.from_arrays(weights, self.order, self.settings.is_flat)


def _numbers(option: str, text: str, least: int) -> tuple[int, ...]:
    """Whole numbers with commas between them."""
    try:
        found = tuple(int(part) for part in text.split(","))
    except ValueError as error:
        raise _wrong(option, text, "is not a list of whole numbers") from error
    if min(found) < least:
        raise _wrong(option, text, f"must be at least {least}")
    return found


def _wrong(option: str, value: object, problem: str) -> ModelError:
    example = {"at_least": '"1,1,2"', "good_turing": '"1,7"', "k": "0.1", "memory": "1024"}[option]
    told = f"model.{option} = {value!r} {problem}"
    return ModelError("M150", told, help=[f"--set model.{option}={example}"])
