"""The numbers of a structure under which series are likeliest."""

from collections.abc import Sequence

import numpy as np

from ..errors import ModelError
from .descent import least
from .expected import Expected, expected
from .quick import log_likelihoods
from .structure import Numbers, Square, Structure

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
