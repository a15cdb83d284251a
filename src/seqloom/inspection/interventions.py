"""Interventions: ablate attention heads, clamp cells, or replace inputs, and compare.

mute layer=0 head=1            set the attention weights of a head to 0; without head, of the layer
clamp layer=0 cell=5 value=0   hold a cell at a value at every step
replace at=3 by=word           replace the input token, or the observation, at a position
"""

import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..errors import UsageError
from ..inference.forecast import select_series
from ..signature import Form
from ..trace import Intervention
from ..views.draw.text import visible
from .context import InspectedModel, Inspection, format_value
from .layers import resolve_index, sample_activation_layers, sample_attention_layers
from .neurons import FAMILY, layer_states
from .options import LAST

EXAMPLES = ["mute layer=0 head=1", "clamp layer=0 cell=5 value=0", "replace at=3 by=word"]
Arguments = dict[str, str]


@dataclass(frozen=True)
class Edit:
    """Interventions on modules, the input to read instead, and a description of both."""

    interventions: tuple[Intervention, ...]
    question: Any
    description: str


def parse_edit(inspection: Inspection) -> Edit:
    """The requested edit, resolved in the model."""
    interventions: list[Intervention] = []
    descriptions, question = [], inspection.question
    for verb, arguments in _parsed(inspection.options.edit):
        if verb == "replace":
            question, description = _replaced(inspection, question, arguments)
        else:
            more, description = _VERBS[verb](inspection.subject, arguments)
            interventions += more
        descriptions.append(description)
    return Edit(tuple(interventions), question, "; ".join(descriptions))


def _parsed(text: str) -> list[tuple[str, Arguments]]:
    """Each verb with its arguments."""
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise _unreadable(text, "a quotation mark is not closed") from error
    verbs: list[tuple[str, Arguments]] = []
    for word in words:
        name, has_value, value = word.partition("=")
        if not has_value and name in _TAKES:
            verbs.append((name, {}))
        elif not verbs or not has_value or name not in _TAKES[verbs[-1][0]]:
            raise _unreadable(text, f"{word!r} is not known here")
        else:
            verbs[-1][1][name] = value
    if not verbs:
        raise _unreadable(text, "it is empty")
    return verbs


def _muted(subject: InspectedModel, arguments: Arguments) -> tuple[list[Intervention], str]:
    layers = sample_attention_layers(subject)
    number = _layer(arguments, [layer.name for layer in layers], subject, "has attention")
    layer = layers[number]
    heads = len(layer.weights)
    if "head" not in arguments:
        return [Intervention(layer.path, "attention", lambda weights: 0 * weights)], (
            f"the attention of {layer.name} is mute"
        )
    head = resolve_index(_whole(arguments, "head"), [f"head {n}" for n in range(heads)], "head")

    def without(weights: Any) -> Any:
        """Weights of a single head have no dimension for heads."""
        muted = weights.clone()
        (muted[:, head] if weights.ndim == 4 else muted).zero_()
        return muted

    return [Intervention(layer.path, "attention", without)], f"head {head} of {layer.name} is mute"


def _clamped(subject: InspectedModel, arguments: Arguments) -> tuple[list[Intervention], str]:
    layers = layer_states(sample_activation_layers(subject, FAMILY))
    number = _layer(arguments, [layer.name for layer in layers], subject, "has cells")
    layer = layers[number]
    cells = [f"cell {n}" for n in range(layer.values.shape[1])]
    if "cell" not in arguments:
        raise _unreadable("clamp", "it takes a cell")
    cell = resolve_index(_whole(arguments, "cell"), cells, "cell")
    value = _number(arguments, "value", "0")

    def clamp(state: Any) -> Any:
        clamped = state.clone()
        clamped[..., cell] = value
        return clamped

    description = f"cell {cell} of {layer.name} is held at {value:g}"
    return [Intervention(layer.path, layer.kind, clamp)], description


def _replaced(inspection: Inspection, question: Any, arguments: Arguments) -> tuple[Any, str]:
    names = inspection.source
    at, by = _whole(arguments, "at"), arguments.get("by", "")
    position = resolve_index(at, names, "at") if at != LAST else LAST
    if position == LAST or "by" not in arguments:
        raise _unreadable(inspection.options.edit, "replace takes at=POSITION and by=TOKEN")
    if inspection.subject.form is Form.FORECAST:
        value = _number(arguments, "by", "")
        before = format_value(inspection.series_context.values[position])
        return _other_value(inspection, question, position, value), (
            f"{names[position]} is {by} instead of {before}"
        )
    text = inspection.task.show_question(question)
    begin, end = token_span(text, names, position)
    name = visible(names[position])
    description = f'"{name}" is "{visible(by)}"' if by else f'"{name}" is removed'
    return inspection.task.question(text[:begin] + by + text[end:]), description


def token_span(text: str, names: Sequence[str], position: int) -> tuple[int, int]:
    """Where a token begins and ends in its text, as tokens are in the order of the text."""
    is_folded = len(text.lower()) == len(text)
    begin = end = 0
    for number, name in enumerate(names[: position + 1]):
        start = text.lower().find(name.lower(), end) if is_folded else text.find(name, end)
        if start >= 0:
            begin, end = start, start + len(name)
        elif number == position:
            raise UsageError(
                "U353",
                f'the text does not contain the token "{visible(name)}" of position {position}',
                help=["replace another token, or give another text"],
            )
    return begin, end


def _other_value(inspection: Inspection, question: Any, position: int, value: float) -> Any:
    """The series with another value in the rows of a position."""
    series = select_series(question, inspection.series)[0]
    rows = inspection.series_context.rows[position]
    values = np.array(series.values)
    values[rows[0] : rows[-1] + 1, 0] = value
    return [replace(series, values=values)]


def _layer(arguments: Arguments, names: list[str], subject: InspectedModel, has: str) -> int:
    if not names:
        raise UsageError(
            "U353",
            f"no layer of {subject.name} {has}",
            help=["seqloom inspect RUN --views   lists the views it has"],
        )
    return resolve_index(_whole(arguments, "layer"), names, "layer")


def _whole(arguments: Arguments, name: str) -> int:
    text = arguments.get(name, str(LAST))
    if text != str(LAST) and not text.isdecimal():
        raise _unreadable(f"{name}={text}", "expected a whole number of at least 0")
    return int(text)


def _number(arguments: Arguments, name: str, otherwise: str) -> float:
    try:
        value = float(arguments.get(name, otherwise))
    except ValueError:
        value = float("nan")
    if not np.isfinite(value):
        raise _unreadable(f"{name}={arguments.get(name, '')}", "expected a number")
    return value


def _unreadable(text: str, problem: str) -> UsageError:
    help = [f'--edit "{example}"' for example in EXAMPLES]
    return UsageError("U353", f"edit {text!r}: {problem}", help=help)


_TAKES = {
    "mute": ("layer", "head"),
    "clamp": ("layer", "cell", "value"),
    "replace": ("at", "by"),
}
_VERBS: dict[str, Callable[[InspectedModel, Arguments], tuple[list[Intervention], str]]] = {
    "mute": _muted,
    "clamp": _clamped,
}
