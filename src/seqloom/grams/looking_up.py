"""Find many numbers in a sorted array."""

import numpy as np
from jaxtyping import Int

MISSING = -1


def look_up(
    codes: Int[np.ndarray, " codes"], wanted: Int[np.ndarray, " n"]
) -> Int[np.ndarray, " n"]:
    """The place of each number; -1 where it is not there."""
    if not len(codes):
        return np.full(len(wanted), MISSING)
    place = np.searchsorted(codes, wanted)
    return np.where(codes[np.minimum(place, len(codes) - 1)] == wanted, place, MISSING)
