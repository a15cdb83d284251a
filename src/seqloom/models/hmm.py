"""Hidden Markov model of symbols without labels, its states found by expectation-maximisation."""

from collections.abc import Mapping

import numpy as np
from jaxtyping import Float, Int

from ..batch import Batch, Sequences
from ..decoding import search as find
from ..errors import ModelError
from ..model import Model, Prediction, Search, State, Walked, Weights
from ..signature import BEGIN, PAD, Form, Signature, Tokens
from ..statistical.hmm import compiled
from ..statistical.hmm.chain import Lattice, Places
from ..statistical.hmm.compiled import Expected, expected

NEVER = [PAD, BEGIN]  # symbols that no state shows
NAMES = ("first", "moves", "shown")


class HiddenStates(Model):
    """A text is what a walk through states shows; which states there are is found, not told.

    p(x, z) = first(z₁) Π_{t>1} moves(z_{t-1}, z_t) Π_t shown(z_t, x_t)
    p(x_t | x₁ … x_{t-1}) = Σ_z p(z_t = z | x₁ … x_{t-1}) shown(z, x_t)        the forward sums

    All three are learned by Baum and Welch (1970): count how often each thing happens on average,
    given the text and the model so far, make these counts the model, and repeat. The likelihood of
    the text never falls. What is found depends on where it starts, so it can start several times.

    Args:
        states: How many states there are.
        smoothing: What is added to every count, so that nothing is impossible; 0 adds nothing.
        restarts: How often learning starts, from other random numbers each time; what validation
            likes best is kept.
        tolerance: Learning ends when all symbols gain less than this on average, in nats, or after
            training.epochs passes.
    """

    forms = frozenset({Form.NEXT})
    reads = writes = frozenset({Tokens})
    in_order = True

    def __init__(
        self,
        signature: Signature,
        *,
        states: int = 10,
        smoothing: float = 0.01,
        restarts: int = 1,
        tolerance: float = 1e-4,
    ) -> None:
        super().__init__(signature)
        for name, value, least in (("states", states, 1), ("restarts", restarts, 1)):
            if value < least:
                raise _wrong(f"{name} = {value}: expected a whole number of at least {least}", name)
        for name, share in (("smoothing", smoothing), ("tolerance", tolerance)):
            if share < 0:
                raise _wrong(f"{name} = {share:g} must not be negative", name)
        if not isinstance(signature.target, Tokens):
            raise TypeError("hidden states show symbols")
        self.states, self._symbols = states, signature.target.size
        self.smoothing, self.restarts, self.tolerance = smoothing, restarts, tolerance
        self._seed = int(np.random.randint(1 << 31))  # from where `seed` has set it
        self.restart(0)

    @staticmethod
    def seed(number: int) -> None:
        np.random.seed(number)

    def restart(self, number: int) -> None:
        """Begin anew, from random numbers of this start alone."""
        chance = np.random.default_rng([self._seed, number])
        shown = chance.dirichlet(np.ones(self._symbols), self.states)
        shown[:, NEVER] = 0
        self._take(
            chance.dirichlet(np.ones(self.states)),
            chance.dirichlet(np.ones(self.states), self.states),
            shown / shown.sum(1, keepdims=True),
        )

    def statistics(self, batch: Batch) -> Expected:
        return expected(self._lattice, self._places(batch.target))

    def update(self, statistics: Expected) -> None:
        counts = (statistics.first, statistics.moves, statistics.rows.T)
        first, moves, shown = (count + self.smoothing for count in counts)
        shown[:, NEVER] = 0
        told = zip((first, moves, shown), (self._first, self._moves, self._shown), strict=True)
        self._take(*(_shares(count, before) for count, before in told))

    def log_prob(self, batch: Batch) -> Float[np.ndarray, " batch"]:
        return compiled.totals(self._lattice, self._places(batch.target))

    def predict(self, source: Sequences, search: Search) -> Prediction:
        return find(self, source, search, prefix=source)

    def begin(self, source: Sequences) -> State:
        return (np.tile(self._first, (len(source), 1)),)

    def step(
        self, symbols: Int[np.ndarray, " batch"], state: State
    ) -> tuple[Float[np.ndarray, "batch vocabulary"], State]:
        after = self._after(symbols, state[0])
        with np.errstate(divide="ignore"):
            return np.log(after @ self._shown), (after,)

    def log_probs_from(
        self, window: Batch, state: State
    ) -> tuple[Float[np.ndarray, "batch time"], State]:
        """Log-probability of every target symbol, and the state after the window."""
        (ahead,), mask = state, window.target.mask
        found = np.zeros(mask.shape)
        for t in range(mask.shape[1]):
            ahead = np.where(
                mask[:, t, None], self._after(window.source.values[:, t], ahead), ahead
            )
            chances = (ahead * self._shown.T[window.target.values[:, t]]).sum(1)
            with np.errstate(divide="ignore"):
                found[:, t] = np.where(mask[:, t], np.log(chances), 0.0)
        return found, (ahead,)

    def _after(
        self, symbols: Int[np.ndarray, " batch"], ahead: Float[np.ndarray, "batch states"]
    ) -> Float[np.ndarray, "batch states"]:
        """How likely each state is next, once these symbols are read, from how likely it was now.

        BEGIN comes before the first state, and nothing is learned from what cannot be.
        """
        here = ahead * self._shown.T[symbols]
        total = here.sum(1, keepdims=True)
        is_real = total > 0
        return np.where(is_real, here / np.where(is_real, total, 1) @ self._moves, ahead)

    def best_states(self, symbols: Sequences) -> tuple[Sequences, Float[np.ndarray, " batch"]]:
        """The likeliest states together (Viterbi), and log p(symbols, states)."""
        path, scores = compiled.viterbi(self._lattice, self._places(symbols))
        found = np.zeros(symbols.values.shape, dtype=np.int64)
        found[symbols.mask] = path
        return Sequences(found, symbols.lengths), scores

    def state_chances(self, symbols: Sequences) -> Float[np.ndarray, "batch time states"]:
        """p(z_t | all symbols) at each place; 0 where there is none."""
        found = np.zeros((*symbols.values.shape, self.states))
        found[symbols.mask] = compiled.posteriors(self._lattice, self._places(symbols)).chances
        return found

    def walked(self, source: Sequences) -> Walked:
        """What a text says of its states; each is told by the symbols it shows."""
        one = Sequences(source.values[:1, : source.lengths[0]], source.lengths[:1])
        path, _ = self.best_states(one)
        filtered = compiled.filtered(self._lattice, self._places(one))
        chances = self.state_chances(one)[0]
        return Walked(filtered, chances, path.values[0], self._moves, self._shown)

    def weights(self) -> Weights:
        return {"first": self._first, "moves": self._moves, "shown": self._shown}

    def restore(self, weights: Mapping[str, np.ndarray]) -> None:
        mine = self.weights()
        if weights.keys() != mine.keys() or any(weights[n].shape != mine[n].shape for n in mine):
            raise ModelError("M111", f"the weights do not fit {self.states} hidden states")
        self._take(*(weights[name] for name in NAMES))

    def _take(
        self,
        first: Float[np.ndarray, " states"],
        moves: Float[np.ndarray, "states states"],
        shown: Float[np.ndarray, "states size"],
    ) -> None:
        self._first, self._moves, self._shown = first, moves, shown
        with np.errstate(divide="ignore"):
            self._lattice = Lattice.of(np.log(first), np.log(moves), np.zeros(self.states))
            self._fits = np.log(shown.T)

    def _places(self, symbols: Sequences) -> Places:
        return Places(self._fits, symbols.values[symbols.mask], symbols.lengths)


def _shares(
    counts: Float[np.ndarray, "*rows options"], before: Float[np.ndarray, "*rows options"]
) -> Float[np.ndarray, "*rows options"]:
    """Counts as shares; what was never counted stays as it was."""
    whole = counts.sum(-1, keepdims=True)
    return np.where(whole > 0, counts / np.where(whole > 0, whole, 1), before)


def _wrong(problem: str, option: str) -> ModelError:
    example = {"states": "10", "restarts": "5", "smoothing": "0.01", "tolerance": "0.0001"}[option]
    return ModelError("M301", f"model.{problem}", help=[f"--set model.{option}={example}"])
