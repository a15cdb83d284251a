"""From a text and a wish to what is to be explained, in numbers."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from ...batch import Sequences
from ...data.text.vocabulary import SPECIAL
from ...errors import ModelError, UsageError, nearest
from ...model import Generator, Model, Search
from ...signature import BEGIN, END, PAD, UNKNOWN, Bits, Form, Labels, Space, Tokens, Vectors
from ...task import Task

LISTED = 12  # so many labels are named in an error


@dataclass(frozen=True, kw_only=True)
class Question:
    """What of an answer is to be explained.

    Args:
        at: One place: its number, from 1, or the symbol there; of a text where each symbol has a
            label or the next is predicted, and otherwise of what is written.
        every: All places, where one would be taken: each symbol of a text that is predicted.
        instead: Another answer than the model's, as it would be printed.
        beam: Candidates kept where the model searches for its answer.
    """

    at: str = ""
    every: bool = False
    instead: str = ""
    beam: int = 1

    def __post_init__(self) -> None:
        if self.at and self.every:
            raise UsageError("U122", "--at asks about one place, --every about all: choose one")


PLAIN = Question()


@dataclass(frozen=True)
class Row:
    """A part of an answer: what stands at a place; no value where it is real numbers."""

    place: int
    value: int | None
    name: str
    at: str = ""


@dataclass(frozen=True)
class Asked:
    """What was read and what of which answer is to be explained.

    To predict the next symbol, BEGIN and then the text are read, and the answer is the text with
    what comes next: the symbol at a place follows all that was read up to that place.
    """

    model: Model
    read: np.ndarray
    symbols: tuple[str, ...]
    answer: np.ndarray  # of symbols that are written; else empty
    rows: tuple[Row, ...]

    @property
    def form(self) -> Form:
        """What is predicted from what."""
        return self.model.signature.form

    @property
    def is_real(self) -> bool:
        """Whether the answer is real numbers."""
        return isinstance(self.model.signature.target, Vectors)


def asked(model: Model, task: Task, question: Any, about: Question) -> Asked:
    """What of the answer to a question is to be explained."""
    if model.signature.form is Form.NEXT:
        if isinstance(model.signature.target, Bits):
            raise ModelError(
                "M481",
                "why explains one symbol or label; a row of bits has many answers at once",
                help=['seqloom inspect RUN --text "60,64,67 60,65,69"   looks at the gates'],
            )
        return _next(model, task, question, about)
    if about.every:
        raise UsageError(
            "U122",
            "--every is for a model of the next symbol",
            notes=["Others explain the whole answer unless --at is given."],
        )
    if model.signature.form is Form.TRANSDUCE:
        return _written(model, task, question, about)
    return _labels(model, task, question, about)


def _labels(model: Model, task: Task, question: Any, about: Question) -> Asked:
    """A label of the whole, or one at each place."""
    read = np.asarray(task.ask(question))
    found = model.predict(Sequences.pad([read]), Search()).target.rows()[0]
    symbols = task.symbols(question, task.answer_to(question, found))[0]
    names = symbols if model.signature.form is Form.EACH else []
    target = model.signature.target
    if isinstance(target, Vectors):
        if about.instead:
            raise UsageError("U122", "--for: the answer is a number, of which there is no other")
        rows = [Row(place, None, task.show(task.decode([row]))) for place, row in enumerate(found)]
    elif isinstance(target, Bits):
        rows = _decisions(task, found, target.size, about.instead)
    else:
        known = [task.shown_symbol(number) for number in range(_size(target))]
        labels = _instead(about.instead, known, names, found) if about.instead else found
        rows = [Row(place, int(label), known[label]) for place, label in enumerate(labels)]
    if names:
        rows = [Row(row.place, row.value, row.name, names[row.place]) for row in rows]
    if about.at:
        if not names:
            raise UsageError(
                "U121",
                f"--at {about.at}: this model gives the whole text one answer, not each place",
                help=["leave --at out"],
            )
        rows = [rows[place_of(about.at, names, "the text")]]
    return Asked(model, read, tuple(symbols), np.zeros(0, np.int64), tuple(rows))


def _decisions(task: Task, found: Sequence[Any], size: int, instead: str) -> list[Row]:
    """The labels that were given, each by itself; if there are none, all that could have been."""
    known = [task.show(task.decode([row])) for row in np.eye(size).tolist()]
    if instead:
        label = _label(instead, known)
        return [Row(0, label, known[label])]
    yes = np.flatnonzero(found[0]).tolist() or range(size)
    return [Row(0, label, known[label]) for label in yes]


def _size(space: Space) -> int:
    """How many labels or symbols there are to answer with."""
    if not isinstance(space, Tokens | Labels):
        raise TypeError(f"an answer is one of {space}: neither a label nor a symbol")
    return space.size


def _instead(text: str, known: list[str], names: list[str], found: Sequence[int]) -> list[int]:
    """Another label for the whole; where each place has one, one for all or one for each."""
    if not names or text in known:
        return [_label(text, known)] * len(found)
    labels = [_label(word, known) for word in text.split()]
    if len(labels) == 1:
        return labels * len(names)
    if len(labels) != len(names):
        raise ModelError(
            "M340",
            f"--for has {len(labels)} labels, and the text {len(names)} places",
            help=["give one label, or one for each place"],
        )
    return labels


def _label(name: str, known: list[str]) -> int:
    """The number of a label, or an error that says which there are."""
    if name in known:
        return known.index(name)
    near = nearest(name, known)
    more = f" and {len(known) - LISTED:,} more" if len(known) > LISTED else ""
    raise ModelError(
        "M340",
        f"--for: there is no answer {name!r} that the model could give",
        notes=[f"It knows: {', '.join(known[:LISTED])}{more}"],
        help=[f"did you mean {near!r}?"] if near else [],
    )


def _written(model: Model, task: Task, question: Any, about: Question) -> Asked:
    """Symbols that are written one after another, the end among them."""
    read = np.asarray(task.ask(question))
    if about.instead:
        value: Any = about.instead
    else:
        search = Search(beam=about.beam)
        search.must_fit(model.signature)
        found = model.predict(Sequences.pad([read]), search)
        value = task.answer_to(question, found.target.rows()[0])
    answer = np.asarray(task.encode(task.answered(question, value)).target, dtype=np.int64)
    symbols, names = task.symbols(question, value)
    if len(names) != len(answer):
        names = [task.shown_symbol(int(number)) for number in answer]
    strange = [name for name, number in zip(names, answer, strict=True) if number == UNKNOWN]
    if about.instead and strange:
        raise ModelError(
            "M340",
            f"--for: {strange[0]!r} is no symbol that the model could write",
            help=["training never showed it: choose an answer of known symbols"],
        )
    rows = [
        Row(place, int(number), name)
        for place, (number, name) in enumerate(zip(answer, names, strict=True))
    ]
    if about.at:
        rows = [rows[place_of(about.at, names, "the answer")]]
    return Asked(model, read, tuple(symbols), answer, tuple(rows))


def _next(model: Model, task: Task, question: Any, about: Question) -> Asked:
    """The symbol after a text, one of its own, or all of them."""
    text = np.asarray(task.ask(question), dtype=np.int64)
    names = task.symbols(question, "")[1][: len(text)]
    if len(names) != len(text):
        names = [task.shown_symbol(int(number)) for number in text]
    read = np.concatenate([[BEGIN], text])
    place = place_of(about.at, names, "the text") if about.at else len(text)
    if about.instead:
        value = _symbol(task, model, about.instead)
    else:
        value = int(text[place]) if about.at else _likeliest(model, read)
    answer = np.append(text[:place], value)
    is_own = about.at and not about.instead
    told = [*names[:place], names[place] if is_own else task.shown_symbol(value)]
    chosen = range(place + 1) if about.every else [place]
    rows = tuple(Row(row, int(answer[row]), told[row]) for row in chosen)
    symbols = (SPECIAL[BEGIN], *names)
    return Asked(model, read[: place + 1], symbols[: place + 1], answer, rows)


def _symbol(task: Task, model: Model, name: str) -> int:
    """The number of one symbol, as it is shown or as it is typed."""
    known = [task.shown_symbol(number) for number in range(END, _size(model.signature.target))]
    if name in known:
        return known.index(name) + END
    numbers, _ = task.written(name)
    if len(numbers) == 1 and numbers[0] != UNKNOWN:
        return numbers[0]
    return _label(name, known) + END


def _likeliest(model: Model, read: np.ndarray) -> int:
    """What the model expects after all that was read."""
    stepping = cast(Generator, model)  # all models of the next symbol are
    state = stepping.begin(Sequences.pad([read]))
    for symbol in read:
        log_probs, state = stepping.step(np.array([symbol]), state)
    scores = np.array(log_probs, dtype=np.float64)[0]
    scores[[PAD, BEGIN]] = -np.inf
    return int(scores.argmax())


def place_of(at: str, names: Sequence[str], where: str) -> int:
    """The place that is meant by its number, from 1, or by the symbol there."""
    if at.strip().lstrip("+-").isdecimal():
        if 1 <= (number := int(at)) <= len(names):
            return number - 1
        raise UsageError(
            "U120",
            f"--at {at}: {where} has {len(names)} places, counted from 1",
            help=[f"--at {len(names)}   is the last of them"],
        )
    found = [place for place, name in enumerate(names) if name == at]
    if len(found) == 1:
        return found[0]
    if found:
        several = ", ".join(str(place + 1) for place in found)
        raise UsageError(
            "U120",
            f"--at {at}: it stands {len(found)} times in {where}",
            help=[f"say which by its number: {several}"],
        )
    near = nearest(at, names)
    raise UsageError(
        "U120",
        f"--at {at}: there is no such symbol in {where}",
        notes=[f"It has: {' '.join(names)}"],
        help=[f"did you mean {near!r}?"] if near else ["give the number of a place, from 1"],
    )
