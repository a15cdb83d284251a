"""Labels of each place, and the hidden states that a sequence goes through."""

from typing import Any

import numpy as np

from ..batch import Sequences
from ..inference.forecast import AsksAhead, chosen_series
from ..model import Search, Walked, Walks
from ..signature import Form, Labels, Series
from ..views import TagsView, TrellisView
from ..views.tags import Labelled
from .base import Kind
from .context import Looking, Subject

LEAST, OTHERS, SHOWN = 0.0005, 5, 5  # what else a label could be, and what a state shows


def _tags(looking: Looking) -> TagsView:
    subject = looking.subject
    with looking.model.at_rest():
        found = looking.model.predict(Sequences.pad([looking.read]), Search(chances=True))
    chances = np.asarray(found.chances, dtype=np.float64)[0]
    numbers = [int(number) for number in found.target.rows()[0]]
    labels = [subject.label(number) for number in range(chances.shape[1])]
    answer = looking.task.answer_to(looking.question, numbers)
    shown = looking.task.symbols(looking.question, answer)[1]
    tags = []
    for place, number in enumerate(numbers):
        order = [n for n in np.argsort(-chances[place], kind="stable").tolist() if n != number]
        others = [(labels[n], float(chances[place, n])) for n in order[:OTHERS]]
        others = [(label, p) for label, p in others if p >= LEAST]
        tags.append(Labelled(shown[place], float(chances[place, number]), tuple(others)))
    return TagsView(looking.source, tags, labels, _spans(looking, answer), looking.name)


def _spans(looking: Looking, answer: Any) -> list[tuple[str, int, int]]:
    """What the labels say is one thing, as an entity, by its places."""
    judged = looking.task.judged(looking.task.answered(looking.question, answer), answer)
    return [] if judged is None else sorted(judged.guessed, key=lambda one: one[1:])


def _trellis(looking: Looking) -> TrellisView:
    subject = looking.subject
    symbols, read, notes = _walked_over(looking)
    walked = _walk(looking, read)
    is_label = isinstance(subject.target, Labels) and subject.form is Form.EACH
    count = walked.filtered.shape[1]
    names = [subject.label(n) if is_label else str(n + 1) for n in range(count)]
    if subject.form is Form.WHOLE:
        notes = [*notes, "the states of the likeliest label"]
    return TrellisView(
        symbols,
        names,
        walked.filtered,
        walked.smoothed,
        walked.path.tolist(),
        looking.name,
        moves=walked.moves,
        shows=_shows(subject, walked),
        offset=int(subject.is_next),
        notes=notes,
    )


def _walk(looking: Looking, read: np.ndarray) -> Walked:
    if not isinstance(looking.model, Walks):
        raise TypeError(f"{type(looking.model).__name__} goes through no states")
    if not len(read):
        none = looking.model.walked(looking.subject.sample_batch.source)
        empty = np.zeros((0, none.filtered.shape[1]))
        return Walked(empty, empty, np.zeros(0, dtype=np.int64), none.moves, none.shown)
    with looking.model.at_rest():
        return looking.model.walked(Sequences.pad([read]))


def _walked_over(looking: Looking) -> tuple[list[str], np.ndarray, list[str]]:
    """What the places are called, what is seen there, and what must be said of it."""
    if looking.subject.form is Form.FORECAST:
        several = chosen_series(looking.question, looking.series)
        if not isinstance(looking.task, AsksAhead):
            raise TypeError(f"{type(looking.task).__name__} forecasts nothing")
        window = looking.task.ahead(several[0], 1)
        rows = np.asarray(looking.task.ask(window))[: window.cut - window.begin]
        notes = [f"the first of {len(several)} series"] if len(several) > 1 else []
        return list(several[0].times[window.begin : window.cut]), rows, notes
    if looking.subject.is_next:
        return looking.source[1:], looking.read[1:], []
    return looking.source, looking.read, []


def _shows(subject: Subject, walked: Walked) -> list[list[tuple[str, float]]]:
    """Of each state what it shows most, or the mean of its numbers."""
    if walked.shown is None:
        return []
    if isinstance(subject.source, Series):
        return [[("", float(value)) for value in row] for row in walked.shown]
    best = np.argsort(-walked.shown, axis=1, kind="stable")[:, :SHOWN]
    return [
        [(subject.label(n), float(row[n])) for n in order.tolist() if row[n] > 0]
        for row, order in zip(walked.shown, best, strict=True)
    ]


TAGS = Kind(
    "tags",
    "Labels of symbols",
    "The label of each symbol, how sure it is, and what else it could be.",
    lambda subject: subject.form is Form.EACH and isinstance(subject.target, Labels),
    _tags,
)
TRELLIS = Kind(
    "trellis",
    "Hidden states",
    "How likely each hidden state is so far and looking back, and the likeliest way through.",
    lambda subject: isinstance(subject.model, Walks),
    _trellis,
)
