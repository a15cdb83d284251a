"""Hooks on a model's internal activations: `record`, `watch` and `intervene`.

Blocks record attention weights, gates, hidden states and posteriors with
`record(self, "attention", weights)`, which does nothing unless somebody watches:

    with watch(model) as trace:
        model.log_prob(batch)
    trace.of_kind("attention")

An intervention replaces what is recorded, since a block computes on with what `record` returns:

    with intervene(model, [Intervention("body.layers.0.attention", "attention", mute)]):
        model.log_prob(batch)
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, TypeVar

T = TypeVar("T")


@dataclass(frozen=True)
class TraceRecord:
    """One recorded array: the path of its module, its kind, and its values."""

    path: str
    kind: str
    value: Any


@dataclass(frozen=True)
class Intervention:
    """A function applied to one kind of array of one module.

    `apply` must be idempotent: a block may intervene on an array and then record it.
    """

    path: str
    kind: str
    apply: Callable[[Any], Any]


@dataclass
class Trace:
    """All records of one forward computation, in order."""

    paths: dict[int, str]
    records: list[TraceRecord] = field(default_factory=list)

    def of_kind(self, kind: str) -> list[TraceRecord]:
        """The records of one kind, or of a family of kinds such as `gate.*`."""
        if kind.endswith(".*"):
            return [record for record in self.records if record.kind.startswith(kind[:-1])]
        return [record for record in self.records if record.kind == kind]

    def kinds(self) -> list[str]:
        """Every kind that was recorded, in order of appearance."""
        return list(dict.fromkeys(record.kind for record in self.records))


_Interventions = dict[tuple[int, str], list[Intervention]]  # by id of the module, and kind
# Context variables, not globals: the studio's server inspects models in several threads at once.
_trace: ContextVar[Trace | None] = ContextVar("trace", default=None)
_interventions: ContextVar[_Interventions | None] = ContextVar("interventions", default=None)


@contextmanager
def watch(model: Any) -> Iterator[Trace]:
    """Collect everything that the modules of `model` record inside the `with`."""
    trace = Trace({id(module): path for path, module in named_modules(model)})
    token = _trace.set(trace)
    try:
        yield trace
    finally:
        _trace.reset(token)


@contextmanager
def intervene(model: Any, interventions: Sequence[Intervention]) -> Iterator[None]:
    """Replace recorded arrays of modules of `model` inside the `with`."""
    active: _Interventions = {}
    for path, module in named_modules(model):
        for intervention in interventions:
            if intervention.path == path:
                active.setdefault((id(module), intervention.kind), []).append(intervention)
    token = _interventions.set(active or None)
    try:
        yield
    finally:
        _interventions.reset(token)


def is_watched() -> bool:
    """Whether blocks must take their observable path: a fused kernel records nothing."""
    return _trace.get() is not None or _interventions.get() is not None


def record(module: Any, kind: str, value: T) -> T:
    """Record `value` under the module's path if somebody watches.

    Returns the value after interventions, with which the block must go on.
    """
    value = intervened(module, kind, value)
    if (trace := _trace.get()) is not None:
        path = trace.paths.get(id(module), type(module).__name__)
        trace.records.append(TraceRecord(path, kind, value.detach().numpy()))  # type: ignore[attr-defined]
    return value


def intervened(module: Any, kind: str, value: T) -> T:
    """The value after interventions, without recording it.

    For blocks that record the value elsewhere, or in another shape.
    """
    if (active := _interventions.get()) is not None:
        for intervention in active.get((id(module), kind), ()):
            value = intervention.apply(value)
    return value


def named_modules(model: Any) -> list[tuple[str, Any]]:
    """The modules of a model by path; a model without modules is its own single module."""
    return list(model.named_modules()) if hasattr(model, "named_modules") else [("", model)]
