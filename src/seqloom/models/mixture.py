"""Two models that answer together, each with its share of every symbol."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from ..batch import Batch, Sequences
from ..config import problems, taken
from ..decoding import search as find
from ..decoding.ensemble import modules_of, parts_of_a_state, step_by_step
from ..errors import ModelError, UsageError
from ..model import Carries, Generator, Model, Prediction, Search, State, Weights
from ..signature import BEGIN, READ, Form, Signature
from . import MODELS

Table = dict[str, Any]
NOBODY: Table = {}
PARTS = ("first", "second")


class Mixture(Model):
    """Linear interpolation of two models that share a vocabulary (Jelinek & Mercer, 1980).

    p(w | h) = λ p₁(w | h) + (1 - λ) p₂(w | h)        for every symbol w and all that came before, h

    It learns nothing itself: `seqloom mix` makes it of two runs, and finds λ.

    Args:
        weight: The share of the first model, λ, from 0 to 1.
        first: The [model] table of the first model.
        second: The [model] table of the second model.
    """

    forms = frozenset({Form.NEXT, Form.TRANSDUCE})
    reads = READ

    def __init__(
        self,
        signature: Signature,
        *,
        weight: float = 0.5,
        first: Table = NOBODY,
        second: Table = NOBODY,
    ) -> None:
        super().__init__(signature)
        if not 0 <= weight <= 1:
            raise ModelError("M175", f"a share lies between 0 and 1, not at {weight:g}")
        self.weight = weight
        self.first, self.second = (
            _part("first", first, signature),
            _part("second", second, signature),
        )
        with self.at_rest():  # how many arrays of a state are the first model's
            self._cut = parts_of_a_state([self.first, self.second], signature)[0]

    @property
    def in_order(self) -> bool:
        """Text is read in its order where a part needs that."""
        return any(getattr(part, "in_order", False) for part in (self.first, self.second))

    def log_prob(self, batch: Batch) -> Float[np.ndarray, " batch"]:
        if self.signature.form is Form.NEXT:
            batch = Batch(batch.target.late(BEGIN), batch.target)
        found: np.ndarray = self.log_probs_from(batch, self.begin(batch.source))[0].sum(1)
        return found

    def log_probs_from(
        self, window: Batch, state: State
    ) -> tuple[Float[np.ndarray, "batch time"], State]:
        (first, second), state = self.each_from(window, state)
        return np.where(window.target.mask, self.mixed(first, second), 0.0), state

    def each_from(
        self, window: Batch, state: State
    ) -> tuple[list[Float[np.ndarray, "batch time"]], State]:
        """Log-probability of each target symbol by either model, and the state after them."""
        is_next = self.signature.form is Form.NEXT
        before = window.source if is_next else window.target.late(BEGIN)
        one, own = _read(self.first, window, before, state[: self._cut])
        other, rest = _read(self.second, window, before, state[self._cut :])
        return [one, other], (*own, *rest)

    def mixed(
        self, first: Float[np.ndarray, "*shape"], second: Float[np.ndarray, "*shape"]
    ) -> Float[np.ndarray, "*shape"]:
        """log (λ e^first + (1 - λ) e^second)."""
        with np.errstate(divide="ignore"):  # a share of nothing: minus infinity is right
            mine, others = np.log(self.weight), np.log(1 - self.weight)
        found: np.ndarray = np.logaddexp(mine + first, others + second)
        return found

    def predict(self, source: Sequences, search: Search) -> Prediction:
        is_next = self.signature.form is Form.NEXT
        return find(self, source, search, prefix=source if is_next else None)

    def begin(self, source: Sequences) -> State:
        return (*self.first.begin(source), *self.second.begin(source))

    def step(
        self, symbols: Int[np.ndarray, " batch"], state: State
    ) -> tuple[Float[np.ndarray, "batch vocabulary"], State]:
        first, own = self.first.step(symbols, state[: self._cut])
        second, rest = self.second.step(symbols, state[self._cut :])
        found = self.mixed(np.asarray(first, np.float64), np.asarray(second, np.float64))
        return found, (*own, *rest)

    def weights(self) -> Weights:
        parts = zip(PARTS, (self.first, self.second), strict=True)
        return {
            f"{name}/{path}": array
            for name, part in parts
            for path, array in part.weights().items()
        }

    def restore(self, weights: Mapping[str, np.ndarray]) -> None:
        if {name.partition("/")[0] for name in weights} - set(PARTS):
            raise ModelError("M111", "the weights are not those of a mixture")
        for name, part in zip(PARTS, (self.first, self.second), strict=True):
            inside = {k: array for k, array in weights.items() if k.startswith(f"{name}/")}
            part.restore({k.removeprefix(f"{name}/"): array for k, array in inside.items()})

    def named_modules(self) -> Iterator[tuple[str, Any]]:
        """The blocks of both models, to watch them."""
        return modules_of({"first": self.first, "second": self.second})

    @contextmanager
    def at_rest(self) -> Iterator[None]:
        """Both models are used, not trained."""
        with self.first.at_rest(), self.second.at_rest():
            yield


def _part(name: str, table: Table, signature: Signature) -> Any:
    """A model as its table says, if it can go symbol by symbol."""
    if "name" not in table:
        raise ModelError(
            "M175",
            f"a mixture is made of two runs; its {name} model is missing",
            help=["seqloom mix RUN RUN   makes one"],
        )
    kind = MODELS.find(table["name"])
    settings = {key: value for key, value in table.items() if key != "name"}
    if wrong := problems(kind, settings):
        raise UsageError("U010", f"[model.{name}] {wrong[0]}", notes=wrong[1:])
    model = kind(signature, **taken(kind, settings))
    if not isinstance(model, Generator):
        raise ModelError(
            "M173", f"{table['name']!r} does not answer symbol by symbol, so it cannot be mixed"
        )
    return model


def _read(
    model: Any, window: Batch, before: Sequences, state: State
) -> tuple[Float[np.ndarray, "batch time"], State]:
    """Log-probability of each target symbol: at once where a model can, else step by step."""
    if isinstance(model, Carries):
        found, state = model.log_probs_from(window, state)
        return np.asarray(found, np.float64), state
    return step_by_step(model, window.target, before, state)
