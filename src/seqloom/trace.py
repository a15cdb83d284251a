"""Watch what happens inside a model: attention weights, gates, posteriors.

Blocks call `record(self, "attention", weights)`; it does nothing unless someone watches:

    with watching(model) as trace:
        model.log_prob(batch)
    trace.of_kind("attention")

What is recorded can also be changed on its way, since blocks go on with what `record` gives back:

    with changing(model, [Change("body.layers.0.attention", "attention", mute)]):
        model.log_prob(batch)
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, TypeVar

T = TypeVar("T")


@dataclass(frozen=True)
class Record:
    """One observed array: where it arose, what it means, its values."""

    path: str
    kind: str
    value: Any


@dataclass(frozen=True)
class Change:
    """What becomes of one kind of array of one block; to do it twice must be as to do it once."""

    path: str
    kind: str
    of: Callable[[Any], Any]


@dataclass
class Trace:
    """All records of one watched computation, in order."""

    paths: dict[int, str]
    records: list[Record] = field(default_factory=list)

    def of_kind(self, kind: str) -> list[Record]:
        """The records of one kind, or of a family of kinds such as `gate.*`."""
        if kind.endswith(".*"):
            return [record for record in self.records if record.kind.startswith(kind[:-1])]
        return [record for record in self.records if record.kind == kind]

    def kinds(self) -> list[str]:
        """Every kind that was recorded, in order of appearance."""
        return list(dict.fromkeys(record.kind for record in self.records))


Changes = dict[tuple[int, str], list[Change]]  # by the block and the kind
_active: ContextVar[Trace | None] = ContextVar("trace", default=None)
_changes: ContextVar[Changes | None] = ContextVar("changes", default=None)


@contextmanager
def watching(model: Any) -> Iterator[Trace]:
    """Collect everything the blocks of `model` record inside the `with`."""
    trace = Trace({id(module): path for path, module in modules(model)})
    token = _active.set(trace)
    try:
        yield trace
    finally:
        _active.reset(token)


@contextmanager
def changing(model: Any, changes: Sequence[Change]) -> Iterator[None]:
    """Let the blocks of `model` go on with something else inside the `with`."""
    found: Changes = {}
    for path, module in modules(model):
        for change in changes:
            if change.path == path:
                found.setdefault((id(module), change.kind), []).append(change)
    token = _changes.set(found or None)
    try:
        yield
    finally:
        _changes.reset(token)


def is_watched() -> bool:
    """Whether blocks must take their observable path (not a fused kernel)."""
    return _active.get() is not None or _changes.get() is not None


def record(module: Any, kind: str, value: T) -> T:
    """Note `value` under the module's path, if anyone is watching; what the block goes on with."""
    value = changed(module, kind, value)
    if (trace := _active.get()) is not None:
        path = trace.paths.get(id(module), type(module).__name__)
        trace.records.append(Record(path, kind, value.detach().numpy()))  # type: ignore[attr-defined]
    return value


def changed(module: Any, kind: str, value: T) -> T:
    """What the block goes on with, where it records nothing or has done so elsewhere."""
    if (changes := _changes.get()) is not None:
        for change in changes.get((id(module), kind), ()):
            value = change.of(value)
    return value


def modules(model: Any) -> list[tuple[str, Any]]:
    """The blocks of a model by their paths; a model without blocks is one itself."""
    return list(model.named_modules()) if hasattr(model, "named_modules") else [("", model)]
