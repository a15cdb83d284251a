"""The one door to Numba: functions that are compiled when they are first called, and kept.

Compiled code is kept beside the sources, so only the first use on a machine waits for it. Where
that takes more than a second, a sentence says so.
"""

import sys
import threading
from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba
from numba.core import event

Function = TypeVar("Function", bound=Callable[..., object])
# Sums may be taken in any order, so that several numbers are added at once; infinities stay exact.
SUMS = {"reassoc", "nsz", "contract", "arcp"}
MAXIMA = {"nsz", "nnan"}  # to compare numbers none of which is NaN takes half the time
PATIENCE = 1.0  # seconds before it is said that code is being compiled
WORDS = "compiling loops for this machine; it is done once, and kept"


def compiled(function: Function) -> Function:
    """The same function as machine code."""
    made: Any = numba.njit(cache=True, fastmath=SUMS, error_model="numpy")(function)
    return cast(Function, made)


def compiled_inside(function: Function) -> Function:
    """The same for a function that only compiled ones call: it is compiled in less time."""
    inside: dict[str, Any] = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}
    made: Any = numba.njit(cache=True, fastmath=SUMS, error_model="numpy", **inside)(function)
    return cast(Function, made)


def compiled_for_maxima(function: Function) -> Function:
    """The same, where numbers are added as written and the largest is looked for."""
    made: Any = numba.njit(cache=True, fastmath=MAXIMA, error_model="numpy")(function)
    return cast(Function, made)


def compiled_as_written(function: Function) -> Function:
    """The same for a function inside of others in which nothing may be summed in another order."""
    inside: dict[str, Any] = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}
    made: Any = numba.njit(cache=True, error_model="numpy", **inside)(function)
    return cast(Function, made)


def say(words: str) -> None:
    """Where people look who wait; results go elsewhere."""
    if sys.stderr is not None:
        sys.stderr.write(f"{words}\n")
        sys.stderr.flush()


class Patience(event.Listener):
    """Says once that code is being compiled, as soon as that has taken a second.

    Functions that call each other are compiled inside each other, so what counts is the first.
    """

    def __init__(self, seconds: float = PATIENCE, say: Callable[[str], None] = say) -> None:
        self._seconds, self._say = seconds, say
        self._depth, self._timer = 0, None  # type: tuple[int, threading.Timer | None]
        self._said = False

    def on_start(self, event: Any) -> None:
        """A function begins to be compiled."""
        self._depth += 1
        if self._depth == 1 and not self._said:
            self._timer = threading.Timer(self._seconds, self._tell)
            self._timer.daemon = True
            self._timer.start()

    def on_end(self, event: Any) -> None:
        """It is compiled."""
        self._depth -= 1
        if self._depth == 0 and self._timer is not None:
            self._timer.cancel()

    def _tell(self) -> None:
        self._said = True
        self._say(WORDS)


event.register("numba:compile", Patience())
