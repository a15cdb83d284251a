"""The `Model` interface, and the optional abilities of models as runtime-checkable protocols.

Every model gives log-probabilities and predictions. Beside these a model may decode token by token
(`Generator`), attend to its source (`Attends`), carry its state through long text (`Stateful`),
stream (`Streaming`), infer hidden states (`HiddenStates`), be trained by gradient descent
(`GradientTrained`), by EM (`EMTrained`) or in closed form (`StatisticsTrained`), and more.

Arrays are NumPy arrays or torch tensors, as the model likes: callers use only what both support.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, runtime_checkable

import numpy as np
from jaxtyping import Bool, Float, Int

from .batch import Batch, Sequences
from .prediction import BernoulliLogits, default_limit
from .prediction import Prediction as Prediction
from .prediction import Search as Search
from .signature import DISCRETE_SPACES, Form, Signature, Space

# Every array of a state is batch-first, so that search can reorder any state without knowing it.
State = tuple[Any, ...]
Weights = dict[str, np.ndarray]


@dataclass(frozen=True)
class Constant:
    """A part of a decoding state that no step changes, such as encoder outputs.

    It has one row per source, where other parts have a row per candidate, those of a source next
    to each other: with S sources and W candidates each, S rows beside S·W. A beam search need not
    copy it, nor reorder it before a source is finished.
    """

    values: Any

    def __getitem__(self, rows: Any) -> "Constant":
        """The rows of these sources."""
        return Constant(self.values[rows])


class Model(ABC):
    """A sequence model: log p(target | source), and the most probable target of a source."""

    forms: ClassVar[frozenset[Form]]
    source_spaces: ClassVar[frozenset[type[Space]]] = DISCRETE_SPACES  # inputs it accepts
    target_spaces: ClassVar[frozenset[type[Space]]] = DISCRETE_SPACES  # outputs it can predict
    is_baseline: ClassVar[bool] = False  # baselines are never the default model of a task
    learns: ClassVar[str] = "gradient descent"  # how it is trained, for people; most are networks
    # For time series: whether the density of a future factorises into one-step densities of the
    # same model, so that multi-step and one-step forecasts are consistent.
    is_joint: bool = False

    def __init__(self, signature: Signature) -> None:
        super().__init__()
        self.signature = signature

    @classmethod
    def supports(cls, signature: Signature) -> bool:
        """Whether the model has this form, and accepts the source's space and the target's."""
        source, target = type(signature.source), type(signature.target)
        is_accepted = source in cls.source_spaces and target in cls.target_spaces
        return signature.form in cls.forms and is_accepted

    @staticmethod
    def seed(number: int) -> None:
        """Set the random seed of weight initialisation."""
        return

    @staticmethod
    @contextmanager
    def kept_random_state() -> Iterator[None]:
        """Context manager after which the random numbers that `seed` sets go on as before it."""
        state = np.random.get_state()
        try:
            yield
        finally:
            np.random.set_state(state)

    @abstractmethod
    def log_prob(self, batch: Batch) -> Any:
        """Natural log-probability of each target given its source, `(batch,)`."""

    @abstractmethod
    def predict(self, source: Sequences, search: Search) -> Prediction:
        """The most probable target, found exactly or by search."""

    @abstractmethod
    def weights(self) -> Weights:
        """All learned parameters, by name."""

    @abstractmethod
    def restore(self, weights: Mapping[str, np.ndarray]) -> None:
        """Load parameters as returned by `weights`."""

    def check_length(self, longest: int) -> None:
        """Raise an error if all training sequences are too short for the model's options."""
        return

    def output_limit(self, limit: int = 0) -> int:
        """The most tokens of an output: `limit`, or where it is 0 what follows from the data.

        Models that can decode only so many tokens give no more than that.
        """
        return limit or default_limit(self.signature.target)

    def num_parameters(self) -> int:
        """Number of learned parameters."""
        return sum(array.size for array in self.weights().values())

    def inference_mode(self) -> AbstractContextManager[Any]:
        """Context manager for inference: no dropout, no gradients."""
        return nullcontext()


@runtime_checkable
class Generator(Protocol):
    """Decodes one token at a time, so that every search in `decoding` applies."""

    def begin(self, source: Sequences) -> State:
        """The initial state; parts that no step changes are `Constant`."""
        ...

    def step(
        self, tokens: Int[np.ndarray, " batch"], state: State
    ) -> tuple[Float[np.ndarray, "batch vocabulary"], State]:
        """Log-probabilities of the next token after these, and the new state.

        For rows of bits: the logits of the next row. The parts of the returned state that are not
        `Constant` belong to the caller, who may change them in place.
        """
        ...


@runtime_checkable
class BernoulliOutputs(Protocol):
    """Predicts rows of bits by the logits of independent Bernoulli distributions."""

    def bit_logits(self, source: Sequences) -> list[BernoulliLogits]:
        """The logits of each row of each source, given the rows before it (teacher forcing)."""
        ...


@runtime_checkable
class Attends(Protocol):
    """Attends to its source while decoding, and returns the attention weights."""

    def step_with_attention(
        self, tokens: Int[np.ndarray, " batch"], state: State
    ) -> tuple[Float[np.ndarray, "batch vocabulary"], State, Float[np.ndarray, "batch position"]]:
        """As `step`, with the attention weights over source positions, which sum to 1."""
        ...


@runtime_checkable
class Stateful(Protocol):
    """Reads a long text segment by segment and carries its state from one to the next.

    The source of a segment is its input: the predecessor of each target, BEGIN before the first.
    Consecutive segments give the same log-probabilities as the whole text at once.
    """

    @property
    def in_order(self) -> bool:
        """Whether training needs segments in text order, with the state of the one before (BPTT).

        If not, segments come in any order, each from an initial state.
        """
        ...

    def begin(self, source: Sequences) -> State:
        """The state before the first segment; of `source` only the number of rows matters."""
        ...

    def log_probs_from(
        self, segment: Batch, state: State
    ) -> tuple[Float[np.ndarray, "batch time"], State]:
        """Log-probability of each target token, 0 where there is padding, and the new state."""
        ...


@runtime_checkable
class Stepper(Protocol):
    """Streaming inference on a single sequence: states are passed, and have no batch dimension."""

    def begin(self) -> State:
        """The state before the first value."""
        ...

    def step(self, value: Any, state: State) -> tuple[Float[np.ndarray, "*classes"], State]:
        """Log-probabilities after reading this token or row of numbers, and the new state.

        They are those of a sequence that ends here. For time series: one row for the mean of the
        next step, then one for each of its quantiles at LEVELS, with a column for each variable;
        known inputs are taken to stay as they are in this step.
        """
        ...


@runtime_checkable
class Filtering(Protocol):
    """A stepper that gives the filtering distribution of its hidden state, p(z_t | x_1 … x_t)."""

    def posterior(self, state: State) -> dict[str, Float[np.ndarray, "..."]]:
        """The parameters of that distribution, by name; `state` comes from `begin` or `step`."""
        ...


@runtime_checkable
class Decomposable(Protocol):
    """Decomposes a time series into components: level, trend, season and the like."""

    def components(
        self, past: Float[np.ndarray, "time all"]
    ) -> Mapping[str, tuple[Float[np.ndarray, "time _"], Float[np.ndarray, "time _"]]]:
        """Smoothed mean and standard deviation of each component at every step, by name.

        In the units of the model's input; the level is the series without the other components.
        """
        ...


@runtime_checkable
class Streaming(Protocol):
    """Causal, so that it can predict while a sequence is still arriving."""

    def stepper(self) -> Stepper:
        """A fast path for single steps, with a copy of the weights as they are now."""
        ...


@runtime_checkable
class StatisticsTrained(Protocol):
    """Trained from sufficient statistics, in closed form or by EM, instead of by gradients."""

    def statistics(self, batch: Batch) -> Any:
        """The sufficient statistics of a batch; two of them can be added."""
        ...

    def update(self, statistics: Any) -> None:
        """Set the parameters from the statistics of the whole training set."""
        ...


@dataclass(frozen=True)
class FitIteration:
    """A step of an optimizer that fits a model to its statistics.

    `progress` goes from 0 to 1. `state` is what the optimizer needs to go on from here exactly; it
    is empty between two iterations, where it is still that of the last one.
    """

    progress: float
    values: dict[str, float]
    state: Mapping[str, np.ndarray]
    is_final: bool
    has_converged: bool


@runtime_checkable
class IterativelyFitted(Protocol):
    """Fitted to its statistics by an optimizer, whose iterations can be watched and stopped."""

    def fit_iterations(
        self, statistics: Any, begun: Mapping[str, np.ndarray]
    ) -> Iterator[FitIteration]:
        """Fit the parameters, from the beginning or from a `state`; they follow each iteration."""
        ...


@runtime_checkable
class FitDiagnostics(Protocol):
    """Checks its own fit after training, such as for an explosive autoregression."""

    def warning(self) -> dict[str, Any]:
        """A `code`, the `problem` as a sentence, and `help`; empty if there is nothing to say."""
        ...


@runtime_checkable
class EMTrained(Protocol):
    """Trained by expectation-maximisation (EM; Baum-Welch for hidden Markov models).

    The statistics of a batch (E step) depend on the current parameters; `update` is the M step.
    """

    @property
    def restarts(self) -> int:
        """Number of random restarts."""
        ...

    @property
    def tolerance(self) -> float:
        """Convergence: a start ends when an iteration gains less than this, in nats per token."""
        ...

    def restart(self, number: int) -> None:
        """Initialise the parameters for this restart."""
        ...

    def weights(self) -> Weights:
        """All learned parameters, by name."""
        ...

    def restore(self, weights: Mapping[str, np.ndarray]) -> None:
        """Load parameters as returned by `weights`."""
        ...

    def statistics(self, batch: Batch) -> Any:
        """Expected statistics of a batch with its `log_likelihood` (E step); they can be added."""
        ...

    def update(self, statistics: Any) -> None:
        """Set the parameters from the statistics of the whole training set (M step)."""
        ...


@runtime_checkable
class SegmentStatistics(Protocol):
    """Trained from sufficient statistics, also of consecutive segments of a long text."""

    def statistics_from(self, segment: Batch, state: State) -> tuple[Any, State]:
        """The statistics of a segment, and the state for the next one.

        The source of a segment is the predecessor of each target; the first state is empty.
        """
        ...


@runtime_checkable
class GradientTrained(Protocol):
    """Trained by gradient descent on a loss."""

    def loss(self, batch: Batch) -> Any:
        """The training loss: nats per target token unless the model says otherwise."""
        ...

    def parameters(self) -> Iterable[Any]:
        """The parameters to optimise."""
        ...


@runtime_checkable
class LookBackWindow(Protocol):
    """Forecasts from a look-back window, and is trained on windows sampled from time series."""

    @property
    def look_back(self) -> int:
        """Length of the look-back window, in steps."""
        ...


@runtime_checkable
class SegmentLoss(Protocol):
    """Trained by truncated BPTT: gradient descent on consecutive segments of a long text."""

    def loss_from(self, segment: Batch, state: State) -> tuple[Any, State]:
        """Nats per target token, and the state after the segment, which the caller detaches."""
        ...

    @property
    def segment_length(self) -> int:
        """How many tokens a segment should have at least; 0 if any number will do.

        A model that begins anew with every segment learns nothing of positions beyond its end.
        """
        ...


@runtime_checkable
class InputGradients(Protocol):
    """Embeds its input, and differentiates predictions with respect to the embeddings."""

    def embedding_layer(self) -> Any:
        """The layer that gives one embedding for each input token; None if there is none."""
        ...

    def gradient_times_input(
        self,
        batch: Batch,
        positions: Int[np.ndarray, " batch"] | None = None,
        *,
        scale: float | Float[np.ndarray, " batch"] = 1.0,
    ) -> tuple[Float[np.ndarray, " batch"], Float[np.ndarray, "batch time"]]:
        """L, and gradient × input, Σ_d x_d ∂L/∂(scale x_d), of each input token with embedding x.

        L is log p(target | source) with all embeddings of a row multiplied by its scale. With
        positions, where each position or the whole has a label, each target is one label, and L
        its log-probability at this position given the whole source; for real-valued outputs, L is
        their sum.
        """
        ...


@runtime_checkable
class MaskedPosteriors(Protocol):
    """Gives label posteriors with some observations left out, as a hidden Markov model can."""

    def posteriors(
        self, source: Sequences, observed: Bool[np.ndarray, "batch time"]
    ) -> Float[np.ndarray, "batch time classes"]:
        """Posterior label probabilities at each position, if only some tokens are observed.

        The other positions are still there, without evidence: their token could be any.
        """
        ...


@dataclass(frozen=True)
class StatePosterior:
    """Inference about the hidden states of one sequence: filtering, smoothing and Viterbi path.

    Args:
        filtered: p(z_t | x_1 … x_t), state probabilities given the past.
        smoothed: p(z_t | x_1 … x_T), state probabilities given the whole sequence.
        path: the most probable sequence of states (Viterbi).
        transitions: the transition matrix, of first-order models.
        emissions: the emission probabilities of each token in each state; of a series, the means.
    """

    filtered: Float[np.ndarray, "time states"]
    smoothed: Float[np.ndarray, "time states"]
    path: Int[np.ndarray, " time"]
    transitions: Float[np.ndarray, "states states"] | None = None
    emissions: Float[np.ndarray, "states _"] | None = None


@runtime_checkable
class HiddenStates(Protocol):
    """Has discrete hidden states with emissions, as a hidden Markov model does."""

    def infer_states(self, source: Sequences) -> StatePosterior:
        """The posterior of the hidden states of one sequence: the first of `source`."""
        ...


@runtime_checkable
class LongestContext(Protocol):
    """Predicts from the longest context that was counted in training, as an n-gram model does."""

    def longest_context(self, read: Int[np.ndarray, " time"]) -> int:
        """Length of that context, in tokens."""
        ...


@runtime_checkable
class LimitedContext(Protocol):
    """Predicts the next token from a fixed number of tokens before it, as an n-gram model does."""

    @property
    def context_length(self) -> int:
        """That number, in tokens; what is before them changes no prediction."""
        ...


@runtime_checkable
class UnknownTokens(Protocol):
    """Learns to read unknown tokens from those that training has only once."""

    def find_singletons(self, sources: Sequence[np.ndarray]) -> None:
        """Find the tokens that these encoded training sources have once; before training."""
        ...


@runtime_checkable
class PretrainedEmbeddings(Protocol):
    """Can start from pretrained embeddings."""

    def load_embeddings(self, tokens: Sequence[str]) -> str:
        """Load the embeddings of these tokens, in order of their ids; a note if any were found."""
        ...
