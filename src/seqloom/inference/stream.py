"""Streaming inference: a model predicts while a sequence is still arriving, value by value.

    stream = run.stream()
    stream.step("t").value          the next token, or the label
    saved = stream.state            the recurrent state, from which to continue
    saved.save("here.safetensors")

The prediction after each step equals that of the model for the whole sequence so far.
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

from ..batch import Sequences, begin_value
from ..errors import DataError, ModelError
from ..model import Filtering, Generator, Model, State, Stepper, Streaming
from ..prediction import QuantileForecast
from ..signature import Bits, Columns, Form, Series, Tokens, Vectors
from ..task import Task
from ..training.checkpoints import load_arrays, save_arrays

KIND = "stream state"


@dataclass(frozen=True)
class StreamPrediction:
    """Prediction after a step: a log-probability for each token or label."""

    log_probs: Float[np.ndarray, " classes"]
    is_known: bool  # whether the input value is in the vocabulary
    _name: Callable[[int], str] = field(repr=False)

    @property
    def value(self) -> str:
        """The most likely next token or label."""
        return self._name(int(self.log_probs.argmax()))

    @property
    def log_prob(self) -> float:
        """The natural log-probability of `value`."""
        return float(self.log_probs.max())

    def top(self, count: int = 5) -> list[tuple[str, float]]:
        """The most likely classes with their probabilities, in decreasing order."""
        order = np.argsort(-self.log_probs, kind="stable")[:count]
        return [(self._name(int(index)), exp(self.log_probs[index])) for index in order]


@dataclass(frozen=True)
class NumericPrediction:
    """Prediction after a step of real-valued outputs, or of the probabilities of several labels."""

    numbers: Float[np.ndarray, " width"]
    is_known: bool
    value: str  # the numbers, formatted by the task


@dataclass(frozen=True)
class ForecastPrediction:
    """One-step forecast after a step of a time series.

    `mean`, `quantiles` (at LEVELS) and the `posterior` of the latent state, if the model has one,
    are in the scale of the model; `answer` is in the units of the file.
    """

    mean: Float[np.ndarray, " width"]
    quantiles: Float[np.ndarray, "width levels"]
    posterior: Mapping[str, np.ndarray]
    value: str  # the mean, formatted by the task
    answer: Any = None  # the one-step forecast, decoded by the task
    is_known: bool = True


@dataclass(frozen=True)
class StreamState:
    """The state of a stream: arrays by name, number of steps, and fingerprint of the model."""

    arrays: Mapping[str, np.ndarray]
    steps: int
    model: str

    def save(self, path: str | Path) -> None:
        """Save as a safetensors file."""
        save_arrays(
            Path(path), self.arrays, {"kind": KIND, "steps": self.steps, "model": self.model}
        )

    @classmethod
    def load(cls, path: str | Path) -> "StreamState":
        """Load a state saved by `save`."""
        found = load_arrays(Path(path))
        facts = found.facts
        if facts.get("kind") != KIND:
            raise ModelError(
                "M131",
                f"{path} does not hold the state of a stream",
                help=["give a file written by --state or stream.state.save"],
            )
        return cls(found.arrays, int(facts["steps"]), str(facts["model"]))


class Stream:
    """A sequence that is read value by value; made by `run.stream()`."""

    def __init__(self, model: Model, task: Task) -> None:
        self._model, self._task = model, task
        self._stepper = stepper_of(model)
        self._end = list(task.encode_end())
        self._encodings: dict[str, Any] = {}  # cache; only of known tokens, so it stays small
        self.reset()

    def reset(self) -> None:
        """Start a new sequence."""
        self.steps, self._now = 0, self._begin()

    def step(self, value: Any) -> StreamPrediction | NumericPrediction | ForecastPrediction:
        """Read one token or one row of numbers, and predict."""
        number, is_known = self._encoded(value)
        output, self._now = self._stepper.step(number, self._now)
        self.steps += 1
        after = self._now
        # Predict as if the sequence ended here; `_now` stays before the end, so it can continue.
        for token in self._end:
            output, after = self._stepper.step(token, after)
        if self._task.form is Form.FORECAST:
            return self._forecast(output)
        if isinstance(self._model.signature.target, Bits):
            output = np.exp(output)  # the probability of each bit
        if isinstance(self._model.signature.target, Bits | Vectors):
            return NumericPrediction(
                output, is_known, self._task.show(self._task.decode([output.tolist()]))
            )
        return StreamPrediction(output, is_known, self._task.show_token)

    def _forecast(self, output: Float[np.ndarray, "rows width"]) -> ForecastPrediction:
        mean, quantiles = output[0], output[1:].T
        known = self._stepper.posterior(self._now) if isinstance(self._stepper, Filtering) else {}
        answer = self._task.decode(QuantileForecast(mean[None], quantiles[None]))
        return ForecastPrediction(mean, quantiles, known, self._task.show(answer), answer)

    @property
    def state(self) -> StreamState:
        """The state of the stream; assign a saved one to continue from there."""
        arrays = {f"state.{index}": np.array(part) for index, part in enumerate(self._now)}
        return StreamState(arrays, self.steps, self._fingerprint)

    @state.setter
    def state(self, state: StreamState) -> None:
        first = self._begin()
        names = [f"state.{index}" for index in range(len(first))]
        fits = state.model == self._fingerprint and sorted(names) == sorted(state.arrays)
        if not fits or not all(
            _is_like(part, state.arrays[name]) for part, name in zip(first, names, strict=True)
        ):
            raise ModelError(
                "M131",
                "the state is of another model, or of this one before further training",
                help=["use the run that saved it, or start without a state"],
            )
        self._now = tuple(
            _like(part, state.arrays[name]) for part, name in zip(first, names, strict=True)
        )
        self.steps = state.steps

    def _begin(self) -> State:
        """The initial state; a language model has already read the begin token."""
        state = self._stepper.begin()
        if self._task.form is Form.NEXT:
            state = self._stepper.step(begin_value(self._model.signature.source), state)[1]
        return state

    def _encoded(self, value: Any) -> tuple[Any, bool]:
        """A value as the model reads it, and whether it is in the vocabulary."""
        if isinstance(value, str) and value in self._encodings:
            return self._encodings[value], True
        number, is_known = self._task.encode_value(value)
        source = self._model.signature.source
        if not is_known and not isinstance(source, Tokens | Columns | Bits | Vectors | Series):
            raise DataError(
                "D050",
                f"{value!r} was not in the training data, and this model has no unknown token",
            )
        if isinstance(source, Vectors):
            return _row(number, source.width), is_known
        if isinstance(source, Bits):
            return _row(number, source.size), is_known
        if isinstance(source, Series):
            return _row(number, source.width + source.known, np.float64), is_known
        if is_known:
            self._encodings[value] = number
        return number, is_known

    @cached_property
    def _fingerprint(self) -> str:
        """The SHA-256 of the signature and the weights."""
        found = hashlib.sha256(repr(self._model.signature).encode())
        for name, array in sorted(self._model.weights().items()):
            found.update(f"{name} {array.dtype} {array.shape}".encode())
            found.update(np.ascontiguousarray(array).tobytes())
        return found.hexdigest()


class _GeneratorStepper:
    """Stepper of a generator that has none of its own, with batches of one."""

    def __init__(self, model: Any) -> None:
        self._model = model

    def begin(self) -> State:
        with self._model.inference_mode():
            empty = Sequences.pad([np.zeros(0, dtype=np.int64)])
            return tuple(self._model.begin(empty))

    def step(self, value: Any, state: State) -> tuple[Float[np.ndarray, " classes"], State]:
        with self._model.inference_mode():
            log_probs, state = self._model.step(np.array([value]), state)
        return log_probs[0], state


def stepper_of(model: Model) -> Stepper:
    """The stepper of a model, or an error if it cannot stream."""
    if isinstance(model, Streaming):
        return model.stepper()
    if isinstance(model, Generator) and model.signature.form is Form.NEXT:
        return _GeneratorStepper(model)
    raise ModelError(
        "M130",
        "this model cannot stream: it predicts only after the whole source",
        help=["seqloom predict RUN INPUT   for whole sequences"],
    )


def _row(numbers: Any, width: int, kind: type = np.float32) -> Float[np.ndarray, " {width}"]:
    """A row of `width` numbers as an array."""
    if np.shape(numbers) != (width,):
        raise DataError(
            "D050", f"a step has {np.size(numbers)} numbers; this model reads {width} at a time"
        )
    return np.asarray(numbers, dtype=kind)


def _is_like(part: Any, array: np.ndarray) -> bool:
    """Whether shapes match; the first axis of a matrix, such as an attention cache, may grow."""
    grows = len(part.shape) > 1
    return len(part.shape) == array.ndim and tuple(part.shape[grows:]) == array.shape[grows:]


def _like(part: Any, array: np.ndarray) -> Any:
    """The array as a NumPy array or torch tensor, as in the model's own state."""
    return array if isinstance(part, np.ndarray) else part.new_tensor(array)
