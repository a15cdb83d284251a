"""What is changed inside a model, or in what it reads, to see what that does.

mute layer=0 head=1            a head finds nothing; without a head, all of the layer
clamp layer=0 cell=5 value=0   a cell holds a value at every step
replace at=3 by=word           another word, or another number, is read at a place
"""

import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..errors import UsageError
from ..inference.forecast import chosen_series
from ..signature import Form
from ..trace import Change
from ..views.draw.text import visible
from .context import Looking, Subject, written
from .layers import chosen, sampled_looks, sampled_steps
from .neurons import FAMILY, held
from .options import LAST

EXAMPLES = ["mute layer=0 head=1", "clamp layer=0 cell=5 value=0", "replace at=3 by=word"]
Given = dict[str, str]


@dataclass(frozen=True)
class Edit:
    """What blocks go on with, what is read instead, and both in words."""

    changes: tuple[Change, ...]
    question: Any
    told: str


def edit_of(looking: Looking) -> Edit:
    """The edits that are asked for, read and found in the model."""
    changes: list[Change] = []
    told, question = [], looking.question
    for verb, given in _parsed(looking.options.edit):
        if verb == "replace":
            question, words = _replaced(looking, question, given)
        else:
            more, words = _INSIDE[verb](looking.subject, given)
            changes += more
        told.append(words)
    return Edit(tuple(changes), question, "; ".join(told))


def _parsed(text: str) -> list[tuple[str, Given]]:
    """Each verb with what stands behind it."""
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise _unreadable(text, "a quotation mark is not closed") from error
    found: list[tuple[str, Given]] = []
    for word in words:
        name, is_given, value = word.partition("=")
        if not is_given and name in _TAKES:
            found.append((name, {}))
        elif not found or not is_given or name not in _TAKES[found[-1][0]]:
            raise _unreadable(text, f"{word!r} is not known here")
        else:
            found[-1][1][name] = value
    if not found:
        raise _unreadable(text, "nothing is to be done")
    return found


def _muted(subject: Subject, given: Given) -> tuple[list[Change], str]:
    layers = sampled_looks(subject)
    number = _layer(given, [layer.name for layer in layers], subject, "looks anywhere")
    layer = layers[number]
    heads = len(layer.weights)
    if "head" not in given:
        return [Change(layer.path, "attention", lambda weights: 0 * weights)], (
            f"{layer.name} finds nothing"
        )
    head = chosen(_whole(given, "head"), [f"head {n}" for n in range(heads)], "head")

    def without(weights: Any) -> Any:
        """Weights of a single head have no place for others."""
        found = weights.clone()
        (found[:, head] if weights.ndim == 4 else found).zero_()
        return found

    return [Change(layer.path, "attention", without)], f"head {head} of {layer.name} is mute"


def _clamped(subject: Subject, given: Given) -> tuple[list[Change], str]:
    layers = held(sampled_steps(subject, FAMILY))
    number = _layer(given, [layer.name for layer in layers], subject, "holds states")
    layer = layers[number]
    cells = [f"cell {n}" for n in range(layer.values.shape[1])]
    if "cell" not in given:
        raise _unreadable("clamp", "it takes a cell")
    cell, value = chosen(_whole(given, "cell"), cells, "cell"), _number(given, "value", "0")

    def still(state: Any) -> Any:
        found = state.clone()
        found[..., cell] = value
        return found

    told = f"cell {cell} of {layer.name} is held at {value:g}"
    return [Change(layer.path, layer.kind, still)], told


def _replaced(looking: Looking, question: Any, given: Given) -> tuple[Any, str]:
    names = looking.source
    at, by = _whole(given, "at"), given.get("by", "")
    place = chosen(at, names, "at") if at != LAST else LAST
    if place == LAST or "by" not in given:
        raise _unreadable(looking.options.edit, "replace takes a place and what stands there")
    if looking.subject.form is Form.FORECAST:
        return _other_number(looking, question, place, _number(given, "by", "")), (
            f"{names[place]} is {by} instead of {written(looking.past.numbers[place])}"
        )
    text = looking.task.shown_question(question)
    begin, end = place_in(text, names, place)
    told = f'"{visible(names[place])}" is "{visible(by)}"' if by else f'"{names[place]}" is gone'
    return looking.task.question(text[:begin] + by + text[end:]), told


def place_in(text: str, names: Sequence[str], place: int) -> tuple[int, int]:
    """Where a symbol begins and ends in its text: symbols come in the order of the text."""
    is_folded = len(text.lower()) == len(text)
    begin = end = 0
    for number, name in enumerate(names[: place + 1]):
        found = text.lower().find(name.lower(), end) if is_folded else text.find(name, end)
        if found >= 0:
            begin, end = found, found + len(name)
        elif number == place:
            raise UsageError(
                "U353",
                f'the text has no "{visible(name)}" of its own at place {place}',
                help=["replace another symbol, or give another text"],
            )
    return begin, end


def _other_number(looking: Looking, question: Any, place: int, number: float) -> Any:
    """The series with another number in the rows that a place stands for."""
    series = chosen_series(question, looking.series)[0]
    rows = looking.past.rows[place]
    values = np.array(series.values)
    values[rows[0] : rows[-1] + 1, 0] = number
    return [replace(series, values=values)]


def _layer(given: Given, names: list[str], subject: Subject, does: str) -> int:
    if not names:
        raise UsageError(
            "U353",
            f"nothing in {subject.name} {does}",
            help=["seqloom inspect RUN --views   lists what it shows"],
        )
    return chosen(_whole(given, "layer"), names, "layer")


def _whole(given: Given, name: str) -> int:
    text = given.get(name, str(LAST))
    if text != str(LAST) and not text.isdecimal():
        raise _unreadable(f"{name}={text}", "a whole number from 0 on is expected")
    return int(text)


def _number(given: Given, name: str, otherwise: str) -> float:
    try:
        found = float(given.get(name, otherwise))
    except ValueError:
        found = float("nan")
    if not np.isfinite(found):
        raise _unreadable(f"{name}={given.get(name, '')}", "a number is expected")
    return found


def _unreadable(text: str, why: str) -> UsageError:
    help = [f'--edit "{example}"' for example in EXAMPLES]
    return UsageError("U353", f"edit {text!r}: {why}", help=help)


_TAKES = {
    "mute": ("layer", "head"),
    "clamp": ("layer", "cell", "value"),
    "replace": ("at", "by"),
}
_INSIDE: dict[str, Callable[[Subject, Given], tuple[list[Change], str]]] = {
    "mute": _muted,
    "clamp": _clamped,
}
