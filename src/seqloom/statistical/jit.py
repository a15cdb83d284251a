"""JIT compilation by Numba: the decorators of all kernels.

A kernel is compiled when it is first called. The machine code is cached beside the source, so only
the first use on a machine waits for it; where that takes more than a second, a message says so.
While a kernel runs, other threads do too: kernels release the lock of the interpreter.
"""

import sys
import threading
from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba
from numba.core import event

Function = TypeVar("Function", bound=Callable[..., object])
# Fast-math flags of sums: LLVM may reorder additions, which is what lets it vectorise reductions.
# `nnan` and `ninf` are left out, because scores of -inf (impossible) and NaN (missing) are data.
SUMS = {"reassoc", "nsz", "contract", "arcp"}
# Flags of comparisons: without `nnan` every max() tests for NaN, which takes twice the time. No
# `reassoc`: a sum in another order could break a tie between two paths the other way.
MAXIMA = {"nsz", "nnan"}
PATIENCE = 1.0  # seconds of compilation before it is reported
MESSAGE = "compiling kernels for this machine; they are cached, so this happens once"
# Functions without entry points for Python and C compile in less time.
INTERNAL: dict[str, Any] = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}


def jit(function: Function) -> Function:
    """Compile a kernel; its sums may be reordered."""
    made: Any = numba.njit(cache=True, nogil=True, fastmath=SUMS, error_model="numpy")(function)
    return cast(Function, made)


def jit_internal(function: Function) -> Function:
    """Compile a function that only other kernels call; its sums may be reordered."""
    made: Any = numba.njit(cache=True, fastmath=SUMS, error_model="numpy", **INTERNAL)(function)
    return cast(Function, made)


def jit_maxima(function: Function) -> Function:
    """Compile a kernel that compares numbers, none of them NaN; sums keep their order."""
    made: Any = numba.njit(cache=True, nogil=True, fastmath=MAXIMA, error_model="numpy")(function)
    return cast(Function, made)


def jit_strict(function: Function) -> Function:
    """Compile a function that only other kernels call; sums keep their order (no fast-math)."""
    made: Any = numba.njit(cache=True, error_model="numpy", **INTERNAL)(function)
    return cast(Function, made)


def print_message(message: str) -> None:
    """Write to standard error, so that results on standard output stay clean."""
    if sys.stderr is not None:
        sys.stderr.write(f"{message}\n")
        sys.stderr.flush()


class CompilationNotice(event.Listener):
    """Prints a message once, as soon as compilation has taken a second.

    Kernels that call each other are compiled inside each other, so only the outermost is timed.
    """

    def __init__(
        self, seconds: float = PATIENCE, show: Callable[[str], None] = print_message
    ) -> None:
        self._seconds, self._show = seconds, show
        self._depth, self._timer = 0, None  # type: tuple[int, threading.Timer | None]
        self._is_shown = False

    def on_start(self, event: Any) -> None:
        """Compilation of a function begins."""
        self._depth += 1
        if self._depth == 1 and not self._is_shown:
            self._timer = threading.Timer(self._seconds, self._notify)
            self._timer.daemon = True
            self._timer.start()

    def on_end(self, event: Any) -> None:
        """Compilation of a function ends."""
        self._depth -= 1
        if self._depth == 0 and self._timer is not None:
            self._timer.cancel()

    def _notify(self) -> None:
        self._is_shown = True
        self._show(MESSAGE)


event.register("numba:compile", CompilationNotice())
