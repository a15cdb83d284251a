"""From a watched computation to a picture: the kind of a record chooses the view."""

from collections.abc import Callable
from typing import Any

import numpy as np

from .errors import ModelError
from .model import Model
from .task import Task
from .trace import Trace, watching
from .views import AttentionView, GatesView, View

Symbols = list[str]


def look(model: Model, task: Task, question: Any, answer: Any, name: str, view: str = "") -> View:
    """Watch the model read a question and its own answer, and draw what it recorded."""
    batch = task.batch([task.answered(question, answer)])
    with model.at_rest(), watching(model) as trace:
        model.log_prob(batch)
    able = [kind for kind, (records, _) in VIEWS.items() if trace.of_kind(records)]
    if (view and view not in able) or not able:
        raise ModelError(
            "M114",
            f"{name} shows no {view or 'inside'}",
            help=[f"it shows: {', '.join(able)}" if able else "choose a neural model"],
        )
    source, target = task.symbols(question, answer)
    return VIEWS[view or able[0]][1](trace, source, target, name)


def _attention(trace: Trace, source: Symbols, target: Symbols, name: str) -> View:
    (record,) = trace.of_kind("attention")
    return AttentionView(source, target, record.value[0], name)


def _gates(trace: Trace, source: Symbols, target: Symbols, name: str) -> View:
    """The gates of the last cell that reads from the left."""
    records = [r for r in trace.of_kind("gate.*") if "backward" not in r.path]
    path = records[-1].path
    gates: dict[str, list[np.ndarray]] = {}
    for record in records:
        if record.path == path:
            gates.setdefault(record.kind, []).append(record.value[0])
    stacked = {kind: np.stack(values) for kind, values in gates.items()}
    time = len(next(iter(stacked.values())))
    symbols = source if time == len(source) else ["<s>", *target][:time]
    return GatesView(symbols, stacked, name, notes=(f"cell {path}",))


VIEWS: dict[str, tuple[str, Callable[[Trace, Symbols, Symbols, str], View]]] = {
    "attention": ("attention", _attention),
    "gates": ("gate.*", _gates),
}
