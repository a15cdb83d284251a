"""What an answer must be like: how it begins, what it may have, what may not come twice."""

import numpy as np
from jaxtyping import Float, Int
from numpy.lib.stride_tricks import sliding_window_view

from ..batch import Sequences
from ..prediction import Search
from ..signature import BEGIN, END, PAD

FIRST = max(PAD, BEGIN) + 1  # padding and a second beginning are never written


class Rules:
    """The rules of one search.

    What is `given` comes before the answers, is no part of them and costs nothing. What the
    settings name as `prefix` is the beginning of every answer, and is as likely as the model says.
    """

    def __init__(self, settings: Search, given: Sequences) -> None:
        self.settings, self.given = settings, given.lengths
        begun = [[*row, *settings.prefix] for row in given.rows()]
        self.forced = Sequences.pad([np.array(row, dtype=np.int64) for row in begun])
        self.forced_until = int(self.forced.lengths.max(initial=0))
        allowed = sorted({END, *settings.allow})
        self.columns = np.array(allowed, dtype=np.int64) if settings.allow else None

    def writable(
        self,
        log_probs: Float[np.ndarray, "rows vocabulary"],
        history: Int[np.ndarray, "rows time"],
        sources: Int[np.ndarray, " sources"],
    ) -> Float[np.ndarray, "rows column"]:
        """The columns that an answer may have; a copy only where some numbers must be changed."""
        log_probs = self._unblocked(log_probs, history, sources)
        return log_probs[:, FIRST:] if self.columns is None else log_probs[:, self.columns]

    def ruled(
        self,
        log_probs: Float[np.ndarray, "rows vocabulary"],
        history: Int[np.ndarray, "rows time"],
        sources: Int[np.ndarray, " sources"],
    ) -> Float[np.ndarray, "rows vocabulary"]:
        """All columns, with no chance for those that an answer may not have."""
        log_probs = self._unblocked(log_probs, history, sources)
        if self.columns is None:
            return log_probs
        found = np.full_like(log_probs, -np.inf)
        found[:, self.columns] = log_probs[:, self.columns]
        return found

    def _unblocked(
        self,
        log_probs: Float[np.ndarray, "rows vocabulary"],
        history: Int[np.ndarray, "rows time"],
        sources: Int[np.ndarray, " sources"],
    ) -> Float[np.ndarray, "rows vocabulary"]:
        """Without what would come twice, or end too soon."""
        if not self.settings.block_ngrams and not self.settings.shortest:
            return log_probs
        given = self.given[sources].repeat(self.settings.beam)
        rows, symbols = self._blocked(history, given)
        short = history.shape[1] - given < self.settings.shortest
        if len(rows) or short.any():
            log_probs = log_probs.copy()
            log_probs[rows, symbols] = -np.inf
            log_probs[short, END] = -np.inf
        return log_probs

    def symbols(self, columns: Int[np.ndarray, "*shape"]) -> Int[np.ndarray, "*shape"]:
        """The symbols of these columns."""
        return columns + FIRST if self.columns is None else self.columns[columns]

    def _blocked(
        self, history: Int[np.ndarray, "rows time"], given: Int[np.ndarray, " rows"]
    ) -> tuple[Int[np.ndarray, " blocked"], Int[np.ndarray, " blocked"]]:
        """Rows, and symbols that would end an n-gram there which the answer has already."""
        size, time = self.settings.block_ngrams, history.shape[1]
        if not size or time < size:
            none = np.zeros(0, dtype=np.int64)
            return none, none
        grams = sliding_window_view(history, size, axis=1)
        last = history[:, None, time - size + 1 :]
        again = (grams[:, :, :-1] == last).all(2) & (np.arange(grams.shape[1]) >= given[:, None])
        rows, places = np.nonzero(again)
        return rows, grams[rows, places, -1]
