"""Watch what happens inside a model: attention weights, gates, posteriors.

Blocks call `record(self, "attention", weights)`; it does nothing unless someone watches:

    with watching(model) as trace:
        model.log_prob(batch)
    trace.of_kind("attention")
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Record:
    """One observed array: where it arose, what it means, its values."""

    path: str
    kind: str
    value: Any


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


_active: ContextVar[Trace | None] = ContextVar("trace", default=None)


@contextmanager
def watching(model: Any) -> Iterator[Trace]:
    """Collect everything the blocks of `model` record inside the `with`."""
    modules = model.named_modules() if hasattr(model, "named_modules") else [("", model)]
    trace = Trace({id(module): path for path, module in modules})
    token = _active.set(trace)
    try:
        yield trace
    finally:
        _active.reset(token)


def is_watched() -> bool:
    """Whether blocks must take their observable path (not a fused kernel)."""
    return _active.get() is not None


def record(module: Any, kind: str, value: Any) -> None:
    """Note `value` under the module's path, if anyone is watching."""
    if (trace := _active.get()) is not None:
        path = trace.paths.get(id(module), type(module).__name__)
        trace.records.append(Record(path, kind, value.detach().numpy()))
