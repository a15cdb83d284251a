"""Search for a good sequence in anything that can `begin` and `step`."""

from .beam import cannot_look, search
from .ensemble import Ensemble
from .sampled_answers import Draws
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
