"""What can be chosen: tasks, models and their options, as forms on a page."""

from importlib import import_module
from typing import Any, Literal

from ..config import Option, options, summary
from ..data.options import Data
from ..metrics import METRICS
from ..model import LearnsFromStatistics, LearnsInPasses, Model
from ..models import MODELS
from ..recipe import Recipe, shipped
from ..task import Task
from ..tasks import TASKS
from ..training.options import Training
from .run_store import must_be_listed

Way = Literal["counting", "passes", "gradients"]
KINDS = {int: "whole", float: "number", bool: "truth", str: "text"}


def form_of(listed: list[Option]) -> list[dict[str, Any]]:
    """Options as the fields of a form; those that no field can hold are left out."""
    found = []
    for option in listed:
        kind = "choice" if option.choices else KINDS.get(option.kind)
        if kind is not None:
            found.append(
                {
                    "name": option.name,
                    "kind": kind,
                    "choices": list(option.choices),
                    "default": option.default,
                    "help": option.help,
                }
            )
    return found


def tasks() -> list[dict[str, Any]]:
    """Every task, with what its file has to hold."""
    return [_task(name, kind) for name, kind in TASKS.items()]


def models_for(task: str) -> dict[str, Any]:
    """The models that can do a task, from simple to large, and all that can be set."""
    must_be_listed("task", task, TASKS)
    kinds = TASKS[task].varieties()
    able = {
        name: kind
        for name, kind in MODELS.items()
        if any(kind.can_do(one.signature()) for one in kinds)
    }
    recipes = {name: Recipe.read(path).task.get("name") for name, path in shipped().items()}
    return {
        "models": [_model(name, kind) for name, kind in able.items()],
        "training": form_of(options(Training)),
        "data": form_of(options(Data)),
        "recipes": [name for name, other in recipes.items() if other == task],
    }


def warm_up() -> None:
    """Import what the models need, so that the next page need not wait for it."""
    import_module("torch")


def _task(name: str, kind: type[Task]) -> dict[str, Any]:
    first = kind.varieties()[0]
    return {
        "name": name,
        "summary": summary(kind),
        "verb": kind.verb,
        "form": first.form.name.lower(),
        "roles": list(kind.roles),
        "headline": first.headline,
        "headline_title": METRICS[first.headline].title,
        "options": form_of(options(kind)),
    }


def _model(name: str, kind: type[Model]) -> dict[str, Any]:
    return {
        "name": name,
        "summary": summary(kind),
        "is_baseline": bool(kind.is_baseline),
        "learns": _way(kind),
        "options": form_of(options(kind)),
    }


def _way(kind: type[Model]) -> Way:
    """How a model learns, by the abilities of its class."""
    if all(hasattr(kind, name) for name in _abilities(LearnsInPasses)):
        return "passes"
    if all(hasattr(kind, name) for name in _abilities(LearnsFromStatistics)):
        return "counting"
    return "gradients"


def _abilities(protocol: type) -> list[str]:
    """What it can do; what it has, such as numbers, only a model of the class knows."""
    return [name for name, value in vars(protocol).items() if callable(value) and name[0] != "_"]
