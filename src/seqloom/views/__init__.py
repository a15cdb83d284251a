"""Pictures of what happens inside a model: each prints, draws, saves and shows in a notebook."""

from .attention import AttentionView
from .gates import GatesView
from .view import View

__all__ = ["AttentionView", "GatesView", "View"]
