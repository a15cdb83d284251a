"""What every model can do, and the abilities some have beside it.

Arrays are NumPy's or torch's, as the model likes: whoever calls uses only what both can do.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, runtime_checkable

import numpy as np
from jaxtyping import Bool, Float, Int

from .batch import Batch, Sequences
from .prediction import Odds
from .prediction import Prediction as Prediction
from .prediction import Search as Search
from .signature import SYMBOLS, Form, Signature, Space

State = tuple[Any, ...]  # every array batch-first, so that search reorders any state without asking
Weights = dict[str, np.ndarray]


@dataclass(frozen=True)
class Still:
    """A part of a state that no step changes: what is known of the sources.

    It has one row for each source while other parts have a row for each candidate, those of a
    source next to each other: with S sources and W candidates for each, S rows beside S·W. A beam
    need not copy it, nor reorder it before a source leaves.
    """

    values: Any

    def __getitem__(self, rows: Any) -> "Still":
        """What is known of these sources."""
        return Still(self.values[rows])


class Model(ABC):
    """A sequence model: log p(target | source), and the best target for a source."""

    forms: ClassVar[frozenset[Form]]
    reads: ClassVar[frozenset[type[Space]]] = SYMBOLS  # the spaces a source may lie in
    writes: ClassVar[frozenset[type[Space]]] = SYMBOLS  # the spaces a target may lie in
    is_baseline: ClassVar[bool] = False  # whether it is trained only where it is named
    # Of series: whether the density of a future is that of its first step times that of the others
    # given it, so that what is said of many steps and what is said of one are the same model.
    is_joint: bool = False

    def __init__(self, signature: Signature) -> None:
        super().__init__()
        self.signature = signature

    @classmethod
    def can_do(cls, signature: Signature) -> bool:
        """Whether it has the form, reads the source's space and writes the target's."""
        reads, writes = type(signature.source) in cls.reads, type(signature.target) in cls.writes
        return signature.form in cls.forms and reads and writes

    @staticmethod
    def seed(number: int) -> None:
        """Let what is drawn at random when a model is made start from this number."""
        return

    @abstractmethod
    def log_prob(self, batch: Batch) -> Any:
        """Natural log-probability of each target given its source, `(batch,)`."""

    @abstractmethod
    def predict(self, source: Sequences, search: Search) -> Prediction:
        """The most probable target, found exactly or by search."""

    @abstractmethod
    def weights(self) -> Weights:
        """All that was learned, by name."""

    @abstractmethod
    def restore(self, weights: Mapping[str, np.ndarray]) -> None:
        """Take up what `weights` gave."""

    def check_length(self, longest: int) -> None:
        """Refuse to learn from sequences that are all too short for what the model was told."""
        return

    def size(self) -> int:
        """How many numbers were learned."""
        return sum(array.size for array in self.weights().values())

    def at_rest(self) -> AbstractContextManager[Any]:
        """A context in which the model is used, not trained."""
        return nullcontext()


@runtime_checkable
class Generator(Protocol):
    """Can be run one symbol at a time, so every search in `decoding` applies."""

    def begin(self, source: Sequences) -> State:
        """The state before any target symbol; what no step changes is `Still`."""
        ...

    def step(
        self, symbols: Int[np.ndarray, " batch"], state: State
    ) -> tuple[Float[np.ndarray, "batch vocabulary"], State]:
        """Log-probabilities of what follows these symbols, and the state after them.

        After rows of bits it is the log of the odds of each yes of the next row. What is not
        `Still` of that state is the caller's: it may be changed in place.
        """
        ...


@runtime_checkable
class Expects(Protocol):
    """Says of rows of bits, given all of them, what it expected of each from those before it."""

    def odds(self, source: Sequences) -> list[Odds]:
        """Of every source, the log of the odds of each yes at every place."""
        ...


@runtime_checkable
class Looks(Protocol):
    """Looks at the source while it writes, and can say where."""

    def step_looking(
        self, symbols: Int[np.ndarray, " batch"], state: State
    ) -> tuple[Float[np.ndarray, "batch vocabulary"], State, Float[np.ndarray, "batch place"]]:
        """As `step`, and how much it looked at each place of the source: weights that sum to 1."""
        ...


@runtime_checkable
class Carries(Protocol):
    """Reads a long text window by window, taking along what it remembers.

    A window's source is what is read: each target's predecessor, BEGIN before the first. Windows
    after one another say the same as the whole at once.
    """

    @property
    def in_order(self) -> bool:
        """Whether it learns from windows in the order of the text, with the state of the last.

        If not, windows come in any order, and reading begins anew with each.
        """
        ...

    def begin(self, source: Sequences) -> State:
        """The state before the first window; of `source` only the number of rows matters."""
        ...

    def log_probs_from(
        self, window: Batch, state: State
    ) -> tuple[Float[np.ndarray, "batch time"], State]:
        """Log-probability of each target symbol, 0 beyond a row's length, and the next state."""
        ...


@runtime_checkable
class Stepper(Protocol):
    """Reads one sequence, value by value; states are passed, and are rows without a batch."""

    def begin(self) -> State:
        """The state before the first value."""
        ...

    def step(self, value: Any, state: State) -> tuple[Float[np.ndarray, "*classes"], State]:
        """Log-probabilities once this symbol, or this row of numbers, is read, and the new state.

        They are what the model would say if the sequence ended here. Of a series they are rows of
        numbers, one for each that is observed: the mean of the next step, then its quantiles at
        LEVELS, with inputs as they were in this step.
        """
        ...


@runtime_checkable
class Filters(Protocol):
    """Knows, after every step, what the past says of what cannot be seen: a hidden state."""

    def posterior(self, state: State) -> dict[str, Float[np.ndarray, "..."]]:
        """What is known of the hidden state, by name; `state` is one that a stepper gave."""
        ...


@runtime_checkable
class Decomposes(Protocol):
    """Tells what a series is made of, such as its level, its trend and its season."""

    def components(
        self, past: Float[np.ndarray, "time all"]
    ) -> Mapping[str, tuple[Float[np.ndarray, "time _"], Float[np.ndarray, "time _"]]]:
        """By name the mean and the deviation of each at every step, given all steps.

        In the numbers that the model reads; the level is the series itself without the rest.
        """
        ...


@runtime_checkable
class Streams(Protocol):
    """Never looks ahead, so it can answer while a sequence is still coming in."""

    def stepper(self) -> Stepper:
        """A quick way to take single steps, with the weights as they are now."""
        ...


@runtime_checkable
class LearnsFromStatistics(Protocol):
    """Learns by counting or expectation-maximisation instead of gradients."""

    def statistics(self, batch: Batch) -> Any:
        """What a batch adds to what is known; two of them can be added."""
        ...

    def update(self, statistics: Any) -> None:
        """Set the model from the sums over all data."""
        ...


@runtime_checkable
class Warns(Protocol):
    """Knows, once it has learned, whether there is something that a person should know."""

    def warning(self) -> dict[str, Any]:
        """A `code`, the `problem` as a sentence, and what may `help`; empty where all is well."""
        ...


@runtime_checkable
class LearnsInPasses(Protocol):
    """Learns by expectation-maximisation: what a batch adds depends on the model as it is."""

    @property
    def restarts(self) -> int:
        """How often to start anew."""
        ...

    @property
    def tolerance(self) -> float:
        """A pass that gains less than this, in nats per symbol, is the last of its start."""
        ...

    def restart(self, number: int) -> None:
        """Begin this start."""
        ...

    def weights(self) -> Weights:
        """All that was learned, by name."""
        ...

    def restore(self, weights: Mapping[str, np.ndarray]) -> None:
        """Take up what `weights` gave."""
        ...

    def statistics(self, batch: Batch) -> Any:
        """What a batch adds, with its `log_likelihood`; two of them can be added."""
        ...

    def update(self, statistics: Any) -> None:
        """Set the model from the sums over all data."""
        ...


@runtime_checkable
class CountsStreams(Protocol):
    """Learns by counting, also from windows of a long text."""

    def statistics_from(self, window: Batch, state: State) -> tuple[Any, State]:
        """What a window adds, and the state to count the next one from.

        The window's source is each target's predecessor; before the first, the state is empty.
        """
        ...


@runtime_checkable
class LearnsByGradient(Protocol):
    """Learns by descending the gradient of a loss."""

    def loss(self, batch: Batch) -> Any:
        """What descent minimises: nats per target symbol unless the model says otherwise."""
        ...

    def parameters(self) -> Iterable[Any]:
        """What descent moves."""
        ...


@runtime_checkable
class LooksBack(Protocol):
    """Learns to forecast from pieces of series: so many steps, and those that follow them."""

    @property
    def look_back(self) -> int:
        """The most steps it reads before those it forecasts."""
        ...


@runtime_checkable
class LearnsFromStreams(Protocol):
    """Learns by gradient from windows of a long text."""

    def loss_from(self, window: Batch, state: State) -> tuple[Any, State]:
        """Nats per target symbol, and the state after the window, which the caller cuts off."""
        ...


@runtime_checkable
class Differentiates(Protocol):
    """Makes vectors of what it reads, and can tell how its answers follow them."""

    def door(self) -> Any:
        """The layer that makes one vector of each symbol that is read; None where there is none."""
        ...

    def slopes(
        self,
        batch: Batch,
        places: Int[np.ndarray, " batch"] | None = None,
        *,
        share: float | Float[np.ndarray, " batch"] = 1.0,
    ) -> tuple[Float[np.ndarray, " batch"], Float[np.ndarray, "batch time"]]:
        """L, and Σ_d x_d ∂L/∂(share x_d) at each symbol that is read, x being its vector.

        L is log p(target | source) where all vectors are multiplied by the row's share. With
        places, where each position or the whole has a label, each target is one label, and L the
        log of its chance at this place given the whole source; of real numbers, L is their sum.
        """
        ...


@runtime_checkable
class WeighsEvidence(Protocol):
    """Knows what each symbol says of the labels, apart from its neighbours, as a chain does."""

    def posteriors(
        self, source: Sequences, heard: Bool[np.ndarray, "batch time"]
    ) -> Float[np.ndarray, "batch time classes"]:
        """The chances of all labels at each place, if symbols are read only where they are heard.

        Other places are still there, and say nothing: their symbol could be any.
        """
        ...


@dataclass(frozen=True)
class Walked:
    """What one sequence says of the hidden states it went through, place by place.

    Args:
        filtered: the chances of states, given what was seen up to each place.
        smoothed: the same, given all of it.
        path: the likeliest states together.
        moves: the chance of each state after each, where that is all that a move depends on.
        shown: the chance of each symbol in each state; or the mean of numbers.
    """

    filtered: Float[np.ndarray, "time states"]
    smoothed: Float[np.ndarray, "time states"]
    path: Int[np.ndarray, " time"]
    moves: Float[np.ndarray, "states states"] | None = None
    shown: Float[np.ndarray, "states _"] | None = None


@runtime_checkable
class Walks(Protocol):
    """Goes through hidden states, of which each place says something."""

    def walked(self, source: Sequences) -> Walked:
        """What is known of the states of one sequence: the first of these."""
        ...


@runtime_checkable
class Matches(Protocol):
    """Goes by the longest context it has counted, as an n-gram does."""

    def matched(self, read: Int[np.ndarray, " time"]) -> int:
        """How many of the last symbols that were read that context has."""
        ...


@runtime_checkable
class TakesVectors(Protocol):
    """Can start from vectors of symbols that others have learned."""

    def take_vectors(self, symbols: Sequence[str]) -> str:
        """Take up what is known of these symbols, in their order; a sentence if anything was."""
        ...
