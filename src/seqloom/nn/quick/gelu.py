"""GELU without torch: its threads and those of NumPy's products wait for each other.

One call of torch between two products makes a step ten times as slow where both have two threads.
"""

from math import erf, sqrt

import numpy as np
from jaxtyping import Float

# erf(x) = 1 - (a₁t + a₂t² + … + a₅t⁵) exp(-x²), t = 1 / (1 + p x), for x ≥ 0: no further than
# 1.5e-7 from the truth (Hastings; Abramowitz & Stegun, 7.1.26).
P = np.float32(0.3275911)
A = np.array([0.254829592, -0.284496736, 1.421413741, -1.453152027, 1.061405429], np.float32)
_EXACT = np.vectorize(erf, otypes=[float])


def gelu(x: Float[np.ndarray, "*shape"]) -> Float[np.ndarray, "*shape"]:
    """x Φ(x) = ½ x (1 + erf(x / √2))."""
    if x.dtype != np.float32:  # where more than seven digits matter, one number after another
        return x * (1 + _EXACT(x / sqrt(2))) / 2
    far = np.abs(x)
    far *= np.float32(1 / sqrt(2))
    t = 1 / (1 + P * far)
    tail = A[4] * t
    for a in A[3::-1]:
        tail += a
        tail *= t
    np.square(far, out=far)
    tail *= np.exp(np.negative(far, out=far), out=far)  # 1 - erf |x / √2|
    tail *= np.abs(x)
    found: np.ndarray = np.maximum(x, 0) - tail / 2  # the same on both sides of nought
    return found
