"""What happens inside a model while it answers: the work behind `seqloom inspect`.

A kind of view is listed once, in `KINDS`. Whether a run has it follows from what its model records
and can do, never from what the model is called.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from ..errors import ModelError, UsageError, unknown
from ..model import Model
from ..task import Task
from ..trace import changing
from ..views import View
from .base import Kind
from .context import Looking, Subject
from .interventions import edit_of
from .options import LAST, Inspecting
from .registry import KINDS

__all__ = ["KINDS", "Inspecting", "Kind", "Offers", "Subject", "look", "offers", "show"]
FIRST = ("hierarchy", "attention", "gates")  # what is shown if nothing is asked for


@dataclass(frozen=True)
class Offers:
    """The views that a run has, in the order of the page, and those it lacks."""

    shown: list[Kind]
    missing: list[Kind]

    def __iter__(self) -> Any:
        """Over those it has."""
        return iter(self.shown)


def offers(subject: Subject) -> Offers:
    """Which views a subject has."""
    has = {kind.view: kind.can(subject) for kind in KINDS.values()}
    return Offers(
        [kind for kind in KINDS.values() if has[kind.view]],
        [kind for kind in KINDS.values() if not has[kind.view]],
    )


def look(  # noqa: PLR0913, PLR0917 - who is asked what, and what of it is shown
    model: Model,
    task: Task,
    question: Any,
    answer: Any,
    name: str,
    view: str = "",
    **options: Any,
) -> View:
    """A picture of the model while it reads a question and an answer."""
    asked = Inspecting.of({"view": view, **options})
    return show(Subject(model, task, name), question, asked, answer=answer)


def show(  # noqa: PLR0913 - keyword-only but for the first three
    subject: Subject,
    question: Any,
    asked: Inspecting,
    *,
    answer: Any = None,
    series: Sequence[str] = (),
    clip: float = 0.0,
) -> View:
    """The view that is asked for, or the first there is."""
    kind = _chosen(subject, asked)

    def looking(question: Any, asked: Inspecting) -> Looking:
        return Looking(subject, question, asked, answer=answer, series=series, clip=clip)

    if not asked.edit:
        return kind.of(looking(question, asked))
    edit = edit_of(looking(question, asked))
    before = kind.of(looking(question, replace(asked, edit="")))
    with changing(subject.model, edit.changes):
        try:
            after = kind.of(looking(edit.question, _settled(kind, asked, before)))
        except UsageError:  # what is written now has no such place
            after = kind.of(looking(edit.question, asked))
    return after.edited(before, asked.edit, edit.told)


def _settled(kind: Kind, asked: Inspecting, before: View) -> Inspecting:
    """With the cell or the place that the view chose by itself, so that both show the same."""
    left = [name for name in ("cell", "at") if name in kind.takes and getattr(asked, name) == LAST]
    told = before.to_json() if left else {}
    found = {name: told.get(name) for name in left}
    return replace(asked, **{name: value for name, value in found.items() if value is not None})


def _chosen(subject: Subject, asked: Inspecting) -> Kind:
    if asked.view and asked.view not in KINDS:
        raise unknown("view", asked.view, list(KINDS))
    if asked.view:
        kind = KINDS[asked.view]
        if not kind.can(subject):
            raise _lacks(subject, asked.view)
    else:
        able = [kind.view for kind in offers(subject)]
        if not able:
            raise _lacks(subject, "inside")
        kind = KINDS[next((view for view in FIRST if view in able), able[0])]
    if strange := [name for name in asked.given() if name not in kind.allowed]:
        raise UsageError(
            "U350",
            f"{strange[0]}: the view {kind.view} has no such option",
            help=[f"it takes: {', '.join(kind.allowed)}" if kind.allowed else "leave it out"],
        )
    return kind


def _lacks(subject: Subject, view: str) -> ModelError:
    able = [kind.view for kind in offers(subject)]
    return ModelError(
        "M114",
        f"{subject.name} shows no {view}",
        help=[f"it shows: {', '.join(able) or 'nothing'}"],
    )
