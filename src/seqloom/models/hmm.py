"""Hidden Markov model of text with categorical emissions, trained by EM (Baum-Welch)."""

from collections.abc import Mapping

import numpy as np
from jaxtyping import Float, Int

from ..batch import Batch, Sequences
from ..config import Size
from ..decoding import beam_search
from ..errors import ModelError
from ..model import Model, Prediction, Search, State, StatePosterior, Weights
from ..signature import BEGIN, PAD, Form, Signature, Tokens
from ..statistical.hmm import compiled
from ..statistical.hmm.chain import EmissionScores, LinearChain
from ..statistical.hmm.compiled import ExpectedCounts, expected_counts

SPECIAL = [PAD, BEGIN]  # tokens that no state emits
NAMES = ("first", "moves", "shown")  # of weights on disk: π, A and B


class HMM(Model):
    """Hidden Markov model with categorical emissions, trained by EM (Baum-Welch).

    p(x, z) = π(z₁) Π_{t>1} A(z_{t-1}, z_t) Π_t B(z_t, x_t)
    p(x_t | x₁ … x_{t-1}) = Σ_z p(z_t = z | x₁ … x_{t-1}) B(z, x_t)           forward algorithm

    Initial distribution π, transition matrix A and emission probabilities B are estimated by the
    Baum-Welch algorithm (Baum et al., 1970): expected counts given text and current parameters (E
    step), normalised (M step). The likelihood never falls. EM finds a local optimum, hence the
    restarts.

    Args:
        states: Number of hidden states.
        smoothing: Pseudocount added to every expected count; 0 is no smoothing.
        restarts: Number of random restarts; the one with the best validation loss is kept.
        tolerance: Convergence tolerance of EM: it stops when an iteration gains less than this, in
            nats per token, or after training.epochs iterations.
    """

    forms = frozenset({Form.NEXT})
    learns = "EM (Baum-Welch)"
    source_spaces = target_spaces = frozenset({Tokens})
    in_order = True

    def __init__(
        self,
        signature: Signature,
        *,
        states: Size = 10,
        smoothing: float = 0.01,
        restarts: int = 1,
        tolerance: float = 1e-4,
    ) -> None:
        super().__init__(signature)
        for name, value, least in (("states", states, 1), ("restarts", restarts, 1)):
            if value < least:
                raise _wrong(f"{name} = {value}: expected a whole number of at least {least}", name)
        for name, number in (("smoothing", smoothing), ("tolerance", tolerance)):
            if number < 0:
                raise _wrong(f"{name} = {number:g} must not be negative", name)
        if not isinstance(signature.target, Tokens):
            raise TypeError("the emissions of this model are tokens")
        self.states, self._vocabulary = states, signature.target.size
        self.smoothing, self.restarts, self.tolerance = smoothing, restarts, tolerance
        self._seed = int(np.random.randint(1 << 31))  # from the generator that `seed` sets
        self.restart(0)

    @staticmethod
    def seed(number: int) -> None:
        np.random.seed(number)

    def restart(self, number: int) -> None:
        """Random parameters from Dirichlet distributions, seeded by the number of the restart."""
        random = np.random.default_rng([self._seed, number])
        emissions = random.dirichlet(np.ones(self._vocabulary), self.states)
        emissions[:, SPECIAL] = 0
        self._set(
            random.dirichlet(np.ones(self.states)),
            random.dirichlet(np.ones(self.states), self.states),
            emissions / emissions.sum(1, keepdims=True),
        )

    def statistics(self, batch: Batch) -> ExpectedCounts:
        return expected_counts(self._chain, self._emission_scores(batch.target))

    def update(self, statistics: ExpectedCounts) -> None:
        """The M-step of Baum-Welch: expected counts, smoothed and normalised."""
        counts = (statistics.initial, statistics.transitions, statistics.emissions.T)
        initial, transitions, emissions = (count + self.smoothing for count in counts)
        emissions[:, SPECIAL] = 0
        new = initial, transitions, emissions
        old = self._initial, self._transitions, self._emissions
        self._set(*(_normalised(*pair) for pair in zip(new, old, strict=True)))

    def log_prob(self, batch: Batch) -> Float[np.ndarray, " batch"]:
        return compiled.log_partitions(self._chain, self._emission_scores(batch.target))

    def predict(self, source: Sequences, search: Search) -> Prediction:
        return beam_search(self, source, search, prefix=source)

    def begin(self, source: Sequences) -> State:
        return (np.tile(self._initial, (len(source), 1)),)

    def step(
        self, tokens: Int[np.ndarray, " batch"], state: State
    ) -> tuple[Float[np.ndarray, "batch vocabulary"], State]:
        after = self._after(tokens, state[0])
        with np.errstate(divide="ignore"):
            return np.log(after @ self._emissions), (after,)

    def log_probs_from(
        self, segment: Batch, state: State
    ) -> tuple[Float[np.ndarray, "batch time"], State]:
        """Log-probability of every target token, and the state after the segment."""
        (prior,), mask = state, segment.target.mask
        log_probs = np.zeros(mask.shape)
        for t in range(mask.shape[1]):
            after = self._after(segment.source.values[:, t], prior)
            prior = np.where(mask[:, t, None], after, prior)
            probabilities = (prior * self._emissions.T[segment.target.values[:, t]]).sum(1)
            with np.errstate(divide="ignore"):
                log_probs[:, t] = np.where(mask[:, t], np.log(probabilities), 0.0)
        return log_probs, (prior,)

    def _after(
        self, tokens: Int[np.ndarray, " batch"], prior: Float[np.ndarray, "batch states"]
    ) -> Float[np.ndarray, "batch states"]:
        """One forward step: from p(z_t | x_<t), after reading x_t, to p(z_{t+1} | x_≤t).

        BEGIN and other tokens of probability 0 leave it unchanged: they are no observations.
        """
        joint = prior * self._emissions.T[tokens]
        total = joint.sum(1, keepdims=True)
        is_possible = total > 0
        posterior = joint / np.where(is_possible, total, 1)
        return np.where(is_possible, posterior @ self._transitions, prior)

    def viterbi_states(self, source: Sequences) -> tuple[Sequences, Float[np.ndarray, " batch"]]:
        """The most probable sequence of states (Viterbi), and log p(tokens, states)."""
        path, scores = compiled.viterbi(self._chain, self._emission_scores(source))
        states = np.zeros(source.values.shape, dtype=np.int64)
        states[source.mask] = path
        return Sequences(states, source.lengths), scores

    def state_probabilities(self, source: Sequences) -> Float[np.ndarray, "batch time states"]:
        """Posterior state probabilities p(z_t | x) (forward-backward); 0 at padding."""
        posterior = np.zeros((*source.values.shape, self.states))
        posterior[source.mask] = compiled.posteriors(
            self._chain, self._emission_scores(source)
        ).marginals
        return posterior

    def infer_states(self, source: Sequences) -> StatePosterior:
        """Filtering, smoothing and Viterbi path of a text."""
        one = Sequences(source.values[:1, : source.lengths[0]], source.lengths[:1])
        path, _ = self.viterbi_states(one)
        filtered = compiled.filtered_marginals(self._chain, self._emission_scores(one))
        smoothed = self.state_probabilities(one)[0]
        parameters = self._transitions, self._emissions
        return StatePosterior(filtered, smoothed, path.values[0], *parameters)

    def weights(self) -> Weights:
        return {"first": self._initial, "moves": self._transitions, "shown": self._emissions}

    def restore(self, weights: Mapping[str, np.ndarray]) -> None:
        mine = self.weights()
        if weights.keys() != mine.keys() or any(weights[n].shape != mine[n].shape for n in mine):
            raise ModelError("M111", f"the weights do not fit {self.states} hidden states")
        self._set(*(weights[name] for name in NAMES))

    def _set(
        self,
        initial: Float[np.ndarray, " states"],
        transitions: Float[np.ndarray, "states states"],
        emissions: Float[np.ndarray, "states size"],
    ) -> None:
        self._initial, self._transitions, self._emissions = initial, transitions, emissions
        with np.errstate(divide="ignore"):
            self._chain = LinearChain.first_order(
                np.log(initial), np.log(transitions), np.zeros(self.states)
            )
            self._log_emissions = np.log(emissions.T)

    def _emission_scores(self, source: Sequences) -> EmissionScores:
        return EmissionScores(self._log_emissions, source.values[source.mask], source.lengths)


def _normalised(
    counts: Float[np.ndarray, "*rows options"], before: Float[np.ndarray, "*rows options"]
) -> Float[np.ndarray, "*rows options"]:
    """Counts normalised to probabilities; rows without any count stay as they were."""
    total = counts.sum(-1, keepdims=True)
    return np.where(total > 0, counts / np.where(total > 0, total, 1), before)


def _wrong(problem: str, option: str) -> ModelError:
    example = {"states": "10", "restarts": "5", "smoothing": "0.01", "tolerance": "0.0001"}[option]
    return ModelError("M301", f"model.{problem}", help=[f"--set model.{option}={example}"])
