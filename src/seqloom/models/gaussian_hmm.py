"""Gaussian HMM: hidden Markov models of time series (also Poisson and mixture emissions).

One model forecasts a series or labels its steps; one model for each class classifies whole series.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from jaxtyping import Float, Int

from ..batch import Batch, Sequences
from ..config import Size
from ..errors import ModelError
from ..model import Model, Prediction, Search, State, StatePosterior, Stepper, Weights
from ..prediction import LEVELS, QuantileForecast
from ..signature import Form, Labels, Series, Signature
from ..statistical.hmm import compiled
from ..statistical.hmm.emissions import ColumnScale, Emission, Rows
from ..statistical.hmm.gaussian_hmm import EMISSIONS, HMMStatistics, SeriesHMM
from ..statistical.hmm.inference import logsumexp
from ..statistical.hmm.initialise import InitialSample, kmeans

Check = Callable[[Float[np.ndarray, "rows width"]], None]


class _ForwardStepper:
    """The forward algorithm step by step, in log space, for one model or one of each class."""

    def __init__(self, hmms: Sequence[SeriesHMM], check: Check) -> None:
        self.hmms, self._check = hmms, check
        self._width = hmms[0].emission.means().shape[1]

    def begin(self) -> State:
        """Empty forward variables of each model, and the number of rows read."""
        count = len(self.hmms), len(self.hmms[0].initial)
        return np.zeros(count), np.zeros(1)

    def forward(self, row: Float[np.ndarray, " numbers"], state: State) -> State:
        """The forward variables log p(x_1 … x_t, z_t) after one more row."""
        (sums, steps), rows = state, row[None, : self._width].astype(np.float64)
        self._check(rows)
        forward = []
        for hmm, before in zip(self.hmms, sums, strict=True):
            chain, log_emissions = hmm.chain, hmm.emission.log_probs(rows)[0]
            prior = chain.initial
            if steps[0]:
                prior = logsumexp(before[:, None] + chain.transitions, axis=0)
            forward.append(prior + log_emissions)
        return np.array(forward), steps + 1


class HMMForecastStepper(_ForwardStepper):
    """Streaming forecasts of the next step, and the filtering distribution of the states."""

    def __init__(self, hmm: SeriesHMM, check: Check) -> None:
        super().__init__([hmm], check)

    def step(
        self, value: Float[np.ndarray, " numbers"], state: State
    ) -> tuple[Float[np.ndarray, "rows width"], State]:
        """The mean of the next step and its quantiles, and the new state."""
        (sums, steps), (hmm,) = self.forward(value, state), self.hmms
        sums = sums - logsumexp(sums)[:, None]  # normalised to p(z_t | x_1 … x_t), all that matters
        prior = np.exp(sums) @ hmm.transitions
        quantiles = hmm.emission.quantiles(prior, np.array(LEVELS))[0]
        return np.concatenate([prior @ hmm.emission.means(), quantiles.T]), (sums, steps)

    def posterior(self, state: State) -> dict[str, Float[np.ndarray, "..."]]:
        """State probabilities given all rows so far; before the first, the initial distribution."""
        sums, steps = state
        return {"states": np.exp(sums[0]) if steps[0] else self.hmms[0].initial.copy()}


class HMMLabelStepper(_ForwardStepper):
    """Streaming label probabilities: of the series so far, or of its last step."""

    def __init__(
        self, hmms: Sequence[SeriesHMM], prior: Float[np.ndarray, " labels"] | None, check: Check
    ) -> None:
        super().__init__(hmms, check)
        self._prior = prior

    def step(
        self, value: Float[np.ndarray, " numbers"], state: State
    ) -> tuple[Float[np.ndarray, " labels"], State]:
        """Log-probabilities of the labels, and the new state."""
        sums, steps = self.forward(value, state)
        if self._prior is None:
            scores = sums[0]
        else:
            with np.errstate(divide="ignore"):
                scores = logsumexp(sums) + np.log(self._prior)
        return scores - logsumexp(scores), (sums, steps)


TRANSITION_PSEUDOCOUNT = 0.1  # of each transition between labels, if steps have labels
Lengths = Int[np.ndarray, " series"]


@dataclass(frozen=True)
class ClassStatistics:
    """Expected statistics (E step) of one model, or of the model of each class; additive."""

    by_class: tuple[HMMStatistics | None, ...]
    series: Float[np.ndarray, " classes"]  # number of series

    @property
    def log_likelihood(self) -> float:
        """Log-likelihood of all series together."""
        return sum(one.log_likelihood for one in self.by_class if one is not None)

    def __add__(self, other: "ClassStatistics") -> "ClassStatistics":
        pairs = zip(self.by_class, other.by_class, strict=True)
        both = (one + two if one and two else one or two for one, two in pairs)
        return ClassStatistics(tuple(both), self.series + other.series)


class GaussianHMM(Model):
    """Hidden Markov model with Gaussian, Poisson or mixture emissions, by EM (Baum-Welch).

    p(x, z) = π(z₁) Π_{t>1} A(z_{t-1}, z_t) Π_t p(x_t | z_t)
    p(future | past) = p(past, future) / p(past)                         forward algorithm
    p(label | x) = p(label) p(x | label) / Σ p(label') p(x | label')     one such model per label

    Baum-Welch: expected counts and moments given the series and the current parameters (E step),
    normalised (M step). The likelihood never falls. Initial parameters come from k-means clusters
    of the values. If each step has a label, labels are the states, and estimation is in closed form
    (counts). Missing values are marginalised out; known inputs are not used.

    Args:
        states: Number of hidden states; with a label for each step, there are as many as labels.
        emissions: Emission distributions: Gaussian with diagonal or full covariance, poisson for
            counts, or a mixture of Gaussians in each state.
        components: Number of mixture components of each state, for mixture.
        left_to_right: Left-to-right topology (Bakis): no state returns to an earlier one.
        floor: Variance floor, as a fraction of the variance of all values, so that no state
            collapses onto a few of them.
        restarts: Number of random restarts; the one with the best validation loss is kept.
        tolerance: Convergence tolerance of EM: it stops when an iteration gains less than this, in
            nats per step, or per series if whole series have labels; or after training.epochs
            iterations.
    """

    forms = frozenset({Form.FORECAST, Form.WHOLE, Form.EACH})
    source_spaces = frozenset({Series})
    target_spaces = frozenset({Series, Labels})
    learns = "EM (Baum-Welch), or closed form (counts) where each step has a label"
    is_joint = True

    def __init__(
        self,
        signature: Signature,
        *,
        states: Size = 3,
        emissions: Literal["diagonal", "full", "poisson", "mixture"] = "diagonal",
        components: Size = 2,
        left_to_right: bool = False,
        floor: float = 1e-3,
        restarts: int = 1,
        tolerance: float = 1e-4,
    ) -> None:
        super().__init__(signature)
        if not isinstance(signature.source, Series):
            raise TypeError("the emissions of this model are real numbers")
        counts = {"states": states, "components": components, "restarts": restarts}
        for name, value in counts.items():
            if value < 1:
                raise _wrong(f"{name} = {value}: expected a whole number of at least 1", name)
        if not 0 < floor <= 1:
            raise _wrong(f"floor = {floor:g}: expected more than 0, and at most 1", "floor")
        if tolerance < 0:
            raise _wrong(f"tolerance = {tolerance:g} must not be negative", "tolerance")
        labels = signature.target.size if isinstance(signature.target, Labels) else 1
        self.width, self.emissions, self.components = signature.source.width, emissions, components
        self.is_supervised = signature.form is Form.EACH
        self.states = labels if self.is_supervised else states
        self.num_models = labels if signature.form is Form.WHOLE else 1
        self.left_to_right, self.floor = left_to_right and not self.is_supervised, floor
        self.restarts, self.tolerance = restarts, tolerance
        self._seed = int(np.random.randint(1 << 31))  # from the generator that `seed` sets
        self.restart(0)

    @staticmethod
    def seed(number: int) -> None:
        np.random.seed(number)

    def restart(self, number: int) -> None:
        """Reset the parameters; the next pass gathers the values for the initial clusters."""
        self._number, self._is_initialised = number, False
        self._scale = ColumnScale(np.zeros(self.width), np.ones(self.width))
        self._prior = np.full(self.num_models, 1 / self.num_models)
        self.hmms = [self._blank() for _ in range(self.num_models)]

    def statistics(self, batch: Batch) -> InitialSample | ClassStatistics:
        rows, lengths = self._rows(_with_future(batch))
        classes = np.zeros(len(batch), dtype=np.int64)
        if self.signature.form is Form.WHOLE:
            classes = batch.target.values[:, 0].astype(np.int64)
        labels = batch.target.values[batch.target.mask] if self.is_supervised else None
        if not self._is_initialised:
            return InitialSample.of(rows, lengths, classes, self.num_models, labels)
        statistics: list[HMMStatistics | None] = []
        for number, hmm in enumerate(self.hmms):
            is_own = np.repeat(classes == number, lengths)
            if not is_own.any():
                statistics.append(None)
            elif labels is not None:
                statistics.append(hmm.labelled_statistics(rows, lengths, labels, self._scale))
            else:
                own_lengths = lengths[classes == number]
                statistics.append(hmm.e_step(rows[is_own], own_lengths, self._scale))
        series = np.bincount(classes, minlength=self.num_models).astype(np.float64)
        return ClassStatistics(tuple(statistics), series)

    def update(self, statistics: InitialSample | ClassStatistics) -> None:
        if isinstance(statistics, InitialSample):
            self._initialise(statistics)
            return
        self._prior = statistics.series / statistics.series.sum()
        pseudocount = TRANSITION_PSEUDOCOUNT if self.is_supervised else 0.0
        pairs = zip(self.hmms, statistics.by_class, strict=True)
        self.hmms = [  # a class without any series keeps its parameters
            hmm if expected is None else hmm.m_step(expected, self._scale, self.floor, pseudocount)
            for hmm, expected in pairs
        ]

    def _initialise(self, sample: InitialSample) -> None:
        """Initial emissions: a state for each cluster of values, or, left to right, of time."""
        self._check_sample(sample)
        random = np.random.default_rng([self._seed, self._number])
        self._is_initialised, self._scale = True, sample.moments.scale()
        self._prior, hmms = sample.series / sample.series.sum(), []
        for number in range(self.num_models):
            rows, facts = sample.of_model(number)
            if self.is_supervised:
                groups = facts[:, 1].astype(np.int64)
            elif self.left_to_right:
                groups = (facts[:, 2] * self.states).astype(np.int64)
            else:
                groups = kmeans(rows, self.states, self._scale, random)
            blank = self._blank()
            emission = blank.emission.fit_groups(rows, groups, self._scale, self.floor, random)
            hmms.append(SeriesHMM(blank.initial, blank.transitions, emission))
        self.hmms = hmms

    def _check_sample(self, sample: InitialSample) -> None:
        """Raise an error for values that give nothing to learn from."""
        if not sample.moments.count.any():
            raise ModelError("M423", "there are no values to learn from: all are missing")
        if sample.moments.is_constant():
            raise ModelError(
                "M422",
                "the values never change, so hidden states cannot be told apart",
                help=["check that the right column is read", "-m naive   forecasts the last value"],
            )
        steps = int((~np.isnan(sample.rows).all(1)).sum())
        if steps < self.states:
            raise ModelError(
                "M421",
                f"states = {self.states}: there are only {steps} steps to learn from",
                help=[f"--set model.states={max(1, min(3, steps // 10))}"],
            )

    def log_prob(self, batch: Batch) -> Float[np.ndarray, " batch"]:
        if self.signature.form is Form.FORECAST:
            rows, lengths = self._rows(_with_future(batch))
            past, _ = self._rows(batch.source)
            hmm = self.hmms[0]
            return hmm.log_likelihoods(rows, lengths) - hmm.log_likelihoods(past, lengths)
        if self.is_supervised:
            return self._labelling_log_prob(batch)
        chosen = batch.target.values[:, :1].astype(np.int64)
        log_probs = self._class_log_probs(batch.source)
        return np.asarray(np.take_along_axis(log_probs, chosen, 1)[:, 0])

    def _class_log_probs(self, source: Sequences) -> Float[np.ndarray, "batch labels"]:
        """log p(label | series)."""
        rows, lengths = self._rows(source)
        totals = np.column_stack([hmm.log_likelihoods(rows, lengths) for hmm in self.hmms])
        with np.errstate(divide="ignore"):
            scores = totals + np.log(self._prior)
        return scores - logsumexp(scores)[:, None]

    def _labelling_log_prob(self, batch: Batch) -> Float[np.ndarray, " batch"]:
        """log p(labels | series) = log p(series, labels) - log p(series)."""
        rows, lengths = self._rows(batch.source)
        hmm, labels, mask = self.hmms[0], batch.target.values, batch.target.mask
        emissions = hmm.emission_scores(rows, lengths)
        scores = np.zeros(mask.shape)
        scores[mask] = emissions.table[np.arange(len(rows)), labels[mask]]
        chain = hmm.chain
        scores[:, 1:] += np.where(
            mask[:, 1:], chain.transitions[labels[:, :-1], labels[:, 1:]], 0.0
        )
        scores[:, 0] += np.where(mask[:, 0], chain.initial[labels[:, 0]], 0.0)
        return scores.sum(1) - compiled.log_partitions(chain, emissions)

    def predict(self, source: Sequences, search: Search) -> Prediction:
        if self.signature.form is Form.FORECAST:
            return self._forecasts(source, search)
        if not self.is_supervised:
            log_probs = self._class_log_probs(source)
            best = Sequences(log_probs.argmax(1)[:, None], np.ones(len(source), dtype=np.int64))
            probabilities = np.exp(log_probs)[:, None] if search.probabilities else None
            return Prediction(best, log_probs.max(1), probabilities=probabilities)
        rows, lengths = self._rows(source)
        hmm, mask = self.hmms[0], source.mask
        emissions = hmm.emission_scores(rows, lengths)
        path, scores = compiled.viterbi(hmm.chain, emissions)
        labels, probabilities = np.zeros(mask.shape, dtype=np.int64), None
        labels[mask] = path
        if search.probabilities:
            probabilities = np.zeros((*mask.shape, self.states))
            probabilities[mask] = compiled.posteriors(hmm.chain, emissions).marginals
        log_probs = scores - compiled.log_partitions(hmm.chain, emissions)
        return Prediction(Sequences(labels, lengths), log_probs, probabilities=probabilities)

    def _forecasts(self, source: Sequences, search: Search) -> Prediction:
        """Mixtures of the emission distributions, weighted by state probabilities at each step."""
        horizon = search.horizon or getattr(self.signature.target, "horizon", 1)
        rows, lengths = self._rows(source)
        random = np.random.default_rng(search.seed)
        # Future steps are missing values, so smoothing gives their predictive state probabilities.
        probabilities = self.hmms[0].state_probabilities(rows, lengths)
        forecasts = []
        for end, length in zip(np.cumsum(lengths).tolist(), lengths.tolist(), strict=True):
            future = probabilities[end - min(horizon, length) : end]
            forecasts.append(self._forecast(future, search.samples, random))
        is_count = EMISSIONS[self.emissions].is_count
        means = [np.round(one.mean) if is_count else one.mean for one in forecasts]
        log_prob = self.log_prob(Batch(source, Sequences.pad(means)))
        return Prediction.of_forecasts(forecasts, log_prob)

    def _forecast(
        self,
        probabilities: Float[np.ndarray, "time states"],
        samples: int,
        random: np.random.Generator,
    ) -> QuantileForecast:
        hmm, paths = self.hmms[0], None
        quantiles = hmm.emission.quantiles(probabilities, np.array(LEVELS))
        if samples:
            paths = hmm.sample_paths(probabilities[0], len(probabilities), samples, random)
        return QuantileForecast(probabilities @ hmm.emission.means(), quantiles, paths)

    def state_probabilities(self, source: Sequences) -> Float[np.ndarray, "batch time states"]:
        """Posterior state probabilities p(z_t | x) of the first model; 0 at padding."""
        posterior = np.zeros((*source.values.shape[:2], self.states))
        posterior[source.mask] = self.hmms[0].state_probabilities(*self._rows(source))
        return posterior

    def infer_states(self, source: Sequences) -> StatePosterior:
        """Filtering, smoothing and Viterbi path; with a model per class, of the likeliest class."""
        one = Sequences(source.values[:1, : source.lengths[0]], source.lengths[:1])
        best = 0 if self.num_models == 1 else int(self._class_log_probs(one).argmax())
        (rows, lengths), hmm = self._rows(one), self.hmms[best]
        filtered = compiled.filtered_marginals(hmm.chain, hmm.emission_scores(rows, lengths))
        smoothed, path = hmm.state_probabilities(rows, lengths), hmm.viterbi(rows, lengths)
        return StatePosterior(filtered, smoothed, path, hmm.transitions, hmm.emission.means())

    def stepper(self) -> Stepper:
        """Streaming forecasts, or label probabilities of the series so far."""
        if self.signature.form is Form.FORECAST:
            return HMMForecastStepper(self.hmms[0], self.check)
        prior = None if self.is_supervised else self._prior
        return HMMLabelStepper(self.hmms, prior, self.check)

    def weights(self) -> Weights:
        shown = {
            name: np.stack([getattr(one.emission, name) for one in self.hmms])
            for name in EMISSIONS[self.emissions].parameter_names()
        }
        first = np.stack([one.initial for one in self.hmms])
        moves = np.stack([one.transitions for one in self.hmms])
        ground = np.stack([self._scale.mean, self._scale.deviation])
        begun = np.array([float(self._is_initialised)])
        common = {"begun": begun, "ground": ground, "prior": self._prior}
        return {**common, "first": first, "moves": moves, **shown}

    def restore(self, weights: Mapping[str, np.ndarray]) -> None:
        mine = self.weights()
        if weights.keys() != mine.keys() or any(weights[n].shape != mine[n].shape for n in mine):
            raise ModelError("M111", f"the weights do not fit {self.states} hidden states")
        self._is_initialised, self._prior = bool(weights["begun"][0]), weights["prior"]
        self._scale = ColumnScale(*weights["ground"])
        kind = EMISSIONS[self.emissions]
        emissions = [
            kind(*(weights[name][number] for name in kind.parameter_names()))
            for number in range(self.num_models)
        ]
        parameters = zip(weights["first"], weights["moves"], emissions, strict=True)
        self.hmms = [SeriesHMM(*each) for each in parameters]

    def _blank(self) -> SeriesHMM:
        kind = EMISSIONS[self.emissions]
        emission: Emission = kind.blank(self.states, self.components, self._scale)
        return SeriesHMM.blank(emission, self.states, left_to_right=self.left_to_right)

    def _rows(self, source: Sequences) -> tuple[Rows, Lengths]:
        """Observed variables of all series, concatenated, and their lengths."""
        rows = source.values[source.mask][:, : self.width].astype(np.float64)
        self.check(rows)
        return rows, source.lengths

    def check(self, rows: Rows) -> None:
        """Raise an error for values that the emission distributions do not allow."""
        if np.isinf(rows).any():
            raise ModelError("M424", "a value is infinite", help=["leave it empty: missing"])
        if not EMISSIONS[self.emissions].is_count:
            return
        observed = rows[~np.isnan(rows)]
        wrong = observed[(observed < 0) | (observed != np.round(observed))]
        if len(wrong):
            raise ModelError(
                "M425",
                f"emissions = 'poisson': {wrong[0]:g} is not a count",
                notes=["Counts are whole numbers from 0 on, and must not be scaled."],
                help=[
                    "--set model.emissions=diagonal",
                    "--set task.scaling=none",
                ],
            )


def _with_future(batch: Batch) -> Sequences:
    """The source; of forecasts with the future filled in from the target."""
    if batch.target.values.ndim < 3:
        return batch.source
    values, width = batch.source.values.copy(), batch.target.values.shape[-1]
    for row, (length, ahead) in enumerate(
        zip(batch.source.lengths.tolist(), batch.target.lengths.tolist(), strict=True)
    ):
        values[row, length - ahead : length, :width] = batch.target.values[row, :ahead]
    return Sequences(values, batch.source.lengths)


def _wrong(problem: str, option: str) -> ModelError:
    example = {"states": "3", "components": "2", "restarts": "5", "floor": "0.001"}
    help = f"--set model.{option}={example.get(option, '0.0001')}"
    return ModelError("M420", f"model.{problem}", help=[help])
