"""What views are made from: a model with its task, and an inspection of it on one input.

For time series, `SeriesContext` is the part of a series that is read before a forecast.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, cast

import numpy as np
from jaxtyping import Float

from ..batch import Batch, Sequences
from ..cancellation import check_cancelled
from ..data.series.schema import TimeSeries
from ..data.text.vocabulary import SPECIAL_TOKENS
from ..evaluation.evaluate import predict
from ..inference.forecast import ForecastTask, select_series
from ..model import Generator, Model, Stepper, Streaming
from ..signature import (
    BEGIN,
    END,
    UNKNOWN,
    Bits,
    Columns,
    Form,
    Labels,
    Letters,
    Series,
    Space,
    Tokens,
)
from ..task import Task
from ..trace import Trace, watch
from .options import InspectionOptions

MISSING = "–"  # shown for a value that was not observed


@dataclass(frozen=True)
class ReceptiveField:
    """How much of the past a forecaster reads: the last `rows` steps, in patches of `patch` steps.

    With rows = 0 it reads all steps.
    """

    rows: int
    patch: int

    @classmethod
    def of(cls, model: Model) -> "ReceptiveField":
        """That of a model; one that names no look-back window reads all steps, one by one."""
        return cls(getattr(model, "look_back", 0), getattr(model, "patch", 1))

    def positions(self, past: int) -> list[range]:
        """The rows of each input position, oldest first; all patches but the first are full."""
        first = max(0, past - self.rows) if self.rows else 0
        ends = range(past, first, -self.patch)
        return [range(max(first, end - self.patch), end) for end in ends][::-1]


@dataclass(frozen=True, eq=False)
class SeriesContext:
    """The end of a time series as a model reads it, to forecast one step.

    Args:
        names: names of the input positions: their times, of a patch the first and the last.
        rows: the rows of the series for each position.
        values: the observation at each position, in the units of the file; of a patch the mean, of
            a multivariate series the first variable.
        batch: the rows that are read, with the step to forecast.
    """

    names: list[str]
    rows: list[range]
    values: Float[np.ndarray, " position"]
    batch: Batch

    @classmethod
    def of(cls, model: Model, task: Task, series: TimeSeries) -> "SeriesContext":
        """The context at the end of a series."""
        if not isinstance(task, ForecastTask):
            raise TypeError(f"{type(task).__name__} does not forecast")
        window = task.ahead(series, 1)
        rows = np.asarray(task.encode_source(window), dtype=np.float64)
        patches = ReceptiveField.of(model).positions(len(rows) - 1)
        positions = [range(window.start + one[0], window.start + one[-1] + 1) for one in patches]
        target = np.zeros((1, series.values.shape[1]))
        return cls(
            [_name(window.series, position) for position in positions],
            positions,
            np.array([_mean(window.series, position) for position in positions]),
            Batch(Sequences.pad([rows]), Sequences.pad([target])),
        )

    def training_batch(self) -> Batch:
        """The last observation as the target, to be forecast from those before it."""
        rows, width = self.batch.source.values[0], self.batch.target.values.shape[-1]
        observed = np.flatnonzero(np.isfinite(rows[:, :width]).any(1))
        end = int(observed[-1]) + 1 if len(observed) else len(rows)
        rows, target = rows[:end].copy(), rows[end - 1 : end, :width].copy()
        rows[-1, :width] = np.nan
        return Batch(Sequences.pad([rows]), Sequences.pad([target]))

    def shown(self) -> dict[str, str]:
        """The values as text, by the names of their positions."""
        return dict(zip(self.names, map(format_value, self.values.tolist()), strict=True))


def format_value(value: float) -> str:
    """A value with four significant digits."""
    return f"{value:.4g}" if np.isfinite(value) else MISSING


def sample_series(model: Model, source: Space, target: Space, most: int) -> tuple[Batch, int]:
    """A short series of zeros with one step to forecast, and the number of its input positions."""
    if not isinstance(source, Series) or not isinstance(target, Series):
        raise TypeError("series are forecast from series")
    field = ReceptiveField.of(model)
    past = min(most * field.patch, field.rows or most * field.patch)
    rows = np.zeros((past + 1, source.width + source.known))
    rows[-1, : source.width] = np.nan
    ahead = Sequences.pad([np.zeros((1, target.width))])
    return Batch(Sequences.pad([rows]), ahead), len(field.positions(past))


def _name(series: TimeSeries, rows: range) -> str:
    first, last = series.times[rows[0]], series.times[rows[-1]]
    return first if len(rows) == 1 else f"{first} … {last}"


def _mean(series: TimeSeries, rows: range) -> float:
    values = series.values[rows[0] : rows[-1] + 1, 0]
    values = values[np.isfinite(values)]
    return float(values.mean()) if len(values) else float("nan")


# Lengths of the sample. They differ, so that an array of one length tells its side.
SOURCE_LENGTH, TARGET_LENGTH = 5, 4


class InspectedModel:
    """A model with its task and its name.

    What it can show follows from what it records on a sample of a few unknown tokens, which every
    model can read.
    """

    def __init__(self, model: Model, task: Task, name: str) -> None:
        self.model, self.task, self.name = model, task, name

    @property
    def form(self) -> Form:
        """What is predicted from what."""
        return self.model.signature.form

    @property
    def source(self) -> Space:
        """The input space."""
        return self.model.signature.source

    @property
    def target(self) -> Space:
        """The output space."""
        return self.model.signature.target

    @property
    def is_language_model(self) -> bool:
        """Whether it predicts the next token."""
        return self.form is Form.NEXT and isinstance(self.target, Tokens)

    @property
    def is_causal(self) -> bool:
        """Whether it reads from the left without an end, in blocks if need be."""
        return self.form in (Form.NEXT, Form.FORECAST)

    @cached_property
    def _sampled(self) -> tuple[Batch, int]:
        if self.form is Form.FORECAST:
            return sample_series(self.model, self.source, self.target, SOURCE_LENGTH)
        return _sample(self), SOURCE_LENGTH

    @property
    def sample_batch(self) -> Batch:
        """The sample; its source and its target differ in length."""
        return self._sampled[0]

    @property
    def sample_length(self) -> int:
        """The number of input positions of the sample."""
        return self._sampled[1]

    @cached_property
    def sample_trace(self) -> Trace:
        """All that is recorded on the sample."""
        with self.model.inference_mode(), watch(self.model) as trace:
            self.model.log_prob(self.sample_batch)
        return trace

    def output_name(self, number: int) -> str:
        """The name of an output label or token."""
        if isinstance(self.target, Bits):
            return self.task.show(self.task.decode(np.eye(self.target.size)[[number]].tolist()))
        if isinstance(self.target, Tokens) and number < len(SPECIAL_TOKENS):
            return SPECIAL_TOKENS[number]
        return self.task.show_token(number)


class Inspection:
    """A model on one input: its input, its prediction, and what it records.

    The question is an example of the task; for forecasts, it is a list of series.
    """

    def __init__(
        self,
        subject: InspectedModel,
        question: Any,
        options: InspectionOptions,
        *,
        answer: Any = None,
        series: Sequence[str] = (),
        clip: float = 0.0,
    ) -> None:
        self.subject, self.question, self.options = subject, question, options
        self.model, self.task, self.name = subject.model, subject.task, subject.name
        self.series, self.clip, self._answer = tuple(series), clip, answer

    @cached_property
    def answer(self) -> Any:
        """The prediction, or the output that was given instead."""
        if self._answer is not None or self.subject.form is Form.NEXT:
            return "" if self._answer is None else self._answer
        return predict(self.model, self.task, [self.question], self.options.search())[0].value

    @cached_property
    def inputs(self) -> np.ndarray:
        """The input array; for language models, BEGIN and then the text."""
        array = np.asarray(self.task.encode_source(self.question))
        if self.subject.is_language_model:
            return np.concatenate([[BEGIN], array.astype(np.int64)])
        return array

    @cached_property
    def series_context(self) -> SeriesContext:
        """For forecasts, what is read of the first series."""
        series = select_series(self.question, self.series)[0]
        return SeriesContext.of(self.model, self.task, series)

    @cached_property
    def source(self) -> list[str]:
        """Names of the input positions: tokens, or the times of a series."""
        if self.subject.form is Form.FORECAST:
            return self.series_context.names
        if not self.subject.is_language_model:
            return list(self.task.show_tokens(self.question, self.answer)[0])
        text = self.inputs[1:]
        names = self.task.show_tokens(self.question, "")[1][: len(text)]
        if len(names) != len(text):
            names = [self.task.show_token(int(number)) for number in text]
        return [SPECIAL_TOKENS[BEGIN], *names]

    @cached_property
    def target(self) -> list[str]:
        """Names of the output positions: tokens or labels; none for forecasts."""
        if self.subject.form is Form.FORECAST:
            return []
        return list(self.task.show_tokens(self.question, self.answer)[1])

    @cached_property
    def batch(self) -> Batch:
        """The input with its output; a text gets an end, so that all of it is read."""
        if self.subject.form is Form.FORECAST:
            return self.series_context.batch
        if self.subject.is_language_model:
            whole = Sequences.pad([np.append(self.inputs[1:], END)])
            return Batch(whole, whole)
        return self.task.batch([self.task.with_target(self.question, self.answer)])

    @property
    def training_batch(self) -> Batch:
        """The input with the target of the loss; for forecasts, the last observation."""
        if self.subject.form is Form.FORECAST:
            return self.series_context.training_batch()
        return self.task.batch([self.task.with_target(self.question, self.answer)])

    @cached_property
    def next_log_probs(self) -> Float[np.ndarray, "time tokens"]:
        """Log-probabilities of all tokens after each input token, or at each output position."""
        model = cast(Generator, self.model)
        is_plain = not self.options.edit  # a stepper bypasses interventions
        if is_plain and self.subject.is_language_model and isinstance(self.model, Streaming):
            return self._streamed(self.model.stepper())
        if self.subject.is_language_model:
            source, forced = Sequences.pad([self.inputs]), self.inputs
        else:
            output = self.batch.target.values[0]
            source, forced = self.batch.source, np.concatenate([[BEGIN], output[:-1]])
        rows = []
        with self.model.inference_mode():
            state = model.begin(source)
            for token in forced:
                check_cancelled()
                log_probs, state = model.step(np.array([token]), state)
                rows.append(np.asarray(log_probs, dtype=np.float64)[0].copy())
        return np.stack(rows)

    def _streamed(self, stepper: Stepper) -> Float[np.ndarray, "time tokens"]:
        """The same by the fast steps of a single sequence."""
        state, rows = stepper.begin(), []
        for token in self.inputs.tolist():
            check_cancelled()
            log_probs, state = stepper.step(token, state)
            rows.append(np.array(log_probs, dtype=np.float64))
        return np.stack(rows)

    @cached_property
    def trace(self) -> Trace:
        """All that is recorded on the input and its output."""
        batch = self.batch  # made first: the search for the prediction is not to be recorded
        with self.model.inference_mode(), watch(self.model) as trace:
            self.model.log_prob(batch)
        return trace


def _sample(subject: InspectedModel) -> Batch:
    form, source = subject.form, subject.source
    inputs = Sequences.pad([_values(source, SOURCE_LENGTH, ends=(2, SOURCE_LENGTH - 1))])
    if form is Form.NEXT:
        return Batch(inputs, inputs)
    length = {Form.EACH: SOURCE_LENGTH, Form.WHOLE: 1, Form.TRANSDUCE: TARGET_LENGTH}[form]
    return Batch(inputs, Sequences.pad([_values(subject.target, length, ends=(length - 1,))]))


def _values(space: Space, length: int, ends: tuple[int, ...]) -> np.ndarray:
    """A sequence that exists in any space: unknown tokens and ends; of numbers, zeros."""
    if isinstance(space, Columns):
        return np.concatenate([_column(part, length, ends) for part in space.parts], axis=1)
    if isinstance(space, Tokens | Labels):
        return _column(space, length, ends)[:, 0]
    width = space.size if isinstance(space, Bits) else space.width
    more = space.known if isinstance(space, Series) else 0
    kind = np.float64 if isinstance(space, Series) else np.float32
    return np.zeros((length, width + more), dtype=kind)


def _column(part: Tokens | Labels | Letters, length: int, ends: tuple[int, ...]) -> np.ndarray:
    width = part.length if isinstance(part, Letters) else 1
    column = np.zeros((length, width), dtype=np.int64)
    if not isinstance(part, Labels):
        column[:, 0] = UNKNOWN
    if isinstance(part, Tokens):
        column[list(ends), 0] = END
    return column
