"""Changes of series over some steps, and the recursion of a series from that of its changes.

y_t = x_t - x_{t-d}. Where y has the taps of A(B) = 1 - A₁ B - … - A_p Bᵖ, B being one step back, x
has those of A(B) (1 - B^d).
"""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float


def differenced(
    values: Float[np.ndarray, "time width"], over: Sequence[int]
) -> Float[np.ndarray, "time width"]:
    """The changes over so many steps, one after the other; missing where there was nothing yet."""
    for steps in over:
        before = np.full_like(values, np.nan)
        before[steps:] = values[:-steps]
        values = values - before
    return values


def summed(
    taps: Float[np.ndarray, "order width width"], over: Sequence[int]
) -> Float[np.ndarray, "longer width width"]:
    """The taps of a series whose changes have these."""
    whole = np.concatenate([np.eye(taps.shape[1])[None], -taps])
    for steps in over:
        longer = np.zeros((len(whole) + steps, *whole.shape[1:]))
        longer[: len(whole)] += whole
        longer[steps:] -= whole
        whole = longer
    return -whole[1:]
