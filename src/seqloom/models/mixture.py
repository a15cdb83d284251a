"""Linear interpolation of two trained models, token by token (Jelinek & Mercer, 1980)."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from ..batch import Batch, Sequences
from ..config import constructor_arguments, problems
from ..decoding import beam_search
from ..decoding.ensemble import prefixed_modules, state_sizes, stepwise_log_probs
from ..errors import ModelError, UsageError
from ..model import Generator, Model, Prediction, Search, State, Stateful, Weights
from ..signature import BEGIN, SOURCE_SPACES, Form, Signature
from . import MODELS

Table = dict[str, Any]
NO_MODEL: Table = {}
PARTS = ("first", "second")


class Mixture(Model):
    """Linear interpolation of two models that share a vocabulary (Jelinek & Mercer, 1980).

    p(w | h) = λ p₁(w | h) + (1 - λ) p₂(w | h)        for every token w and history h

    It has no parameters of its own but λ: `seqloom mix` makes it of two runs, and estimates λ.

    Args:
        weight: Interpolation weight λ of the first model, from 0 to 1.
        first: The [model] table of the first model.
        second: The [model] table of the second model.
    """

    forms = frozenset({Form.NEXT, Form.TRANSDUCE})
    source_spaces = SOURCE_SPACES
    learns = "maximum likelihood (of the weight, on validation data)"

    def __init__(
        self,
        signature: Signature,
        *,
        weight: float = 0.5,
        first: Table = NO_MODEL,
        second: Table = NO_MODEL,
    ) -> None:
        super().__init__(signature)
        if not 0 <= weight <= 1:
            raise ModelError("M175", f"weight = {weight:g}: expected a number from 0 to 1")
        self.weight = weight
        self.first, self.second = (
            _part("first", first, signature),
            _part("second", second, signature),
        )
        with self.inference_mode():  # number of state arrays of the first model
            self._cut = state_sizes([self.first, self.second], signature)[0]

    @property
    def in_order(self) -> bool:
        """Whether one of the models needs segments in text order."""
        return any(getattr(part, "in_order", False) for part in (self.first, self.second))

    def log_prob(self, batch: Batch) -> Float[np.ndarray, " batch"]:
        if self.signature.form is Form.NEXT:
            batch = Batch(batch.target.shift_right(BEGIN), batch.target)
        log_probs = self.log_probs_from(batch, self.begin(batch.source))[0]
        total: np.ndarray = log_probs.sum(1)
        return total

    def log_probs_from(
        self, segment: Batch, state: State
    ) -> tuple[Float[np.ndarray, "batch time"], State]:
        (first, second), state = self.each_from(segment, state)
        return np.where(segment.target.mask, self.interpolated(first, second), 0.0), state

    def each_from(
        self, segment: Batch, state: State
    ) -> tuple[list[Float[np.ndarray, "batch time"]], State]:
        """Log-probability of each target token under either model, and the new state."""
        is_next = self.signature.form is Form.NEXT
        before = segment.source if is_next else segment.target.shift_right(BEGIN)
        first, first_state = _log_probs(self.first, segment, before, state[: self._cut])
        second, second_state = _log_probs(self.second, segment, before, state[self._cut :])
        return [first, second], (*first_state, *second_state)

    def interpolated(
        self, first: Float[np.ndarray, "*shape"], second: Float[np.ndarray, "*shape"]
    ) -> Float[np.ndarray, "*shape"]:
        """log (λ e^first + (1 - λ) e^second)."""
        with np.errstate(divide="ignore"):  # log 0 = -∞ is right for a weight of 0 or 1
            log_weight, log_rest = np.log(self.weight), np.log(1 - self.weight)
        log_probs: np.ndarray = np.logaddexp(log_weight + first, log_rest + second)
        return log_probs

    def predict(self, source: Sequences, search: Search) -> Prediction:
        is_next = self.signature.form is Form.NEXT
        return beam_search(self, source, search, prefix=source if is_next else None)

    def output_limit(self, limit: int = 0) -> int:
        """The least of both models, neither of which can decode more."""
        return min(part.output_limit(limit) for part in (self.first, self.second))

    def begin(self, source: Sequences) -> State:
        return (*self.first.begin(source), *self.second.begin(source))

    def step(
        self, tokens: Int[np.ndarray, " batch"], state: State
    ) -> tuple[Float[np.ndarray, "batch vocabulary"], State]:
        first, first_state = self.first.step(tokens, state[: self._cut])
        second, second_state = self.second.step(tokens, state[self._cut :])
        both = np.asarray(first, np.float64), np.asarray(second, np.float64)
        return self.interpolated(*both), (*first_state, *second_state)

    def weights(self) -> Weights:
        parts = zip(PARTS, (self.first, self.second), strict=True)
        return {
            f"{name}/{path}": array
            for name, part in parts
            for path, array in part.weights().items()
        }

    def restore(self, weights: Mapping[str, np.ndarray]) -> None:
        if {name.partition("/")[0] for name in weights} - set(PARTS):
            raise ModelError("M111", "the weights are not those of an interpolated model")
        for name, part in zip(PARTS, (self.first, self.second), strict=True):
            inside = {k: array for k, array in weights.items() if k.startswith(f"{name}/")}
            part.restore({k.removeprefix(f"{name}/"): array for k, array in inside.items()})

    def named_modules(self) -> Iterator[tuple[str, Any]]:
        """The modules of both models, for `watch`."""
        return prefixed_modules({"first": self.first, "second": self.second})

    @contextmanager
    def inference_mode(self) -> Iterator[None]:
        """Both models in inference mode."""
        with self.first.inference_mode(), self.second.inference_mode():
            yield


def _part(name: str, table: Table, signature: Signature) -> Any:
    """A model from its [model] table, if it decodes token by token."""
    if "name" not in table:
        raise ModelError(
            "M175",
            f"an interpolated model needs two runs; its {name} model is missing",
            help=["seqloom mix RUN RUN   makes one"],
        )
    kind = MODELS.find(table["name"])
    settings = {key: value for key, value in table.items() if key != "name"}
    if wrong := problems(kind, settings):
        raise UsageError("U010", f"[model.{name}] {wrong[0]}", notes=wrong[1:])
    model = kind(signature, **constructor_arguments(kind, settings))
    if not isinstance(model, Generator):
        raise ModelError(
            "M173",
            f"{table['name']!r} does not decode token by token, so it cannot be interpolated",
        )
    return model


def _log_probs(
    model: Any, segment: Batch, before: Sequences, state: State
) -> tuple[Float[np.ndarray, "batch time"], State]:
    """Log-probability of each target token: of all at once if the model can, else step by step."""
    if isinstance(model, Stateful):
        log_probs, state = model.log_probs_from(segment, state)
        return np.asarray(log_probs, np.float64), state
    return stepwise_log_probs(model, segment.target, before, state)
