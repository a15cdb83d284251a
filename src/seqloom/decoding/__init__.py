"""Search for a good sequence in anything that can `begin` and `step`."""

from .beam import search
from .sampling import Sampling, sample

__all__ = ["Sampling", "sample", "search"]
