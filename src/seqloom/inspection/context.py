"""Who is looked into, and at which question: what every view is made from.

What of a series is read before a forecast: the rows at its end, and what they are called.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, cast

import numpy as np
from jaxtyping import Float

from ..batch import Batch, Sequences
from ..data.series.schema import Recorded
from ..data.text.vocabulary import SPECIAL
from ..evaluation.evaluate import predict
from ..inference.forecast import AsksAhead, chosen_series
from ..model import Generator, Model, Stepper, Streams
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
from ..trace import Trace, watching
from .options import Inspecting

MISSING = "–"  # how a number is shown that was not observed


@dataclass(frozen=True)
class Reach:
    """How much of a past a model reads: so many rows, so many of them at a time.

    A model that does not say reads all of them, one by one.
    """

    rows: int
    together: int

    @classmethod
    def of(cls, model: Model) -> "Reach":
        """What the model says of itself."""
        return cls(getattr(model, "look_back", 0), getattr(model, "patch", 1))

    def places(self, past: int) -> list[range]:
        """The rows that each place stands for; all but the first place are full."""
        first = max(0, past - self.rows) if self.rows else 0
        ends = range(past, first, -self.together)
        return [range(max(first, end - self.together), end) for end in ends][::-1]


@dataclass(frozen=True, eq=False)
class Past:
    """The end of a series as a model reads it, to say what comes one step later.

    Args:
        names: what its places are called: their times, of several rows the first and the last.
        numbers: what was observed there, in the units of the file; of several rows their mean, of
            several numbers the first.
        rows: of the series, for each place.
        batch: the rows that are read, with the step ahead.
    """

    names: list[str]
    rows: list[range]
    numbers: Float[np.ndarray, " place"]
    batch: Batch

    @classmethod
    def of(cls, model: Model, task: Task, series: Recorded) -> "Past":
        """Of a series, at its end."""
        if not isinstance(task, AsksAhead):
            raise TypeError(f"{type(task).__name__} forecasts nothing")
        window = task.ahead(series, 1)
        rows = np.asarray(task.ask(window), dtype=np.float64)
        past = Reach.of(model).places(len(rows) - 1)
        places = [range(window.begin + few[0], window.begin + few[-1] + 1) for few in past]
        ahead = np.zeros((1, series.values.shape[1]))
        return cls(
            [_name(window.series, place) for place in places],
            places,
            np.array([_mean(window.series, place) for place in places]),
            Batch(Sequences.pad([rows]), Sequences.pad([ahead])),
        )

    def lesson(self) -> Batch:
        """The last number that was observed, to be foreseen from those before it."""
        rows, width = self.batch.source.values[0], self.batch.target.values.shape[-1]
        seen = np.flatnonzero(np.isfinite(rows[:, :width]).any(1))
        end = int(seen[-1]) + 1 if len(seen) else len(rows)
        rows, target = rows[:end].copy(), rows[end - 1 : end, :width].copy()
        rows[-1, :width] = np.nan
        return Batch(Sequences.pad([rows]), Sequences.pad([target]))

    def shown(self) -> dict[str, str]:
        """Its numbers as they are written, by the names of their places."""
        return dict(zip(self.names, map(written, self.numbers.tolist()), strict=True))


def written(number: float) -> str:
    """A number as short as a rail needs it."""
    return f"{number:.4g}" if np.isfinite(number) else MISSING


def sample(model: Model, source: Space, target: Space, most: int) -> tuple[Batch, int]:
    """A short series of zeros with one step ahead, and how many places of it are read."""
    if not isinstance(source, Series) or not isinstance(target, Series):
        raise TypeError("series are forecast from series")
    reach = Reach.of(model)
    past = min(most * reach.together, reach.rows or most * reach.together)
    rows = np.zeros((past + 1, source.width + source.known))
    rows[-1, : source.width] = np.nan
    ahead = Sequences.pad([np.zeros((1, target.width))])
    return Batch(Sequences.pad([rows]), ahead), len(reach.places(past))


def _name(series: Recorded, rows: range) -> str:
    first, last = series.times[rows[0]], series.times[rows[-1]]
    return first if len(rows) == 1 else f"{first} … {last}"


def _mean(series: Recorded, rows: range) -> float:
    few = series.values[rows[0] : rows[-1] + 1, 0]
    few = few[np.isfinite(few)]
    return float(few.mean()) if len(few) else float("nan")


READ, WRITTEN = 5, 4  # symbols of the sample; different, so that sides can be told apart


class Subject:
    """A model with its task and its name.

    What it records is seen in a sample: a few unknown symbols, which every model can read.
    """

    def __init__(self, model: Model, task: Task, name: str) -> None:
        self.model, self.task, self.name = model, task, name

    @property
    def form(self) -> Form:
        """What is predicted from what."""
        return self.model.signature.form

    @property
    def source(self) -> Space:
        """What it reads."""
        return self.model.signature.source

    @property
    def target(self) -> Space:
        """What it answers with."""
        return self.model.signature.target

    @property
    def is_next(self) -> bool:
        """Whether it says which symbol is next."""
        return self.form is Form.NEXT and isinstance(self.target, Tokens)

    @property
    def goes_on(self) -> bool:
        """Whether it reads from the left what has no end, where need be in blocks."""
        return self.form in (Form.NEXT, Form.FORECAST)

    @cached_property
    def _sampled(self) -> tuple[Batch, int]:
        if self.form is Form.FORECAST:
            return sample(self.model, self.source, self.target, READ)
        return _sample(self), READ

    @property
    def sample_batch(self) -> Batch:
        """The sample; what is read and what is written differ in length."""
        return self._sampled[0]

    @property
    def sample_places(self) -> int:
        """How many places of the sample are read."""
        return self._sampled[1]

    @cached_property
    def sample(self) -> Trace:
        """All that is recorded while the sample is read."""
        with self.model.at_rest(), watching(self.model) as trace:
            self.model.log_prob(self.sample_batch)
        return trace

    def label(self, number: int) -> str:
        """What a label or a symbol of an answer is called."""
        if isinstance(self.target, Bits):
            return self.task.show(self.task.decode(np.eye(self.target.size)[[number]].tolist()))
        if isinstance(self.target, Tokens) and number < len(SPECIAL):
            return SPECIAL[number]
        return self.task.shown_symbol(number)


class Looking:
    """A subject before one question: what is read, what it answers, what it records.

    The question is an example of the task; where series are forecast, it is a list of series.
    """

    def __init__(
        self,
        subject: Subject,
        question: Any,
        options: Inspecting,
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
        """What the model answers, or what it was told to have answered."""
        if self._answer is not None or self.subject.form is Form.NEXT:
            return "" if self._answer is None else self._answer
        return predict(self.model, self.task, [self.question], self.options.search())[0].value

    @cached_property
    def read(self) -> np.ndarray:
        """The numbers that are read; to predict the next symbol, BEGIN and then the text."""
        asked = np.asarray(self.task.ask(self.question))
        if self.subject.is_next:
            return np.concatenate([[BEGIN], asked.astype(np.int64)])
        return asked

    @cached_property
    def past(self) -> Past:
        """What is read of the first series, where series are forecast."""
        series = chosen_series(self.question, self.series)[0]
        return Past.of(self.model, self.task, series)

    @cached_property
    def source(self) -> list[str]:
        """What the symbols are called that are read, of series the steps: the rail."""
        if self.subject.form is Form.FORECAST:
            return self.past.names
        if not self.subject.is_next:
            return list(self.task.symbols(self.question, self.answer)[0])
        text = self.read[1:]
        names = self.task.symbols(self.question, "")[1][: len(text)]
        if len(names) != len(text):
            names = [self.task.shown_symbol(int(number)) for number in text]
        return [SPECIAL[BEGIN], *names]

    @cached_property
    def target(self) -> list[str]:
        """What the symbols or labels are called that are answered; of series none is read."""
        if self.subject.form is Form.FORECAST:
            return []
        return list(self.task.symbols(self.question, self.answer)[1])

    @cached_property
    def batch(self) -> Batch:
        """The question with its answer; a text ends, so that all of it is read."""
        if self.subject.form is Form.FORECAST:
            return self.past.batch
        if self.subject.is_next:
            whole = Sequences.pad([np.append(self.read[1:], END)])
            return Batch(whole, whole)
        return self.task.batch([self.task.answered(self.question, self.answer)])

    @property
    def lesson(self) -> Batch:
        """The question with what a loss is taken of; of series that is the last number."""
        if self.subject.form is Form.FORECAST:
            return self.past.lesson()
        return self.task.batch([self.task.answered(self.question, self.answer)])

    @cached_property
    def after(self) -> Float[np.ndarray, "time symbols"]:
        """log p of all symbols after each that was read, or at each place that is written."""
        model = cast(Generator, self.model)
        is_plain = not self.options.edit  # quick steps know of no edits
        if is_plain and self.subject.is_next and isinstance(self.model, Streams):
            return self._streamed(self.model.stepper())
        if self.subject.is_next:
            source, reads = Sequences.pad([self.read]), self.read
        else:
            written = self.batch.target.values[0]
            source, reads = self.batch.source, np.concatenate([[BEGIN], written[:-1]])
        found = []
        with self.model.at_rest():
            state = model.begin(source)
            for symbol in reads:
                log_probs, state = model.step(np.array([symbol]), state)
                found.append(np.asarray(log_probs, dtype=np.float64)[0].copy())
        return np.stack(found)

    def _streamed(self, stepper: Stepper) -> Float[np.ndarray, "time symbols"]:
        """The same by quick steps of a single sequence."""
        state, found = stepper.begin(), []
        for symbol in self.read.tolist():
            log_probs, state = stepper.step(symbol, state)
            found.append(np.array(log_probs, dtype=np.float64))
        return np.stack(found)

    @cached_property
    def trace(self) -> Trace:
        """All that is recorded while the question and its answer are read."""
        batch = self.batch  # made before: to find the answer is not what is watched
        with self.model.at_rest(), watching(self.model) as trace:
            self.model.log_prob(batch)
        return trace


def _sample(subject: Subject) -> Batch:
    form, source = subject.form, subject.source
    read = Sequences.pad([_values(source, READ, ends=(2, READ - 1))])
    if form is Form.NEXT:
        return Batch(read, read)
    length = {Form.EACH: READ, Form.WHOLE: 1, Form.TRANSDUCE: WRITTEN}[form]
    return Batch(read, Sequences.pad([_values(subject.target, length, ends=(length - 1,))]))


def _values(space: Space, length: int, ends: tuple[int, ...]) -> np.ndarray:
    """A sequence that any vocabulary has: unknown symbols and ends; of numbers, zeros."""
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
    found = np.zeros((length, width), dtype=np.int64)
    if not isinstance(part, Labels):
        found[:, 0] = UNKNOWN
    if isinstance(part, Tokens):
        found[list(ends), 0] = END
    return found
