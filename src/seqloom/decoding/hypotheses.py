"""Finished hypotheses of a beam search: their scores, and when a search may stop."""

from math import inf

import numpy as np
from jaxtyping import Bool, Float, Int

from ..prediction import Hypothesis, Search

MIN_COVERAGE = 1e-6  # of a position without attention, whose logarithm would be infinite


class FinishedHypotheses:
    """Finished hypotheses of each source, ranked with length and coverage penalty.

    score(y) = log p(y | x) / |y|^a + b Σ_s log min(Σ_t α_ts, 1)

    a is the length penalty, b the coverage penalty and α_ts the attention of step t to the source
    position s (Wu et al., 2016).
    """

    def __init__(self, settings: Search, sources: int) -> None:
        self.settings = settings
        self.hypotheses: list[list[Hypothesis]] = [[] for _ in range(sources)]
        self._num_ended = np.zeros(sources, dtype=np.int64)
        self._to_beat = np.full(sources, -inf)  # score of the nbest-th that has ended

    def add(
        self,
        source: int,
        tokens: Int[np.ndarray, " time"],
        log_prob: float,
        coverage: Float[np.ndarray, " position"] | None = None,
        ended: bool = True,
    ) -> Hypothesis:
        """Score a hypothesis and add it; `coverage` is the attention summed over steps."""
        score = log_prob / self._scale(len(tokens))
        if coverage is not None:
            penalty = np.log(np.clip(coverage, MIN_COVERAGE, 1)).sum()
            score += self.settings.coverage_penalty * float(penalty)
        finished = self.hypotheses[source]
        hypothesis = Hypothesis(tokens, log_prob, score, ended)
        finished.append(hypothesis)
        if ended:
            self._num_ended[source] += 1
            if self._num_ended[source] >= self.settings.nbest:
                scores = sorted((h.score for h in finished), reverse=True)
                self._to_beat[source] = scores[self.settings.nbest - 1]
        return hypothesis

    def are_done(
        self,
        sources: Int[np.ndarray, " sources"],
        growing: Float[np.ndarray, " sources"],
        lengths: Int[np.ndarray, " sources"],
    ) -> Bool[np.ndarray, " sources"]:
        """Whether as many have ended as the beam is wide, or no growing candidate can do better.

        Log-probabilities only fall, and the coverage penalty is never positive. So a candidate with
        the log-probability `growing` after `lengths` tokens ends with a score of at most
        growing / max_n n^a, where n is any length it may still reach: the limit if n^a rises, the
        next length if it falls.
        """
        settings = self.settings
        scale = self._scale(settings.limit)
        if settings.length_penalty < 0:
            scale = np.maximum(lengths + 1, 1) ** settings.length_penalty
        enough = self._num_ended[sources] >= settings.beam
        return enough | (self._to_beat[sources] >= growing / scale)

    def num_missing(self, source: int) -> int:
        """How many hypotheses are missing from the n-best list."""
        return self.settings.nbest - len(self.hypotheses[source])

    def ranked(self) -> list[tuple[Hypothesis, ...]]:
        """The n-best list of each source; those that have ended precede those cut by the limit."""
        order = [
            sorted(finished, key=lambda h: (h.ended, h.score), reverse=True)
            for finished in self.hypotheses
        ]
        return [tuple(finished[: self.settings.nbest]) for finished in order]

    def _scale(self, length: int) -> float:
        return float(max(1, length) ** self.settings.length_penalty)
