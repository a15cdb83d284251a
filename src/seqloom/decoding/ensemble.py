"""Several models that answer together: the mean of their probabilities, symbol by symbol."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from ..batch import Batch, Sequences
from ..errors import ModelError
from ..model import Generator, Looks, Model, Prediction, Search, State, Weights
from ..signature import BEGIN, UNKNOWN, Form, Signature, Space, Vectors
from ..trace import modules
from .beam import cannot_look
from .beam import search as find


class Ensemble(Model):
    """Models that share their symbols, each with the same say.

    p(y_t | y_<t, x) = 1/M Σ_m p_m(y_t | y_<t, x)

    Its state is that of all models, one after the other; what is `Still` in one stays so.
    """

    forms = frozenset({Form.NEXT, Form.TRANSDUCE})

    def __init__(self, models: Sequence[Any]) -> None:
        super().__init__(models[0].signature)
        self.models = list(models)
        with self.at_rest():
            self._sizes = parts_of_a_state(self.models, self.signature)

    @property
    def in_order(self) -> bool:
        """Text is read in its order where a model needs that."""
        return any(getattr(model, "in_order", False) for model in self.models)

    def predict(self, source: Sequences, search: Search) -> Prediction:
        is_next = self.signature.form is Form.NEXT
        return find(self, source, search, prefix=source if is_next else None)

    def log_prob(self, batch: Batch) -> Float[np.ndarray, " batch"]:
        window = Batch(batch.target.late(BEGIN), batch.target)
        found: np.ndarray = self.log_probs_from(window, self.begin(batch.source))[0].sum(1)
        return found

    def log_probs_from(
        self, window: Batch, state: State
    ) -> tuple[Float[np.ndarray, "batch time"], State]:
        """Log-probability of each target symbol, what is read before it being the source."""
        return step_by_step(self, window.target, window.source, state)

    def begin(self, source: Sequences) -> State:
        return tuple(part for model in self.models for part in model.begin(source))

    def step(
        self, symbols: Int[np.ndarray, " batch"], state: State
    ) -> tuple[Float[np.ndarray, "batch vocabulary"], State]:
        told = [m.step(symbols, own) for m, own in zip(self.models, self._own(state), strict=True)]
        return self._mean([found for found, _ in told]), sum((new for _, new in told), ())

    def step_looking(
        self, symbols: Int[np.ndarray, " batch"], state: State
    ) -> tuple[Float[np.ndarray, "batch vocabulary"], State, Float[np.ndarray, "batch place"]]:
        """As `step`, and the mean of where the models looked."""
        told = []
        for model, own in zip(self.models, self._own(state), strict=True):
            if not isinstance(model, Looks):
                raise cannot_look(f"the model {type(model).__name__}")
            told.append(model.step_looking(symbols, own))
        state = sum((new for _, new, _ in told), ())
        weights = np.mean([weights for _, _, weights in told], axis=0)
        return self._mean([found for found, _, _ in told]), state, weights

    def weights(self) -> Weights:
        return {
            f"{number}/{name}": array
            for number, model in enumerate(self.models)
            for name, array in model.weights().items()
        }

    def restore(self, weights: Mapping[str, np.ndarray]) -> None:
        for number, model in enumerate(self.models):
            own = {name: array for name, array in weights.items() if name.startswith(f"{number}/")}
            model.restore({name.partition("/")[2]: array for name, array in own.items()})

    def named_modules(self) -> Iterator[tuple[str, Any]]:
        """The blocks of all models, to watch them: each behind the number of its model."""
        return modules_of({str(number): model for number, model in enumerate(self.models)})

    @contextmanager
    def at_rest(self) -> Iterator[None]:
        """All models are used, not trained."""
        with ExitStack() as resting:
            for model in self.models:
                resting.enter_context(model.at_rest())
            yield

    def _own(self, state: State) -> list[State]:
        ends = np.cumsum(self._sizes).tolist()
        return [state[end - size : end] for end, size in zip(ends, self._sizes, strict=True)]

    def _mean(
        self, found: list[Float[np.ndarray, "batch vocabulary"]]
    ) -> Float[np.ndarray, "batch vocabulary"]:
        """log (1/M Σ e^found), of numbers that may be too small for a probability."""
        total = np.asarray(found[0], dtype=np.float64)
        for more in found[1:]:
            total = np.logaddexp(total, more)
        mean: np.ndarray = total - np.log(len(found))
        return mean


def parts_of_a_state(models: Sequence[Generator], signature: Signature) -> list[int]:
    """How many parts each model's state has; models of different symbols are refused.

    One step tells: all must be able to write a source's unknown symbols, or none.
    """
    source, begin = _anything(signature.source), np.array([BEGIN])
    states = [model.begin(source) for model in models]
    if getattr(signature.target, "unknowns", 0):
        steps = zip(models, states, strict=True)
        if len({model.step(begin, state)[0].shape[1] for model, state in steps}) > 1:
            raise ModelError(
                "M207",
                "one of the models copies unknown symbols and another cannot write them",
                help=["join models that copy, or models that do not"],
            )
    return [len(state) for state in states]


def step_by_step(
    model: Generator, target: Sequences, before: Sequences, state: State
) -> tuple[Float[np.ndarray, "batch time"], State]:
    """Log-probability of each target symbol, each after the one that was read before it.

    A symbol that the source brought and the model does not copy is one of its unknown ones.
    """
    rows, found = np.arange(len(before)), np.zeros(before.values.shape)
    for time in range(before.values.shape[1]):
        log_probs, state = model.step(before.values[:, time], state)
        right = target.values[:, time]
        right = np.where(right < log_probs.shape[1], right, UNKNOWN)
        found[:, time] = np.asarray(log_probs)[rows, right]
    return np.where(target.mask, found, 0.0), state


def modules_of(models: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """The blocks of several models by their paths, which begin with the name of their model."""
    for name, model in models.items():
        for path, module in modules(model):
            yield f"{name}.{path}" if path else name, module


def _anything(space: Space) -> Sequences:
    """One sequence of one value."""
    if isinstance(space, Vectors):
        return Sequences(np.zeros((1, 1, space.width), dtype=np.float32), np.array([1]))
    return Sequences(np.full((1, 1), BEGIN), np.array([1]))
