"""The share of things that are so, and how far chance could have moved it."""

import math

from .tally import Measured

NORMAL = 1.959963984540054  # what lies between -z and z of a normal distribution is 95 %


def share_of(count: int, size: int) -> Measured:
    """A share with its 95 % interval (Wilson, 1927), which none of few still has:

    (p + z²/2n ± z √(p (1 - p)/n + z²/4n²)) / (1 + z²/n)
    """
    p, square = count / size, NORMAL**2 / size
    reach = NORMAL * math.sqrt(p * (1 - p) / size + square / (4 * size))
    low, high = (p + square / 2 + sign * reach for sign in (-1, 1))
    return Measured(p, max(0.0, low / (1 + square)), min(1.0, high / (1 + square)))
