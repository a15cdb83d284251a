"""Finished hypotheses of a beam search: their scores, and when a search may stop."""

from bisect import insort
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
        # Scores of the `beam` best that have ended, ascending, and what they say about the end:
        self._kept: list[list[float]] = [[] for _ in range(sources)]
        self._to_beat = np.full(sources, -inf)  # score of the nbest-th
        self._worst_kept = np.full(sources, -inf)  # score of the last, once there are `beam`

    def add(
        self,
        source: int,
        tokens: Int[np.ndarray, " time"],
        log_prob: float,
        coverage: Float[np.ndarray, " position"] | None = None,
        ended: bool = True,
        is_stuck: bool = False,
    ) -> Hypothesis:
        """Score a hypothesis and add it; `coverage` is the attention summed over steps."""
        score = log_prob / self._scale(len(tokens))
        if coverage is not None:
            score += float(self._coverage_penalty(coverage))
        hypothesis = Hypothesis(tokens, log_prob, score, ended, is_stuck)
        self.hypotheses[source].append(hypothesis)
        if ended:
            self._keep(source, score)
        return hypothesis

    def _keep(self, source: int, score: float) -> None:
        """Note the score of a hypothesis that has ended, if it is among the `beam` best."""
        kept = self._kept[source]
        insort(kept, score)
        if len(kept) >= self.settings.nbest:
            self._to_beat[source] = kept[-self.settings.nbest]
        if len(kept) >= self.settings.beam:
            del kept[: -self.settings.beam]
            self._worst_kept[source] = kept[0]

    def are_done(
        self,
        sources: Int[np.ndarray, " sources"],
        growing: Float[np.ndarray, "sources width"],
        lengths: Int[np.ndarray, " sources"],
        coverage: Float[np.ndarray, "sources width position"] | None = None,
    ) -> Bool[np.ndarray, " sources"]:
        """Whether what grows, after so many tokens, is beaten or cannot reach the n-best list."""
        beaten = self._are_beaten(sources, growing, lengths, coverage)
        return beaten | self._cannot_improve(sources, growing.max(1), lengths)

    def _are_beaten(
        self,
        sources: Int[np.ndarray, " sources"],
        growing: Float[np.ndarray, "sources width"],
        lengths: Int[np.ndarray, " sources"],
        coverage: Float[np.ndarray, "sources width position"] | None,
    ) -> Bool[np.ndarray, " sources"]:
        """Whether `beam` have ended, and nothing that grows is better than the worst of them.

        What grows counts with its score at its present length. How many have ended says nothing by
        itself: where a model is sure, improbable early ends fill the beam while the right output
        still grows.
        """
        scale = np.maximum(lengths, 1.0) ** self.settings.length_penalty
        scores = growing / scale[:, None]
        if coverage is not None:
            scores = scores + self._coverage_penalty(coverage)
        return self._worst_kept[sources] >= scores.max(1)

    def _cannot_improve(
        self,
        sources: Int[np.ndarray, " sources"],
        growing: Float[np.ndarray, " sources"],
        lengths: Int[np.ndarray, " sources"],
    ) -> Bool[np.ndarray, " sources"]:
        """Whether the best that grows must stay below the n-best list.

        Log-probabilities only fall, and the coverage penalty is never positive. So a candidate with
        the log-probability `growing` after `lengths` tokens ends with a score of at most
        growing / max_n n^a, where n is any length it may still reach: the limit if n^a rises, the
        next length if it falls.
        """
        settings = self.settings
        ends = np.full(len(lengths), float(settings.limit))
        if settings.length_penalty < 0:
            ends = np.maximum(lengths + 1.0, 1.0)
        scale = ends**settings.length_penalty
        return self._to_beat[sources] >= growing / scale

    def _coverage_penalty(
        self, coverage: Float[np.ndarray, "*shape position"]
    ) -> Float[np.ndarray, "*shape"]:
        logs = np.log(np.clip(coverage, MIN_COVERAGE, 1))
        return np.asarray(self.settings.coverage_penalty * logs.sum(-1))

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
