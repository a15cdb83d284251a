"""Ensembles of models: the mean of their probabilities, token by token."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from ..batch import Batch, Sequences
from ..errors import ModelError
from ..model import Attends, Generator, Model, Prediction, Search, State, Weights
from ..signature import BEGIN, UNKNOWN, Form, Signature, Space, Vectors
from ..trace import named_modules
from .beam import beam_search, no_attention_error


class Ensemble(Model):
    """Ensemble of models with the same vocabulary: the arithmetic mean of their probabilities.

    p(y_t | y_<t, x) = 1/M Σ_m p_m(y_t | y_<t, x)

    Its state is the concatenation of the states of all models.
    """

    forms = frozenset({Form.NEXT, Form.TRANSDUCE})

    def __init__(self, models: Sequence[Any]) -> None:
        super().__init__(models[0].signature)
        self.models = list(models)
        with self.inference_mode():
            self._sizes = state_sizes(self.models, self.signature)

    @property
    def in_order(self) -> bool:
        """Whether any of the models needs text in its order."""
        return any(getattr(model, "in_order", False) for model in self.models)

    def predict(self, source: Sequences, search: Search) -> Prediction:
        is_next = self.signature.form is Form.NEXT
        return beam_search(self, source, search, prefix=source if is_next else None)

    def log_prob(self, batch: Batch) -> Float[np.ndarray, " batch"]:
        whole = Batch(batch.target.shift_right(BEGIN), batch.target)
        log_probs: np.ndarray = self.log_probs_from(whole, self.begin(batch.source))[0].sum(1)
        return log_probs

    def log_probs_from(
        self, window: Batch, state: State
    ) -> tuple[Float[np.ndarray, "batch time"], State]:
        """Log-probability of each target token; the source is the token before each."""
        return stepwise_log_probs(self, window.target, window.source, state)

    def begin(self, source: Sequences) -> State:
        return tuple(part for model in self.models for part in model.begin(source))

    def step(
        self, tokens: Int[np.ndarray, " batch"], state: State
    ) -> tuple[Float[np.ndarray, "batch vocabulary"], State]:
        states = zip(self.models, self._split(state), strict=True)
        steps = [model.step(tokens, own) for model, own in states]
        return self._mean([log_probs for log_probs, _ in steps]), sum((new for _, new in steps), ())

    def step_with_attention(
        self, tokens: Int[np.ndarray, " batch"], state: State
    ) -> tuple[Float[np.ndarray, "batch vocabulary"], State, Float[np.ndarray, "batch position"]]:
        """As `step`, and the mean of the models' attention weights."""
        steps = []
        for model, own in zip(self.models, self._split(state), strict=True):
            if not isinstance(model, Attends):
                raise no_attention_error(f"the model {type(model).__name__}")
            steps.append(model.step_with_attention(tokens, own))
        state = sum((new for _, new, _ in steps), ())
        weights = np.mean([weights for _, _, weights in steps], axis=0)
        return self._mean([log_probs for log_probs, _, _ in steps]), state, weights

    def output_limit(self, limit: int = 0) -> int:
        """The least of all models, none of which can decode more."""
        return min(model.output_limit(limit) for model in self.models)

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
        """The modules of all models by path, which begins with the number of the model."""
        return prefixed_modules({str(number): model for number, model in enumerate(self.models)})

    @contextmanager
    def inference_mode(self) -> Iterator[None]:
        """All models are in inference mode."""
        with ExitStack() as resting:
            for model in self.models:
                resting.enter_context(model.inference_mode())
            yield

    def _split(self, state: State) -> list[State]:
        ends = np.cumsum(self._sizes).tolist()
        return [state[end - size : end] for end, size in zip(ends, self._sizes, strict=True)]

    def _mean(
        self, log_probs: list[Float[np.ndarray, "batch vocabulary"]]
    ) -> Float[np.ndarray, "batch vocabulary"]:
        """log (1/M Σ_m e^log_probs_m), computed in logarithms so that nothing underflows."""
        total = np.asarray(log_probs[0], dtype=np.float64)
        for more in log_probs[1:]:
            total = np.logaddexp(total, more)
        mean: np.ndarray = total - np.log(len(log_probs))
        return mean


def state_sizes(models: Sequence[Generator], signature: Signature) -> list[int]:
    """How many parts each model's state has; raises an error where output vocabularies differ.

    They differ where some models can copy unknown tokens from the source and others cannot, which
    only a step shows.
    """
    source, begin = _dummy_source(signature.source), np.array([BEGIN])
    states = [model.begin(source) for model in models]
    if getattr(signature.target, "unknowns", 0):
        steps = zip(models, states, strict=True)
        if len({model.step(begin, state)[0].shape[1] for model, state in steps}) > 1:
            raise ModelError(
                "M207",
                "one of the models copies unknown tokens and another cannot write them",
                help=["join models that copy, or models that do not"],
            )
    return [len(state) for state in states]


def stepwise_log_probs(
    model: Generator, target: Sequences, before: Sequences, state: State
) -> tuple[Float[np.ndarray, "batch time"], State]:
    """Log-probability of each target token given the one before it, by single steps.

    A token that was copied from the source counts as UNKNOWN where the model cannot copy.
    """
    rows, scores = np.arange(len(before)), np.zeros(before.values.shape)
    for time in range(before.values.shape[1]):
        log_probs, state = model.step(before.values[:, time], state)
        tokens = target.values[:, time]
        tokens = np.where(tokens < log_probs.shape[1], tokens, UNKNOWN)
        scores[:, time] = np.asarray(log_probs)[rows, tokens]
    return np.where(target.mask, scores, 0.0), state


def prefixed_modules(models: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """The modules of several models by path, which begins with the name of the model."""
    for name, model in models.items():
        for path, module in named_modules(model):
            yield f"{name}.{path}" if path else name, module


def _dummy_source(space: Space) -> Sequences:
    """One sequence of one value."""
    if isinstance(space, Vectors):
        return Sequences(np.zeros((1, 1, space.width), dtype=np.float32), np.array([1]))
    return Sequences(np.full((1, 1), BEGIN), np.array([1]))
