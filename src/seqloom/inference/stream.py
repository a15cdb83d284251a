"""A model that answers while a sequence is still coming in, value by value.

    stream = run.stream()
    stream.step("t").value          what follows, or the label, as far as can be known
    saved = stream.state            all that is needed to go on from here
    saved.save("here.safetensors")

After every step the answer is what the model gives for the sequence so far, read as a whole.
"""

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from math import exp
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float

from ..batch import Sequences, before_the_first
from ..errors import DataError, ModelError
from ..model import Filters, Generator, Model, State, Stepper, Streams
from ..prediction import Foreseen
from ..signature import Bits, Columns, Form, Series, Tokens, Vectors
from ..task import Task
from ..training.checkpoints import load_arrays, save_arrays

KIND = "stream state"


@dataclass(frozen=True)
class Reply:
    """What a model says after a step: a number for each symbol or label it could be."""

    log_probs: Float[np.ndarray, " classes"]
    is_known: bool  # whether training showed what was read; else it was read as unknown
    _name: Callable[[int], str] = field(repr=False)

    @property
    def value(self) -> str:
        """The likeliest next symbol, or the label."""
        return self._name(int(self.log_probs.argmax()))

    @property
    def log_prob(self) -> float:
        """The natural log-probability of `value`."""
        return float(self.log_probs.max())

    def top(self, count: int = 5) -> list[tuple[str, float]]:
        """The likeliest few with their probabilities, the best first."""
        order = np.argsort(-self.log_probs, kind="stable")[:count]
        return [(self._name(int(place)), exp(self.log_probs[place])) for place in order]


@dataclass(frozen=True)
class NumbersReply:
    """What a model of real numbers says after a step; or how likely each of several labels is."""

    numbers: Float[np.ndarray, " width"]
    is_known: bool
    value: str  # the numbers as the task shows them


@dataclass(frozen=True)
class ForecastReply:
    """What a model of series says after a step.

    What it expects next, with quantiles at LEVELS, and what it knows of its hidden state, if it has
    one: in the numbers it reads. The answer is in those of the file.
    """

    mean: Float[np.ndarray, " width"]
    quantiles: Float[np.ndarray, "width levels"]
    posterior: Mapping[str, np.ndarray]
    value: str  # what is expected, as the task shows it
    answer: Any = None  # a forecast of one step, as the task understands it
    is_known: bool = True


@dataclass(frozen=True)
class StreamState:
    """Where a stream stands: arrays by name, how many steps it took, and of which model it is."""

    arrays: Mapping[str, np.ndarray]
    steps: int
    model: str

    def save(self, path: str | Path) -> None:
        """As one safetensors file."""
        save_arrays(
            Path(path), self.arrays, {"kind": KIND, "steps": self.steps, "model": self.model}
        )

    @classmethod
    def load(cls, path: str | Path) -> "StreamState":
        """What `save` wrote."""
        found = load_arrays(Path(path))
        facts = found.facts
        if facts.get("kind") != KIND:
            raise ModelError(
                "M131",
                f"{path} holds no state of a stream",
                help=["give a file that --state, or stream.state.save, has written"],
            )
        return cls(found.arrays, int(facts["steps"]), str(facts["model"]))


class Stream:
    """One sequence, read value by value; made by `run.stream()`."""

    def __init__(self, model: Model, task: Task) -> None:
        self._model, self._task = model, task
        self._stepper = stepper_of(model)
        self._end = list(task.ask_end())
        self._read: dict[str, Any] = {}  # symbols already looked up; only known ones, so not many
        self.reset()

    def reset(self) -> None:
        """Forget all that was read: the next value is the first."""
        self.steps, self._now = 0, self._begin()

    def step(self, value: Any) -> Reply | NumbersReply | ForecastReply:
        """Read one symbol, or one row of numbers, and answer."""
        number, is_known = self._encoded(value)
        answer, self._now = self._stepper.step(number, self._now)
        self.steps += 1
        after = self._now
        for symbol in self._end:  # as if the sequence ended here; then it goes on as if not
            answer, after = self._stepper.step(symbol, after)
        if self._task.form is Form.FORECAST:
            return self._foreseen(answer)
        if isinstance(self._model.signature.target, Bits):
            answer = np.exp(answer)  # how likely each yes is
        if isinstance(self._model.signature.target, Bits | Vectors):
            return NumbersReply(
                answer, is_known, self._task.show(self._task.decode([answer.tolist()]))
            )
        return Reply(answer, is_known, self._task.shown_symbol)

    def _foreseen(self, answer: Float[np.ndarray, "rows width"]) -> ForecastReply:
        mean, quantiles = answer[0], answer[1:].T
        known = self._stepper.posterior(self._now) if isinstance(self._stepper, Filters) else {}
        answer = self._task.decode(Foreseen(mean[None], quantiles[None]))
        return ForecastReply(mean, quantiles, known, self._task.show(answer), answer)

    @property
    def state(self) -> StreamState:
        """Where the stream stands; set it to go on from there."""
        arrays = {f"state.{place}": np.array(part) for place, part in enumerate(self._now)}
        return StreamState(arrays, self.steps, self._fingerprint)

    @state.setter
    def state(self, state: StreamState) -> None:
        first = self._begin()
        names = [f"state.{place}" for place in range(len(first))]
        fits = state.model == self._fingerprint and sorted(names) == sorted(state.arrays)
        if not fits or not all(
            _is_like(part, state.arrays[name]) for part, name in zip(first, names, strict=True)
        ):
            raise ModelError(
                "M131",
                "the state is of another model, or of this one before it learned more",
                help=["restore it in the run it was saved from, or begin anew without it"],
            )
        self._now = tuple(
            _like(part, state.arrays[name]) for part, name in zip(first, names, strict=True)
        )
        self.steps = state.steps

    def _begin(self) -> State:
        """A model that predicts what is next has read the beginning before any symbol."""
        state = self._stepper.begin()
        if self._task.form is Form.NEXT:
            state = self._stepper.step(before_the_first(self._model.signature.source), state)[1]
        return state

    def _encoded(self, value: Any) -> tuple[Any, bool]:
        """A value as the model reads it, and whether training showed it."""
        if isinstance(value, str) and value in self._read:
            return self._read[value], True
        number, is_known = self._task.ask_one(value)
        source = self._model.signature.source
        if not is_known and not isinstance(source, Tokens | Columns | Bits | Vectors | Series):
            raise DataError(
                "D050",
                f"{value!r} was not in the training data, and this model has no symbol for that",
            )
        if isinstance(source, Vectors):
            return _row(number, source.width), is_known
        if isinstance(source, Bits):
            return _row(number, source.size), is_known
        if isinstance(source, Series):
            return _row(number, source.width + source.known, np.float64), is_known
        if is_known:
            self._read[value] = number
        return number, is_known

    @cached_property
    def _fingerprint(self) -> str:
        """What tells this model from all others: its weights."""
        found = hashlib.sha256(repr(self._model.signature).encode())
        for name, array in sorted(self._model.weights().items()):
            found.update(f"{name} {array.dtype} {array.shape}".encode())
            found.update(np.ascontiguousarray(array).tobytes())
        return found.hexdigest()


class _Generated:
    """Single steps of a generator that has no stepper of its own."""

    def __init__(self, model: Any) -> None:
        self._model = model

    def begin(self) -> State:
        with self._model.at_rest():
            empty = Sequences.pad([np.zeros(0, dtype=np.int64)])
            return tuple(self._model.begin(empty))

    def step(self, value: Any, state: State) -> tuple[Float[np.ndarray, " classes"], State]:
        with self._model.at_rest():
            log_probs, state = self._model.step(np.array([value]), state)
        return log_probs[0], state


def stepper_of(model: Model) -> Stepper:
    """A way to take single steps, or a sentence that says why there is none."""
    if isinstance(model, Streams):
        return model.stepper()
    if isinstance(model, Generator) and model.signature.form is Form.NEXT:
        return _Generated(model)
    raise ModelError(
        "M130",
        "this model answers only when it has read the whole of its source",
        help=["seqloom predict gives it whole sequences"],
    )


def _row(numbers: Any, width: int, kind: type = np.float32) -> Float[np.ndarray, " {width}"]:
    """So many numbers, as a model reads them."""
    if np.shape(numbers) != (width,):
        raise DataError(
            "D050", f"a step has {np.size(numbers)} numbers; this model reads {width} at a time"
        )
    return np.asarray(numbers, dtype=kind)


def _is_like(part: Any, array: np.ndarray) -> bool:
    """Whether an array can be this part of a state: of rows of numbers there may be more later."""
    grows = len(part.shape) > 1
    return len(part.shape) == array.ndim and tuple(part.shape[grows:]) == array.shape[grows:]


def _like(part: Any, array: np.ndarray) -> Any:
    """An array as the model's own kind: NumPy's or torch's."""
    return array if isinstance(part, np.ndarray) else part.new_tensor(array)
