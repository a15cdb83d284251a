"""Search for a good sequence in anything that can `begin` and `step`."""

from .beam import cannot_look, search
from .draws import Draws
from .ensemble import Ensemble
from .sampling import Drawn, Sampling, Writer, drawing, sample

__all__ = [
    "Drawn",
    "Draws",
    "Ensemble",
    "Sampling",
    "Writer",
    "cannot_look",
    "drawing",
    "sample",
    "search",
]
