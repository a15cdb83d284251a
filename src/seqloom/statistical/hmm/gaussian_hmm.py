"""Hidden Markov model of time series, with Gaussian, mixture or Poisson emissions.

A Markov chain of hidden states with one of the emission distributions of `gaussian`: E-step and
M-step of Baum-Welch, smoothing by forward-backward, and Viterbi.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Float, Int

from . import compiled
from .chain import EmissionScores, LinearChain
from .compiled import kernels
from .emissions import ColumnScale, Emission, Rows, SufficientStatistics
from .gaussian import DiagonalGaussian, FullGaussian, GaussianMixture, Poisson

EMISSIONS: dict[str, type[Emission]] = {
    "diagonal": DiagonalGaussian,
    "full": FullGaussian,
    "poisson": Poisson,
    "mixture": GaussianMixture,
}
FAR = -600.0  # nats below the best state at which exp of a log-density may underflow to 0
Lengths = Int[np.ndarray, " series"]


@dataclass(frozen=True)
class HMMStatistics:
    """Expected sufficient statistics of an HMM (E-step); two of them can be added."""

    log_likelihood: float
    initial: Float[np.ndarray, " states"]
    transitions: Float[np.ndarray, "states states"]
    emission: SufficientStatistics

    def __add__(self, other: "HMMStatistics") -> "HMMStatistics":
        return HMMStatistics(
            self.log_likelihood + other.log_likelihood,
            self.initial + other.initial,
            self.transitions + other.transitions,
            self.emission + other.emission,
        )


@dataclass(frozen=True)
class SeriesHMM:
    """A hidden Markov model of time series.

    p(x, z) = initial(z₁) Π_{t>1} transitions(z_{t-1}, z_t) Π_t p(x_t | z_t)

    `initial` and `transitions` are probabilities. The rows of several series are given one after
    another, with the length of each.
    """

    initial: Float[np.ndarray, " states"]
    transitions: Float[np.ndarray, "states states"]
    emission: Emission

    @classmethod
    def blank(
        cls, emission: Emission, states: int, *, left_to_right: bool, stay: float = 0.5
    ) -> "SeriesHMM":
        """A chain before training: ergodic with even probabilities, or left-to-right (Bakis)."""
        if not left_to_right:
            even = np.full(states, 1 / states)
            return cls(even, stay * np.eye(states) + (1 - stay) * even, emission)
        transitions = stay * np.eye(states) + (1 - stay) * np.eye(states, k=1)
        transitions[-1, -1] = 1.0
        return cls(np.eye(states)[0], transitions, emission)

    @cached_property
    def chain(self) -> LinearChain:
        """Log-probabilities of initial states and transitions."""
        with np.errstate(divide="ignore"):
            return LinearChain.first_order(
                np.log(self.initial), np.log(self.transitions), np.zeros(len(self.initial))
            )

    def emission_scores(self, rows: Rows, lengths: Lengths) -> EmissionScores:
        """log p(row | state) of every row."""
        return EmissionScores(self.emission.log_probs(rows), np.arange(len(rows)), lengths)

    def log_likelihoods(self, rows: Rows, lengths: Lengths) -> Float[np.ndarray, " series"]:
        """log p(x) of each series, by the forward algorithm."""
        return compiled.log_partitions(self.chain, self.emission_scores(rows, lengths))

    def state_probabilities(self, rows: Rows, lengths: Lengths) -> Float[np.ndarray, "rows states"]:
        """Smoothed state probabilities p(z_t | x) of each row, by forward-backward."""
        return compiled.posteriors(self.chain, self.emission_scores(rows, lengths)).marginals

    def viterbi(self, rows: Rows, lengths: Lengths) -> Int[np.ndarray, " rows"]:
        """The most probable state sequence (Viterbi)."""
        return compiled.viterbi(self.chain, self.emission_scores(rows, lengths))[0]

    def e_step(self, rows: Rows, lengths: Lengths, scale: ColumnScale) -> HMMStatistics:
        """E-step of Baum-Welch: log-likelihood and expected sufficient statistics."""
        scores = self.emission_scores(rows, lengths)
        if self._may_underflow(scores):
            sums = compiled.posteriors(self.chain, scores, np.ones(len(lengths)))
            statistics = self.emission.statistics(rows, sums.marginals, scale)
            log_likelihood = float(sums.log_partitions.sum())
            return HMMStatistics(log_likelihood, sums.initial, sums.transitions, statistics)
        log_likelihood, posterior, transitions = self._scaled_forward_backward(scores)
        starts = scores.offsets[:-1][lengths > 0]
        statistics = self.emission.statistics(rows, posterior, scale)
        return HMMStatistics(log_likelihood, posterior[starts].sum(0), transitions, statistics)

    def _scaled_forward_backward(
        self, scores: EmissionScores
    ) -> tuple[float, Float[np.ndarray, "rows states"], Float[np.ndarray, "states states"]]:
        """Log-likelihood of all series, posterior of states at each row, transition counts.

        The table of scores is overwritten: it becomes the posterior.
        """
        fits, moved = scores.table, np.zeros_like(self.transitions)
        maxima = kernels("emissions").subtract_max(fits)
        np.exp(fits, out=fits)
        transposed = np.ascontiguousarray(self.transitions.T)
        arrays = self.initial, self.transitions, transposed, fits, scores.offsets, moved
        log_likelihood = float(kernels("emissions").baum_welch(*arrays) + maxima)
        return log_likelihood, fits, self.transitions * moved

    def sample_paths(
        self,
        probabilities: Float[np.ndarray, " states"],
        steps: int,
        samples: int,
        rng: np.random.Generator,
    ) -> Float[np.ndarray, "samples steps width"]:
        """Simulate series, from the probabilities of states at the first step."""
        cumulative = np.cumsum(probabilities)
        rows = np.cumsum(self.transitions, axis=1)
        uniform = rng.random(samples) * cumulative[-1]
        states = np.searchsorted(cumulative, uniform, side="right")
        found = []
        for _ in range(steps):
            found.append(self.emission.sample(states, rng))
            here = rows[states]
            states = (rng.random((samples, 1)) * here[:, -1:] >= here).sum(1)
        return np.stack(found, axis=1)

    def _may_underflow(self, scores: EmissionScores) -> bool:
        """Whether scaled probabilities could lose a state that a path must go through.

        Where every state can follow every other, a state so far below the best one has no
        influence. In a left-to-right chain it may be the only one that is possible.
        """
        if self.transitions.min() > 0 and self.initial.min() > 0:
            return False
        return bool((scores.table.min(1) - scores.table.max(1)).min(initial=0.0) < FAR)

    def labelled_statistics(
        self, rows: Rows, lengths: Lengths, states: Int[np.ndarray, " rows"], scale: ColumnScale
    ) -> HMMStatistics:
        """Sufficient statistics where the states are observed: supervised counts, no E-step."""
        count = len(self.initial)
        starts = np.concatenate([[0], np.cumsum(lengths)[:-1]])[lengths > 0]
        inside = np.ones(len(rows), dtype=bool)
        inside[starts] = False
        moved = np.zeros((count, count))
        np.add.at(moved, (states[np.flatnonzero(inside) - 1], states[inside]), 1.0)
        first = np.bincount(states[starts], minlength=count).astype(np.float64)
        fits = self.emission.log_probs(rows)[np.arange(len(rows)), states].sum()
        with np.errstate(divide="ignore", invalid="ignore"):  # 0 · log 0 is 0, not NaN
            path = np.nansum(moved * np.log(self.transitions))
            path = path + np.nansum(first * np.log(self.initial))
        statistics = self.emission.statistics(rows, np.eye(count)[states], scale)
        return HMMStatistics(float(fits + path), first, moved, statistics)

    def m_step(
        self, statistics: HMMStatistics, scale: ColumnScale, floor: float, pseudo_count: float = 0
    ) -> "SeriesHMM":
        """M-step of Baum-Welch: the maximum likelihood model, with pseudo-counts of transitions."""
        return SeriesHMM(
            _normalised(statistics.initial + pseudo_count, self.initial),
            _normalised(statistics.transitions + pseudo_count, self.transitions),
            self.emission.m_step(statistics.emission, scale, floor),
        )


def _normalised(
    counts: Float[np.ndarray, "*rows options"], before: Float[np.ndarray, "*rows options"]
) -> Float[np.ndarray, "*rows options"]:
    """Counts as probabilities; a row without counts keeps the probabilities it had."""
    whole = counts.sum(-1, keepdims=True)
    return np.where(whole > 0, counts / np.where(whole > 0, whole, 1), before)
