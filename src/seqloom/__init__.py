"""Seqloom: one loom for every sequence model.

Names are imported when they are first used, so that `import seqloom` stays light; type checkers and
editors see where each comes from.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .decoding import Sampling as Sampling
    from .experiments.cross_validate import cross_validate as cross_validate
    from .experiments.ensemble import mix as mix
    from .experiments.ladder import ladder as ladder
    from .inspection.gradient_flow.cells import gradient_flow_of_cells as gradient_flow_of_cells
    from .models import MODELS as MODELS
    from .prediction import Search as Search
    from .recipe import Recipe as Recipe
    from .runs.run import Run as Run
    from .runs.run import load as load
    from .runs.train import resume as resume
    from .runs.train import train as train
    from .tasks import TASKS as TASKS
    from .trace import watch as watch

_PLACES = {
    "MODELS": "models",
    "Recipe": "recipe",
    "Run": "runs.run",
    "Sampling": "decoding",
    "Search": "prediction",
    "TASKS": "tasks",
    "cross_validate": "experiments.cross_validate",
    "ladder": "experiments.ladder",
    "load": "runs.run",
    "gradient_flow_of_cells": "inspection.gradient_flow.cells",
    "mix": "experiments.ensemble",
    "resume": "runs.train",
    "train": "runs.train",
    "watch": "trace",
}
__all__ = sorted(_PLACES)


def __getattr__(name: str) -> Any:
    if name not in _PLACES:
        raise AttributeError(f"module 'seqloom' has no attribute {name!r}")
    return getattr(import_module(f".{_PLACES[name]}", __name__), name)
