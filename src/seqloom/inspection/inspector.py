"""Inspection of a model on one input: which views it has, and the view that is requested.

Kinds of views are listed once, in `VIEW_KINDS`. Whether a model has one follows from what it
records and can do, never from its name. `seqloom inspect` shows them.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ..errors import ModelError, UsageError, unknown
from ..model import Model
from ..task import Task
from ..trace import intervene
from ..views import View
from .base import ViewKind
from .context import InspectedModel, Inspection
from .interventions import parse_edit
from .options import LAST, InspectionOptions
from .registry import VIEW_KINDS

DEFAULT_VIEWS = ("hierarchy", "attention", "gates")  # shown first where no view is requested


@dataclass(frozen=True)
class AvailableViews:
    """The views that a model has, in the order of the page, and those it lacks."""

    shown: list[ViewKind]
    missing: list[ViewKind]

    def __iter__(self) -> Iterator[ViewKind]:
        """Over those it has."""
        return iter(self.shown)


def available_views(subject: InspectedModel) -> AvailableViews:
    """Which views a model has."""
    has = {kind.view: kind.can(subject) for kind in VIEW_KINDS.values()}
    return AvailableViews(
        [kind for kind in VIEW_KINDS.values() if has[kind.view]],
        [kind for kind in VIEW_KINDS.values() if not has[kind.view]],
    )


def inspect_model(  # noqa: PLR0913, PLR0917 - the model, its input, and the view
    model: Model,
    task: Task,
    question: Any,
    answer: Any,
    name: str,
    view: str = "",
    **options: Any,
) -> View:
    """A view of a model on an input and an output."""
    requested = InspectionOptions.of({"view": view, **options})
    return inspect(InspectedModel(model, task, name), question, requested, answer=answer)


def inspect(  # noqa: PLR0913 - keyword-only but for the first three
    subject: InspectedModel,
    question: Any,
    options: InspectionOptions,
    *,
    answer: Any = None,
    series: Sequence[str] = (),
    clip: float = 0.0,
) -> View:
    """The requested view of a model on an input, or the first that there is.

    With an edit, the view is made before and after the intervention, and both are compared.
    """
    kind = _kind(subject, options)

    def inspection(question: Any, options: InspectionOptions) -> Inspection:
        return Inspection(subject, question, options, answer=answer, series=series, clip=clip)

    if not options.edit:
        return kind.of(inspection(question, options))
    edit = parse_edit(inspection(question, options))
    before = kind.of(inspection(question, replace(options, edit="")))
    with intervene(subject.model, edit.interventions):
        try:
            after = kind.of(inspection(edit.question, _same_choices(kind, options, before)))
        except UsageError:  # the output under the intervention has no such position
            after = kind.of(inspection(edit.question, options))
    return after.as_edited(before, options.edit, edit.description)


def _same_choices(kind: ViewKind, options: InspectionOptions, before: View) -> InspectionOptions:
    """With the cell or position that the view chose by itself, so that both show the same."""
    open_choices = [
        name for name in ("cell", "at") if name in kind.takes and getattr(options, name) == LAST
    ]
    json = before.to_json() if open_choices else {}
    chosen = {name: json.get(name) for name in open_choices}
    return replace(options, **{name: value for name, value in chosen.items() if value is not None})


def _kind(subject: InspectedModel, options: InspectionOptions) -> ViewKind:
    if options.view and options.view not in VIEW_KINDS:
        raise unknown("view", options.view, list(VIEW_KINDS))
    if options.view:
        kind = VIEW_KINDS[options.view]
        if not kind.can(subject):
            raise _lacks(subject, options.view)
    else:
        able = [kind.view for kind in available_views(subject)]
        if not able:
            raise _lacks(subject, "")
        kind = VIEW_KINDS[next((view for view in DEFAULT_VIEWS if view in able), able[0])]
    kind.check_options(options.changed())
    return kind


def _lacks(subject: InspectedModel, view: str) -> ModelError:
    able = [kind.view for kind in available_views(subject)]
    return ModelError(
        "M114",
        f"{subject.name} has no view {view}"
        if view != "inside"
        else f"{subject.name} has no views",
        help=[f"it has: {', '.join(able) or 'none'}"],
    )
