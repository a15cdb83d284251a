"""What a compiled unroll works on, and how its sequences are shared among threads.

Sequences do not touch each other: each thread takes some of them through all steps, without waiting
for another. The threads are torch's own, of OpenMP, because after each product of torch's these
wait awake for the next one, and others would have to share the cores with them.
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

from ....statistical.jit import compiled_as_written
from .simd import BYTES, WHOLE, WIDTH, load, store, zeros

FEW = 4  # sequences: fewer are not worth a thread


def _mark(folder: Path) -> str:
    """Letters that change with the sources of a folder."""
    sources = b"".join(source.read_bytes() for source in sorted(folder.glob("*.py")))
    return hashlib.blake2s(sources, digest_size=8).hexdigest()


FIELDS = [  # addresses, sizes, and how many numbers lie between steps and between sequences
    *("taken", "parts", "time", "batch", "hidden", "blocks", "kind"),
    *("a", "a_step", "a_row", "outer", "outer_step", "outer_row"),
    *("h", "c", "kept", "late", "grad", "dh", "dc", "bias", "peep"),
    *("weight", "early_weight", "late_weight", "room", "more_room"),
    # Holds nothing. Numba keeps machine code until the function's own file changes, though what it
    # calls may stand in another; with this name in its frame it is taken for another function.
    f"sources_{_mark(Path(__file__).parent)}",
]
FRAME = np.dtype([(name, np.int64) for name in FIELDS])
Run = Callable[[Any], None]


class Kernel:
    """A function of the address of a frame, compiled when it is first called.

    Each is written out, though all are the same loop around other steps: a function that is made
    with its steps inside of it would be compiled in every process, because Numba finds the machine
    code again only of functions that name what they call.
    """

    def __init__(self, function: Run) -> None:
        self.function = function

    def __call__(self, batch: int, **fields: Tensor | int) -> None:
        """Run it on all sequences; what is not given is 0."""
        threads = max(1, min(torch.get_num_threads(), batch // FEW))
        values = {"batch": batch, "parts": threads, **fields}
        laid = [values.get(name, 0) for name in FIELDS]
        numbers = [one.data_ptr() if isinstance(one, Tensor) else one for one in laid]
        frame = np.array(numbers, np.int64)
        share(_called(self.function), frame.ctypes.data, threads)


@cache
def _called(function: Run) -> Any:
    """The same as C would call it."""
    return ctypes.CFUNCTYPE(None, ctypes.c_void_p)(_compiled(function).address)


@cache  # which also keeps the machine code
def _compiled(function: Run) -> Any:
    kind = types.void(types.CPointer(from_dtype(FRAME)))
    return numba.cfunc(kind, cache=True, error_model="numpy")(function)


def share(call: Any, frame: int, threads: int) -> None:
    """Let several threads run the same function on the same frame."""
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
    """What starts a parallel region of the OpenMP that torch runs on, where it can be had."""
    libraries = ThreadpoolController().select(user_api="openmp").lib_controllers
    for library in sorted(libraries, key=lambda one: "torch" not in one.filepath):
        found = getattr(library.dynlib, "GOMP_parallel", None)
        if found is not None:
            found.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_uint, ctypes.c_uint]
            found.restype = None
            return found
    return None


@intrinsic
def _ticket(typing: Any, frame: Any) -> Any:
    """How many came before; no two threads get the same number."""

    def made(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        first = builder.bitcast(arguments[0], WHOLE.as_pointer())
        return builder.atomic_rmw("add", first, ir.Constant(WHOLE, 1), "monotonic")

    return types.int64(frame), made


@compiled_as_written
@no_type_check
def fields(frame):
    """The fields of a frame, by their names."""
    return carray(frame, 1)[0]


@compiled_as_written
@no_type_check
def next_part(frame):
    """The first sequence and the number of sequences nobody has taken yet; 0 if all are."""
    f = fields(frame)
    part = _ticket(frame)
    if part >= f.parts:
        return 0, 0
    begin, end = part * f.batch // f.parts, (part + 1) * f.batch // f.parts
    return begin, end - begin


@compiled_as_written
@no_type_check
def vectors(hidden):
    """How many vectors cover a row; the last reaches back where it does not fit."""
    return (hidden + WIDTH - 1) // WIDTH


@compiled_as_written
@no_type_check
def place(vector, hidden):
    """Where a vector begins."""
    return min(vector * WIDTH, hidden - WIDTH)


@compiled_as_written
@no_type_check
def copy_rows(source, source_row, target, target_row, rows, width):
    """Copy rows of numbers."""
    for row in range(rows):
        one, other = source + BYTES * row * source_row, target + BYTES * row * target_row
        for vector in range(vectors(width)):
            at = place(vector, width)
            store(other, at, load(one, at))


@compiled_as_written
@no_type_check
def outer_at(f, t, sequence, at):
    """What comes to the outputs of step t from outside; before the first step, nothing."""
    if t < 0:
        return zeros()
    return load(f.outer, t * f.outer_step + sequence * f.outer_row + at)


@compiled_as_written
@no_type_check
def put_outer(f, t, first, rows, target):
    """The same for some sequences, as the beginning of a gradient."""
    for row in range(rows):
        for vector in range(vectors(f.hidden)):
            at = place(vector, f.hidden)
            store(target, row * f.hidden + at, outer_at(f, t, first + row, at))
