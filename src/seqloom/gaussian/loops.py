"""Compiled loops, imported when they are first called: Numba takes a second to come."""

from functools import cache
from importlib import import_module
from typing import Any, Literal


@cache
def loops(name: Literal["forward", "backward"]) -> Any:
    """The module of this name."""
    return import_module(f".{name}", __package__)
