"""The hypotheses that have ended, and whether anything better may still come."""

from math import inf

import numpy as np
from jaxtyping import Bool, Float, Int

from ..prediction import Hypothesis, Search

LEAST = 1e-6  # what a place counts as that was not looked at: its logarithm would be infinite


class Finished:
    """What has ended, by source, and how it is ranked.

    score(y) = log p(y | x) / |y|^a + b Σ_s log min(Σ_t α_ts, 1)

    a is the length penalty, b the coverage penalty and α_ts how much the step t looked at the place
    s of the source (Wu et al., 2016).
    """

    def __init__(self, settings: Search, sources: int) -> None:
        self.settings = settings
        self.found: list[list[Hypothesis]] = [[] for _ in range(sources)]
        self._ended = np.zeros(sources, dtype=np.int64)
        self._to_beat = np.full(sources, -inf)  # the last that would be among the answers

    def add(
        self,
        source: int,
        symbols: Int[np.ndarray, " time"],
        log_prob: float,
        looked: Float[np.ndarray, " place"] | None = None,
        ended: bool = True,
    ) -> Hypothesis:
        """One hypothesis more."""
        score = log_prob / self._scale(len(symbols))
        if looked is not None:
            covered = np.log(np.clip(looked, LEAST, 1)).sum()
            score += self.settings.coverage_penalty * float(covered)
        found = self.found[source]
        hypothesis = Hypothesis(symbols, log_prob, score, ended)
        found.append(hypothesis)
        if ended:
            self._ended[source] += 1
            if self._ended[source] >= self.settings.nbest:
                scores = sorted((h.score for h in found), reverse=True)
                self._to_beat[source] = scores[self.settings.nbest - 1]
        return hypothesis

    def are_done(
        self,
        sources: Int[np.ndarray, " sources"],
        growing: Float[np.ndarray, " sources"],
        lengths: Int[np.ndarray, " sources"],
    ) -> Bool[np.ndarray, " sources"]:
        """Whether as many have ended as the beam is wide, or nothing that grows can be better.

        A log-probability only falls, and no penalty is a gain. So what has the log-probability
        `growing` after `lengths` symbols ends with a score of at most growing / max_n n^a, where n
        is any length it may still come to: the next one, or the limit, as n^a rises or falls.
        """
        settings = self.settings
        scale = self._scale(settings.limit)
        if settings.length_penalty < 0:
            scale = np.maximum(lengths + 1, 1) ** settings.length_penalty
        enough = self._ended[sources] >= settings.beam
        return enough | (self._to_beat[sources] >= growing / scale)

    def lacks(self, source: int) -> int:
        """How many answers are still missing."""
        return self.settings.nbest - len(self.found[source])

    def ranked(self) -> list[tuple[Hypothesis, ...]]:
        """The answers, best first; those that have ended stand before those that have not."""
        order = [
            sorted(found, key=lambda h: (h.ended, h.score), reverse=True) for found in self.found
        ]
        return [tuple(found[: self.settings.nbest]) for found in order]

    def _scale(self, length: int) -> float:
        return float(max(1, length) ** self.settings.length_penalty)
