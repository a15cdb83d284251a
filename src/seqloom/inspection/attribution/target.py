"""The target of an attribution: which parts of which output are attributed to which input."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from ...batch import Sequences
from ...cancellation import check_cancelled
from ...data.text.vocabulary import SPECIAL_TOKENS
from ...errors import ModelError, UsageError, nearest
from ...model import Generator, Model, Search
from ...signature import BEGIN, END, PAD, UNKNOWN, Bits, Form, Labels, Space, Tokens, Vectors
from ...task import Task

LISTED = 12  # labels that an error message names


@dataclass(frozen=True, kw_only=True)
class TargetOptions:
    """Which part of the output is attributed.

    Args:
        at: One position: its number, from 1, or the token there; in the input where each token has
            a label or the next token is predicted, otherwise in the output.
        every: All positions, for models of the next token: each token of the text.
        instead: Another output than the prediction, as it would be printed.
        beam: Beam size where the model searches for its prediction.
        limit: Maximum number of tokens of that prediction; 0 follows from training, as in `Search`.
    """

    at: str = ""
    every: bool = False
    instead: str = ""
    beam: int = 1
    limit: int = 0

    def __post_init__(self) -> None:
        if self.at and self.every:
            raise UsageError("U122", "--at is for one position, --every for all: choose one")


DEFAULT = TargetOptions()


@dataclass(frozen=True)
class OutputPart:
    """One part of the output: the label or token at a position; no value for real outputs."""

    position: int
    value: int | None
    name: str
    at: str = ""


@dataclass(frozen=True)
class AttributionProblem:
    """A model, its input, and the parts of an output that are attributed to the input.

    To predict the next token, the input is BEGIN and then the text, and the output is the text and
    its next token: the token at a position is predicted from all input up to that position.
    """

    model: Model
    inputs: np.ndarray
    tokens: tuple[str, ...]  # names of the inputs
    output: np.ndarray  # of tokens that are generated; else empty
    parts: tuple[OutputPart, ...]

    @property
    def form(self) -> Form:
        """What is predicted from what."""
        return self.model.signature.form

    @property
    def is_real(self) -> bool:
        """Whether the output is real-valued."""
        return isinstance(self.model.signature.target, Vectors)


def attribution_problem(
    model: Model, task: Task, question: Any, about: TargetOptions
) -> AttributionProblem:
    """The problem for an input of the task."""
    if model.signature.form is Form.NEXT:
        if isinstance(model.signature.target, Bits):
            raise ModelError(
                "M481",
                "why explains one token or label; a row of bits has many outputs at once",
                help=['seqloom inspect RUN --text "60,64,67 60,65,69"   shows the gates'],
            )
        return _next(model, task, question, about)
    if about.every:
        raise UsageError(
            "U122",
            "--every is for models of the next token",
            notes=["Others explain the whole output unless --at is given."],
        )
    if model.signature.form is Form.TRANSDUCE:
        return _generated(model, task, question, about)
    return _labels(model, task, question, about)


def _labels(model: Model, task: Task, question: Any, about: TargetOptions) -> AttributionProblem:
    """A label of the whole, or one at each position."""
    inputs = np.asarray(task.encode_source(question))
    predicted = model.predict(Sequences.pad([inputs]), Search()).target.rows()[0]
    tokens = task.show_tokens(question, task.decode_for(question, predicted))[0]
    names = tokens if model.signature.form is Form.EACH else []
    target = model.signature.target
    if isinstance(target, Vectors):
        if about.instead:
            raise UsageError("U122", "--for: the output is a real number: there is no other one")
        parts = [
            OutputPart(n, None, task.show(task.decode([row]))) for n, row in enumerate(predicted)
        ]
    elif isinstance(target, Bits):
        parts = _bits(task, predicted, target.size, about.instead)
    else:
        known = [task.show_token(number) for number in range(_size(target))]
        labels = predicted
        if about.instead:
            labels = _other_labels(about.instead, known, names, predicted)
        parts = [OutputPart(n, int(label), known[label]) for n, label in enumerate(labels)]
    if names:
        parts = [
            OutputPart(part.position, part.value, part.name, names[part.position]) for part in parts
        ]
    if about.at:
        if not names:
            raise UsageError(
                "U121",
                f"--at {about.at}: this model predicts one label for the whole text",
                help=["leave --at out"],
            )
        parts = [parts[position_of(about.at, names, "the text")]]
    return AttributionProblem(model, inputs, tuple(tokens), np.zeros(0, np.int64), tuple(parts))


def _bits(task: Task, predicted: Sequence[Any], size: int, instead: str) -> list[OutputPart]:
    """The labels that are predicted, each as a part; all labels if none is predicted."""
    known = [task.show(task.decode([row])) for row in np.eye(size).tolist()]
    if instead:
        label = _label(instead, known)
        return [OutputPart(0, label, known[label])]
    ones = np.flatnonzero(predicted[0]).tolist() or range(size)
    return [OutputPart(0, label, known[label]) for label in ones]


def _size(space: Space) -> int:
    """The number of labels or tokens of an output space."""
    if not isinstance(space, Tokens | Labels):
        raise TypeError(f"expected an output of labels or tokens, not {space}")
    return space.size


def _other_labels(
    text: str, known: list[str], names: list[str], predicted: Sequence[int]
) -> list[int]:
    """Another label for the whole; where each position has one, one for all or one for each."""
    if not names or text in known:
        return [_label(text, known)] * len(predicted)
    labels = [_label(word, known) for word in text.split()]
    if len(labels) == 1:
        return labels * len(names)
    if len(labels) != len(names):
        raise ModelError(
            "M340",
            f"--for has {len(labels)} labels, and the text {len(names)} positions",
            help=["give one label, or one for each position"],
        )
    return labels


def _label(name: str, known: list[str]) -> int:
    """The id of a label, or an error that lists those there are."""
    if name in known:
        return known.index(name)
    near = nearest(name, known)
    more = f" and {len(known) - LISTED:,} more" if len(known) > LISTED else ""
    raise ModelError(
        "M340",
        f"--for: {name!r} is no output of this model",
        notes=[f"It knows: {', '.join(known[:LISTED])}{more}"],
        help=[f"did you mean {near!r}?"] if near else [],
    )


def _generated(model: Model, task: Task, question: Any, about: TargetOptions) -> AttributionProblem:
    """Tokens that are generated one after another, the end of sequence among them."""
    inputs = np.asarray(task.encode_source(question))
    if about.instead:
        value: Any = about.instead
    else:
        search = Search(beam=about.beam, limit=about.limit)
        search.validate_for(model.signature)
        prediction = model.predict(Sequences.pad([inputs]), search)
        value = task.decode_for(question, prediction.target.rows()[0])
    output = np.asarray(task.encode(task.with_target(question, value)).target, dtype=np.int64)
    tokens, names = task.show_tokens(question, value)
    if len(names) != len(output):
        names = [task.show_token(int(token)) for token in output]
    unknown = [name for name, token in zip(names, output, strict=True) if token == UNKNOWN]
    if about.instead and unknown:
        raise ModelError(
            "M340",
            f"--for: {unknown[0]!r} is no token that the model can generate",
            help=["it was not in the training data: choose an output of known tokens"],
        )
    parts = [
        OutputPart(position, int(token), name)
        for position, (token, name) in enumerate(zip(output, names, strict=True))
    ]
    if about.at:
        parts = [parts[position_of(about.at, names, "the output")]]
    return AttributionProblem(model, inputs, tuple(tokens), output, tuple(parts))


def _next(model: Model, task: Task, question: Any, about: TargetOptions) -> AttributionProblem:
    """The token after a text, one of its own, or all of them."""
    text = np.asarray(task.encode_source(question), dtype=np.int64)
    names = task.show_tokens(question, "")[1][: len(text)]
    if len(names) != len(text):
        names = [task.show_token(int(token)) for token in text]
    inputs = np.concatenate([[BEGIN], text])
    position = position_of(about.at, names, "the text") if about.at else len(text)
    if about.instead:
        value = _token(task, model, about.instead)
    else:
        value = int(text[position]) if about.at else _most_probable(model, inputs)
    output = np.append(text[:position], value)
    is_own = about.at and not about.instead
    shown = [*names[:position], names[position] if is_own else task.show_token(value)]
    chosen = range(position + 1) if about.every else [position]
    parts = tuple(OutputPart(n, int(output[n]), shown[n]) for n in chosen)
    tokens = (SPECIAL_TOKENS[BEGIN], *names)
    return AttributionProblem(model, inputs[: position + 1], tokens[: position + 1], output, parts)


def _token(task: Task, model: Model, name: str) -> int:
    """The id of one token, as it is shown or as it is typed."""
    known = [task.show_token(number) for number in range(END, _size(model.signature.target))]
    if name in known:
        return known.index(name) + END
    ids, _ = task.target_tokens(name)
    if len(ids) == 1 and ids[0] != UNKNOWN:
        return ids[0]
    return _label(name, known) + END


def _most_probable(model: Model, inputs: np.ndarray) -> int:
    """The most probable token after the input."""
    generator = cast(Generator, model)  # all models of the next token are
    state = generator.begin(Sequences.pad([inputs]))
    for token in inputs:
        check_cancelled()
        log_probs, state = generator.step(np.array([token]), state)
    scores = np.array(log_probs, dtype=np.float64)[0]
    scores[[PAD, BEGIN]] = -np.inf
    return int(scores.argmax())


def position_of(at: str, names: Sequence[str], where: str) -> int:
    """A position by its number, from 1, or by the token there."""
    if at.strip().lstrip("+-").isdecimal():
        if 1 <= (number := int(at)) <= len(names):
            return number - 1
        raise UsageError(
            "U120",
            f"--at {at}: {where} has {len(names)} positions, counted from 1",
            help=[f"--at {len(names)}   is the last of them"],
        )
    positions = [position for position, name in enumerate(names) if name == at]
    if len(positions) == 1:
        return positions[0]
    if positions:
        several = ", ".join(str(position + 1) for position in positions)
        raise UsageError(
            "U120",
            f"--at {at}: it occurs {len(positions)} times in {where}",
            help=[f"choose one by its number: {several}"],
        )
    near = nearest(at, names)
    raise UsageError(
        "U120",
        f"--at {at}: there is no such token in {where}",
        notes=[f"It has: {' '.join(names)}"],
        help=[f"did you mean {near!r}?"] if near else ["give the number of a position, from 1"],
    )
