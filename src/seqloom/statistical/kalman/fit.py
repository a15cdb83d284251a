"""The least value of a smooth function (Broyden, Fletcher, Goldfarb and Shanno, 1970).

The numbers of a structure under which series are likeliest.
"""

from collections.abc import Callable, Sequence

import numpy as np

from ...errors import ModelError
from .compiled import log_likelihoods
from .em import Expected, expected
from .structure import Numbers, Square, Structure

Sloped = Callable[[Numbers], tuple[float, Numbers]]
LONGEST = 5.0  # how far a single step goes at most
ENOUGH = 1e-4  # the share of what the slope promises that a step must gain
SMALLEST = 1e-12


def least(
    function: Sloped, numbers: Numbers, *, iterations: int, flat: float = 1e-6
) -> tuple[Numbers, float]:
    """Where the function is least, and its value there; it ends where no slope is above `flat`.

    Each step goes down by -H g, H being what the slopes so far tell of the inverse of the bend; it
    is halved until it gains. Values that are no numbers are as bad as can be.
    """
    value, slope = function(numbers)
    inverse: np.ndarray | None = None
    for _ in range(iterations):
        if np.abs(slope).max(initial=0.0) < flat:
            break
        way = -slope if inverse is None else -inverse @ slope
        if way @ slope >= 0:
            way, inverse = -slope, None
        way = way * min(1.0, LONGEST / max(np.abs(way).max(), SMALLEST))
        if inverse is None:
            way = way / max(1.0, np.linalg.norm(slope))
        found = _down(function, numbers, value, way, float(way @ slope))
        if found is None:
            if inverse is None:
                break
            inverse = None
            continue
        before, old = numbers, slope
        numbers, value, slope = found
        inverse = _bent(inverse, numbers - before, slope - old)
    return numbers, value


def _down(
    function: Sloped, numbers: Numbers, value: float, way: Numbers, promised: float
) -> tuple[Numbers, float, Numbers] | None:
    """The first of ever shorter steps that gains enough."""
    length = 1.0
    while length > SMALLEST:
        there = numbers + length * way
        found, slope = function(there)
        if np.isfinite(found) and found <= value + ENOUGH * length * promised:
            return there, found, slope
        length *= 0.5 if np.isfinite(found) else 0.1
    return None


def _bent(inverse: np.ndarray | None, step: Numbers, change: Numbers) -> np.ndarray | None:
    """H after a step by which the slope changed."""
    bend = float(step @ change)
    if bend <= SMALLEST * float(np.linalg.norm(step) * np.linalg.norm(change)):
        return inverse
    if inverse is None:
        inverse = np.eye(len(step)) * bend / float(change @ change)
    near = np.eye(len(step)) - np.outer(step, change) / bend
    found: np.ndarray = near @ inverse @ near.T + np.outer(step, step) / bend
    return found


Several = Sequence[tuple[Square, Square]]  # numbers, and inputs


def total(structure: Structure, numbers: Numbers, several: Several) -> float:
    """Log p of all series."""
    system = structure.system(numbers)
    return float(sum(log_likelihoods(system, *series).sum() for series in several))


def expected_of(structure: Structure, numbers: Numbers, several: Several) -> Expected:
    """What all series say of the matrices."""
    system, found = structure.system(numbers), None
    for series in several:
        more = expected(system, *series)
        found = more if found is None else found + more
    if found is None:
        raise ValueError("no series")
    return found


def likeliest(structure: Structure, numbers: Numbers, several: Several, iterations: int) -> Numbers:
    """The numbers of the greatest likelihood near those given, by exact slopes."""
    count = max(1, sum(int((~np.isnan(values)).sum()) for values, _ in several))

    def sloped(at: Numbers) -> tuple[float, Numbers]:
        try:
            found = expected_of(structure, at, several)
        except (ModelError, np.linalg.LinAlgError):  # too far away
            return np.inf, np.zeros(len(at))
        return -found.log_likelihood / count, structure.slope(found, at) / count

    return least(sloped, numbers, iterations=iterations, flat=1e-6)[0]


def best_start(structure: Structure, starts: list[Numbers], several: Several) -> Numbers:
    """Of several starts the likeliest."""
    return max(starts, key=lambda numbers: total(structure, numbers, several))
