"""Search for a good sequence in anything that can `begin` and `step`."""

from .beam import search
from .sampling import Drawn, Sampling, Writer, drawing, sample

__all__ = ["Drawn", "Sampling", "Writer", "drawing", "sample", "search"]
