"""Decoding constraints: forced prefix, allowed tokens, no-repeat n-gram, shortest and longest."""

import numpy as np
from jaxtyping import Float, Int
from numpy.lib.stride_tricks import sliding_window_view

from ..batch import Sequences
from ..model import Generator, Model
from ..prediction import LEAST_LIMIT, Search
from ..signature import BEGIN, END, PAD

FIRST = max(PAD, BEGIN) + 1  # padding and the beginning of sequence are never generated


def output_limit(model: Generator | Model, limit: int) -> int:
    """The most tokens of an output: `limit`, or where it is 0 what the model knows of its data."""
    return model.output_limit(limit) if isinstance(model, Model) else limit or LEAST_LIMIT


class Constraints:
    """The constraints of one search.

    The `prefix` of the search is forced, costs nothing and is no part of the outputs.
    `settings.prefix` is the beginning of every output, and counts with its log-probability.
    """

    def __init__(self, settings: Search, prefix: Sequences) -> None:
        self.settings, self.prefix_lengths = settings, prefix.lengths
        forced = [[*row, *settings.prefix] for row in prefix.rows()]
        self.forced = Sequences.pad([np.array(row, dtype=np.int64) for row in forced])
        self.forced_until = int(self.forced.lengths.max(initial=0))
        allowed = sorted({END, *settings.allow})
        self.columns = np.array(allowed, dtype=np.int64) if settings.allow else None

    def allowed_columns(
        self,
        log_probs: Float[np.ndarray, "rows vocabulary"],
        history: Int[np.ndarray, "rows time"],
        sources: Int[np.ndarray, " sources"],
    ) -> Float[np.ndarray, "rows column"]:
        """The columns of the allowed tokens; copied only where some of them must be masked."""
        log_probs = self._masked(log_probs, history, sources)
        return log_probs[:, FIRST:] if self.columns is None else log_probs[:, self.columns]

    def masked(
        self,
        log_probs: Float[np.ndarray, "rows vocabulary"],
        history: Int[np.ndarray, "rows time"],
        sources: Int[np.ndarray, " sources"],
    ) -> Float[np.ndarray, "rows vocabulary"]:
        """All columns, those of tokens that are not allowed masked with minus infinity."""
        log_probs = self._masked(log_probs, history, sources)
        if self.columns is None:
            return log_probs
        masked = np.full_like(log_probs, -np.inf)
        masked[:, self.columns] = log_probs[:, self.columns]
        return masked

    def _masked(
        self,
        log_probs: Float[np.ndarray, "rows vocabulary"],
        history: Int[np.ndarray, "rows time"],
        sources: Int[np.ndarray, " sources"],
    ) -> Float[np.ndarray, "rows vocabulary"]:
        """Mask tokens that would repeat an n-gram, and the end before the minimum length."""
        if not self.settings.block_ngrams and not self.settings.shortest:
            return log_probs
        prefix = self.prefix_lengths[sources].repeat(self.settings.beam)
        rows, tokens = self._repeated(history, prefix)
        short = history.shape[1] - prefix < self.settings.shortest
        if len(rows) or short.any():
            log_probs = log_probs.copy()
            log_probs[rows, tokens] = -np.inf
            log_probs[short, END] = -np.inf
        return log_probs

    def tokens(self, columns: Int[np.ndarray, "*shape"]) -> Int[np.ndarray, "*shape"]:
        """The tokens of these columns."""
        return columns + FIRST if self.columns is None else self.columns[columns]

    def _repeated(
        self, history: Int[np.ndarray, "rows time"], prefix: Int[np.ndarray, " rows"]
    ) -> tuple[Int[np.ndarray, " blocked"], Int[np.ndarray, " blocked"]]:
        """Rows, and tokens that would complete an n-gram there which the output has already."""
        size, time = self.settings.block_ngrams, history.shape[1]
        if not size or time < size:
            none = np.zeros(0, dtype=np.int64)
            return none, none
        # An n-gram is repeated if its first n - 1 tokens are the last n - 1 of the history.
        ngrams = sliding_window_view(history, size, axis=1)
        last = history[:, None, time - size + 1 :]
        again = (ngrams[:, :, :-1] == last).all(2)
        again &= np.arange(ngrams.shape[1]) >= prefix[:, None]
        rows, positions = np.nonzero(again)
        return rows, ngrams[rows, positions, -1]
