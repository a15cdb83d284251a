"""Search for a good sequence in anything that can `begin` and `step`."""

from .beam import cannot_look, search
from .sampling import Drawn, Sampling, Writer, drawing, sample

__all__ = ["Drawn", "Sampling", "Writer", "cannot_look", "drawing", "sample", "search"]
