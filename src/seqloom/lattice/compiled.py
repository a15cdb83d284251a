"""The one door to Numba: functions that are compiled when they are first called, and kept."""

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba

Function = TypeVar("Function", bound=Callable[..., object])
# Sums may be taken in any order, so that several numbers are added at once; infinities stay exact.
SUMS = {"reassoc", "nsz", "contract", "arcp"}
MAXIMA = {"nsz", "nnan"}  # to compare numbers none of which is NaN takes half the time


def compiled(function: Function) -> Function:
    """The same function as machine code."""
    made: Any = numba.njit(cache=True, fastmath=SUMS, error_model="numpy")(function)
    return cast(Function, made)


def compiled_for_maxima(function: Function) -> Function:
    """The same, where numbers are added as written and the largest is looked for."""
    made: Any = numba.njit(cache=True, fastmath=MAXIMA, error_model="numpy")(function)
    return cast(Function, made)
