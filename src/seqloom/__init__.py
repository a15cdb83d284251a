"""Seqloom: one loom for every sequence model.

Names are imported when they are first used, so that `import seqloom` stays light.
"""

from importlib import import_module
from typing import Any

_PLACES = {
    "train": "runs.train",
    "resume": "runs.train",
    "cross_validate": "experiments.cross_validate",
    "ladder": "experiments.ladder",
    "load": "runs.run",
    "mix": "experiments.ensemble",
    "Run": "runs.run",
    "memory_of_cells": "inspection.gradient_flow.cells",
    "Recipe": "recipe",
    "Search": "model",
    "Sampling": "decoding",
    "watching": "trace",
    "MODELS": "models",
    "TASKS": "tasks",
}
__all__ = sorted(_PLACES)


def __getattr__(name: str) -> Any:
    if name not in _PLACES:
        raise AttributeError(f"module 'seqloom' has no attribute {name!r}")
    return getattr(import_module(f".{_PLACES[name]}", __name__), name)
