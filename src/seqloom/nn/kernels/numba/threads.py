"""Threads of the Numba kernels: the arguments of a kernel, and how its sequences are split.

Sequences are independent: each thread takes some of them through all steps, and waits for no other
before the end. The threads are torch's own OpenMP threads: after each of torch's products these
stay awake for some milliseconds, and threads of our own would have to share the cores with them.
"""

import ctypes
import hashlib
from collections.abc import Callable
from functools import cache
from pathlib import Path
from threading import Thread
from typing import Any, no_type_check

import numba
import numpy as np
import torch
from llvmlite import ir
from numba import types
from numba.extending import intrinsic
from numba.np.numpy_support import carray, from_dtype
from threadpoolctl import ThreadpoolController
from torch import Tensor

from ....statistical.jit import jit_strict
from .simd import BYTES, INT64, WIDTH, load, store, zeros

MIN_SEQUENCES = 4  # of each thread: fewer are not worth waking it


def _source_digest(folder: Path) -> str:
    """A digest of all sources of a folder."""
    sources = b"".join(source.read_bytes() for source in sorted(folder.glob("*.py")))
    return hashlib.blake2s(sources, digest_size=8).hexdigest()


# The arguments of all kernels, as one struct: addresses, sizes, and strides in elements between
# steps and between sequences. `taken` counts the parts that threads have taken.
FIELDS = [
    *("taken", "parts", "time", "batch", "hidden", "blocks", "kind"),
    *("a", "a_step", "a_row", "outer", "outer_step", "outer_row"),
    *("h", "c", "kept", "late", "grad", "dh", "dc", "bias", "peep"),
    *("weight", "early_weight", "late_weight", "scratch", "more_scratch"),
    # Holds nothing. Numba caches machine code until the function's own file changes, though what it
    # calls may be in another file; with this name in the type of its argument a kernel is another
    # function as soon as any source of the folder has changed.
    f"sources_{_source_digest(Path(__file__).parent)}",
]
FRAME = np.dtype([(name, np.int64) for name in FIELDS])
Run = Callable[[Any], None]


class Kernel:
    """A kernel: a function of the address of its arguments, compiled at its first call.

    All kernels have the same loop around different steps, and each is written out: Numba caches the
    machine code of functions that name what they call, but not of closures over a function.
    """

    def __init__(self, function: Run) -> None:
        self.function = function

    def __call__(self, batch: int, **fields: Tensor | int) -> None:
        """Run it on all sequences; fields that are not passed are 0."""
        threads = max(1, min(torch.get_num_threads(), batch // MIN_SEQUENCES))
        values = {"batch": batch, "parts": threads, **fields}
        ordered = [values.get(name, 0) for name in FIELDS]
        numbers = [one.data_ptr() if isinstance(one, Tensor) else one for one in ordered]
        frame = np.array(numbers, np.int64)
        run_threads(_c_function(self.function), frame.ctypes.data, threads)


@cache
def _c_function(function: Run) -> Any:
    """A kernel as a C function; ctypes releases the GIL while it runs."""
    return ctypes.CFUNCTYPE(None, ctypes.c_void_p)(_compiled(function).address)


@cache  # which also keeps the machine code alive
def _compiled(function: Run) -> Any:
    kind = types.void(types.CPointer(from_dtype(FRAME)))
    return numba.cfunc(kind, cache=True, error_model="numpy")(function)


def run_threads(call: Any, frame: int, threads: int) -> None:
    """Run the same function on the same arguments in several threads."""
    if threads == 1:
        call(frame)
    elif (in_parallel := _openmp()) is not None:
        in_parallel(call, frame, threads, 0)
    else:
        others = [Thread(target=call, args=(frame,)) for _ in range(threads - 1)]
        for other in others:
            other.start()
        call(frame)
        for other in others:
            other.join()


@cache
def _openmp() -> Any:
    """GOMP_parallel of the OpenMP library that torch runs on; None where there is none.

    Several may be loaded, since other packages bring their own: torch's is tried first.
    """
    libraries = ThreadpoolController().select(user_api="openmp").lib_controllers
    for library in sorted(libraries, key=lambda one: "torch" not in one.filepath):
        parallel = getattr(library.dynlib, "GOMP_parallel", None)
        if parallel is not None:
            parallel.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_uint, ctypes.c_uint]
            parallel.restype = None
            return parallel
    return None


@intrinsic
def _ticket(typing: Any, frame: Any) -> Any:
    """Count up `taken` atomically: no two threads get the same number."""

    def made(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        first = builder.bitcast(arguments[0], INT64.as_pointer())
        return builder.atomic_rmw("add", first, ir.Constant(INT64, 1), "monotonic")

    return types.int64(frame), made


@jit_strict
@no_type_check
def fields(frame):
    """The arguments of a kernel, by name."""
    return carray(frame, 1)[0]


@jit_strict
@no_type_check
def next_sequences(frame):
    """The next part that no thread has taken: its first sequence and their number; 0, 0 at the end.

    Parts are taken and not assigned: it does not matter how many threads OpenMP really starts.
    """
    f = fields(frame)
    part = _ticket(frame)
    if part >= f.parts:
        return 0, 0
    begin, end = part * f.batch // f.parts, (part + 1) * f.batch // f.parts
    return begin, end - begin


@jit_strict
@no_type_check
def num_vectors(size):
    """Number of vectors that cover a row; the last one reaches back where it does not fit."""
    return (size + WIDTH - 1) // WIDTH


@jit_strict
@no_type_check
def offset(vector, size):
    """Where a vector begins, in elements of its row."""
    return min(vector * WIDTH, size - WIDTH)


@jit_strict
@no_type_check
def copy_rows(source, source_row, target, target_row, rows, width):
    """Copy rows; with a `source_row` of 0 the same row each time."""
    for row in range(rows):
        one, other = source + BYTES * row * source_row, target + BYTES * row * target_row
        for vector in range(num_vectors(width)):
            at = offset(vector, width)
            store(other, at, load(one, at))


@jit_strict
@no_type_check
def outer_at(f, t, sequence, at):
    """∂L/∂h_t as it comes from outside the unroll; 0 for the initial state, t = -1."""
    if t < 0:
        return zeros()
    return load(f.outer, t * f.outer_step + sequence * f.outer_row + at)


@jit_strict
@no_type_check
def store_outer(f, t, first, rows, target):
    """The same for some sequences, stored as the first term of ∂L/∂h_t."""
    for row in range(rows):
        for vector in range(num_vectors(f.hidden)):
            at = offset(vector, f.hidden)
            store(target, row * f.hidden + at, outer_at(f, t, first + row, at))
