"""How likely an answer is when what is read is altered."""

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import NamedTuple, cast

import numpy as np
from jaxtyping import Float, Int

from ...batch import Sequences
from ...model import Generator, Search
from ...signature import BEGIN, UNKNOWN, Form
from .question import Asked

SEQUENCES_AT_ONCE, SYMBOLS_AT_ONCE = 64, 8192


class Altered(NamedTuple):
    """What is read instead, and which of its places was left out, if one was."""

    read: np.ndarray
    gone: int | None = None


def measured(asked: Asked, altered: Sequence[Altered]) -> Float[np.ndarray, "altered rows"]:
    """The log-probability of each part of the answer, given each reading; real numbers themselves.

    A label at a place is as likely as its chance given the whole of what was read. A symbol that is
    written is as likely as it is after those before it. What cannot be told is not a number: of a
    place that was left out, or where nothing is left to read.
    """
    measure = {Form.NEXT: _next, Form.TRANSDUCE: _written}.get(asked.form, _labels)
    found = np.full((len(altered), len(asked.rows)), np.nan)
    whole = [number for number, one in enumerate(altered) if len(one.read)]
    for some in _in_pieces(whole, max(1, len(asked.read), len(asked.answer))):
        found[some] = measure(asked, [altered[number] for number in some])
    return found


def _in_pieces(numbers: Sequence[int], length: int) -> Iterator[list[int]]:
    """A few at a time, so that long ones have room."""
    left = iter(numbers)
    size = max(1, min(SEQUENCES_AT_ONCE, SYMBOLS_AT_ONCE // length))
    while some := list(islice(left, size)):
        yield some


def _labels(asked: Asked, some: Sequence[Altered]) -> Float[np.ndarray, "some rows"]:
    prediction = asked.model.predict(
        Sequences.pad([one.read for one in some]), Search(chances=not asked.is_real)
    )
    values = prediction.target.values if prediction.chances is None else prediction.chances
    found = np.full((len(some), len(asked.rows)), np.nan)
    for number, one in enumerate(some):
        for column, row in enumerate(asked.rows):
            if (place := _moved(asked.form, row.place, one.gone)) is not None:
                found[number, column] = _known(values[number, place], row.value)
    return found


def _moved(form: Form, place: int, gone: int | None) -> int | None:
    """Where a place has gone when one before it was left out; None where it was that one."""
    if form is Form.WHOLE or gone is None or place < gone:
        return place
    return place - 1 if place > gone else None


def _known(there: Float[np.ndarray, " classes"], value: int | None) -> float:
    """The log of a chance, which is above 0 even where it is too small to be held."""
    if value is None:
        return float(there.sum())
    return float(np.log(max(there[value], np.finfo(there.dtype).tiny)))


def _written(asked: Asked, some: Sequence[Altered]) -> Float[np.ndarray, "some rows"]:
    source = Sequences.pad([one.read for one in some])
    late = np.concatenate([[BEGIN], asked.answer[:-1]])
    reads = np.tile(late, (len(some), 1))
    steps = np.tile([row.place for row in asked.rows], (len(some), 1))
    return _walked(asked, source, reads, steps)


def _next(asked: Asked, some: Sequence[Altered]) -> Float[np.ndarray, "some rows"]:
    reads = Sequences.pad([one.read for one in some])
    # What follows a place is told one step earlier, where one of those before it was left out.
    gone = [len(asked.read) if one.gone is None else one.gone for one in some]
    places = np.array([row.place for row in asked.rows])
    steps = places - (np.array(gone)[:, None] <= places)
    return _walked(asked, reads, reads.values, steps)


def _walked(
    asked: Asked,
    source: Sequences,
    reads: Int[np.ndarray, "some time"],
    steps: Int[np.ndarray, "some rows"],
) -> Float[np.ndarray, "some rows"]:
    """Log-probability of what is asked for after the given step of each; nothing comes before 0."""
    model = cast(Generator, asked.model)  # all models that write symbols are
    values, found = [row.value or 0 for row in asked.rows], np.full(steps.shape, np.nan)
    state = model.begin(source)
    for time in range(int(steps.max()) + 1):
        log_probs, state = model.step(reads[:, time], state)
        known = np.asarray(log_probs)
        for column, value in enumerate(values):
            rows = np.flatnonzero(steps[:, column] == time)
            number = value if value < known.shape[1] else UNKNOWN
            found[rows, column] = known[rows, number]
    return found
