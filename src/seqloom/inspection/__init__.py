"""Inspection of models: activations, attention, attribution, gradient flow, interventions.

Names are imported when they are first used: all views need most of Seqloom, while a module below,
such as `attribution` or `gradient_flow`, needs little of it and starts sooner alone.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # for type checkers and editors; at run time see __getattr__
    from .base import ViewKind as ViewKind
    from .context import InspectedModel as InspectedModel
    from .inspector import AvailableViews as AvailableViews
    from .inspector import available_views as available_views
    from .inspector import inspect as inspect
    from .inspector import inspect_model as inspect_model
    from .options import InspectionOptions as InspectionOptions
    from .registry import VIEW_KINDS as VIEW_KINDS

_MODULES = {
    "AvailableViews": "inspector",
    "InspectedModel": "context",
    "InspectionOptions": "options",
    "VIEW_KINDS": "registry",
    "ViewKind": "base",
    "available_views": "inspector",
    "inspect": "inspector",
    "inspect_model": "inspector",
}
__all__ = sorted(_MODULES)  # noqa: PLE0605 - the names of the block above


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f".{_MODULES[name]}", __name__), name)
