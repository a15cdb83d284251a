"""Who is looked into, and at which question: what every view is made from."""

from collections.abc import Sequence
from functools import cached_property
from typing import Any, cast

import numpy as np
from jaxtyping import Float

from ..batch import Batch, Sequences
from ..data.vocabulary import SPECIAL
from ..forecasting import chosen_series
from ..forms import BEGIN, END, UNKNOWN, Bits, Columns, Form, Labels, Letters, Series, Space, Tokens
from ..model import Generator, Model, Stepper, Streams
from ..task import Task
from ..trace import Trace, watching
from ..training.evaluation import predict
from .options import Inspecting
from .past import Past
from .past import sample as sample_series

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
            return sample_series(self.model, self.source, self.target, READ)
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
