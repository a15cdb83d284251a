"""From a watched computation to a picture: the kind of a record chooses the view."""

from collections.abc import Callable
from typing import Any

import numpy as np

from .errors import ModelError
from .forms import Form
from .model import Model
from .task import Task
from .trace import Trace, watching
from .views import AttentionView, GatesView, HierarchyView, View

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
    return VIEWS[view or able[0]][1](trace, source, target, name, model.signature.form)


def _attention(trace: Trace, source: Symbols, target: Symbols, name: str, form: Form) -> View:
    """Of a decoder at the source; of a reader at what it reads: the last layer, all heads."""
    records = trace.of_kind("attention")
    record = records[-1]
    if record.value.ndim == 3:
        several = len({one.path for one in records}) > 1
        notes = [f"{record.path}, the last of several that look"] if several else []
        return AttentionView(source, target, record.value[0], name, notes)
    _, heads, time, places = record.value.shape
    notes = [f"{record.path}, the mean of its {heads} heads"]
    if form is Form.TRANSDUCE:
        seen, written = source[:places], target[:time]
        return AttentionView(seen, written, record.value[0].mean(0), name, notes)
    if len(record.value) > 1:
        notes.append(f"the first {time} symbols; what is longer is read in blocks")
    symbols = _symbols_read(time, source, target)
    return AttentionView(symbols, symbols, record.value[0].mean(0), name, notes)


def _hierarchy(trace: Trace, source: Symbols, target: Symbols, name: str, form: Form) -> View:
    """How much each sentence counts, and each word of it."""
    words, sentences, numbers = (
        trace.of_kind(f"hierarchy.{kind}")[-1].value[0]
        for kind in ("words", "sentences", "numbers")
    )
    cuts = [np.flatnonzero(numbers[: len(source)] == n) for n in np.unique(numbers)]
    weights = sentences[: len(cuts)]
    read = [[source[place] for place in places] for places in cuts]
    return HierarchyView(read, weights, [words[places] for places in cuts], name)


def _gates(trace: Trace, source: Symbols, target: Symbols, name: str, form: Form) -> View:
    """The gates of the last cell that reads from the left."""
    records = [r for r in trace.of_kind("gate.*") if "backward" not in r.path]
    path = records[-1].path
    gates: dict[str, list[np.ndarray]] = {}
    for record in records:
        if record.path == path:
            gates.setdefault(record.kind, []).append(record.value[0])
    stacked = {kind: np.stack(values) for kind, values in gates.items()}
    time = len(next(iter(stacked.values())))
    symbols = _symbols_read(time, source, target)
    return GatesView(symbols, stacked, name, notes=(f"cell {path}",))


def _symbols_read(time: int, source: Symbols, target: Symbols) -> Symbols:
    """What a reader reads: its source, or, to predict the next symbol, those before each."""
    return source if time == len(source) else ["<s>", *target][:time]


VIEWS: dict[str, tuple[str, Callable[[Trace, Symbols, Symbols, str, Form], View]]] = {
    "hierarchy": ("hierarchy.*", _hierarchy),
    "attention": ("attention", _attention),
    "gates": ("gate.*", _gates),
}
