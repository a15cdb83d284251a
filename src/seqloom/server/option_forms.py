"""Tasks, models and their options as form fields for the pages."""

from importlib import import_module
from typing import Any, Literal, get_origin

from ..config import Option, options, summary
from ..data.options import Data
from ..metrics import METRICS
from ..model import EMTrained, Model, StatisticsTrained
from ..models import MODELS
from ..recipe import Recipe, shipped
from ..task import Task
from ..tasks import TASKS
from ..training.options import Training
from .run_store import check_listed

Learning = Literal["counting", "passes", "gradients"]
KINDS = {int: "whole", float: "number", bool: "truth", str: "text"}


def form_fields(listed: list[Option]) -> list[dict[str, Any]]:
    """Options as form fields; options of types without a field are left out."""
    fields = []
    for option in listed:
        kind = "choice" if option.choices else _field_kind(option)
        if kind is not None:
            fields.append(
                {
                    "name": option.name,
                    "kind": kind,
                    "choices": list(option.choices),
                    "default": option.default,
                    "help": option.help,
                }
            )
    return fields


def _field_kind(option: Option) -> str | None:
    """The kind of form field; a list is a text field, as options accept 3,4,5 for [3, 4, 5]."""
    return "text" if get_origin(option.kind) is tuple else KINDS.get(option.kind)


def tasks() -> list[dict[str, Any]]:
    """All tasks, with the columns that their files need."""
    return [_task(name, kind) for name, kind in TASKS.items()]


def models_for(task: str) -> dict[str, Any]:
    """The models for a task, from simple to large, and all options."""
    check_listed("task", task, TASKS)
    variants = TASKS[task].varieties()
    able = {
        name: kind
        for name, kind in MODELS.items()
        if any(kind.supports(one.signature()) for one in variants)
    }
    recipes = {name: Recipe.read(path).task.get("name") for name, path in shipped().items()}
    return {
        "models": [_model(name, kind) for name, kind in able.items()],
        "training": form_fields(options(Training)),
        "data": form_fields(options(Data)),
        "recipes": [name for name, other in recipes.items() if other == task],
    }


def warm_up() -> None:
    """Import torch in advance: it takes seconds, and the next page needs it."""
    import_module("torch")


def _task(name: str, kind: type[Task]) -> dict[str, Any]:
    first = kind.varieties()[0]
    return {
        "name": name,
        "summary": summary(kind),
        "verb": kind.verb,
        "form": first.form.name.lower(),
        "roles": list(kind.roles),
        "headline": first.primary_metric,
        "headline_title": METRICS[first.primary_metric].title,
        "options": form_fields(options(kind)),
    }


def _model(name: str, kind: type[Model]) -> dict[str, Any]:
    return {
        "name": name,
        "summary": summary(kind),
        "is_baseline": bool(kind.is_baseline),
        "learns": _learning(kind),
        "learns_by": kind.learns,
        "options": form_fields(options(kind)),
    }


def _learning(kind: type[Model]) -> Learning:
    """How a model learns, by the protocols that its class implements."""
    if all(hasattr(kind, name) for name in _protocol_methods(EMTrained)):
        return "passes"
    if all(hasattr(kind, name) for name in _protocol_methods(StatisticsTrained)):
        return "counting"
    return "gradients"


def _protocol_methods(protocol: type) -> list[str]:
    """The methods of a protocol; its attributes exist on instances only."""
    return [name for name, value in vars(protocol).items() if callable(value) and name[0] != "_"]
