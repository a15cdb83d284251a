"""The compiled steps of the simple recurrent network."""

from typing import no_type_check

from ....statistical.jit import compiled_as_written
from .matmul import add_product
from .simd import BYTES, ONE, load, positive, rectified, sigmoid, store, tanh
from .threads import Kernel, copy_rows, fields, next_part, place, put_outer, vectors

TANH, SIGMOID, RELU = 0, 1, 2
KINDS = {"tanh": TANH, "sigmoid": SIGMOID, "relu": RELU}


@compiled_as_written
@no_type_check
def _bent(kind, x):
    """φ(x)."""
    if kind == TANH:
        return tanh(x)
    return sigmoid(x) if kind == SIGMOID else rectified(x)


@compiled_as_written
@no_type_check
def _slope(kind, h):
    """φ'(x) from h = φ(x)."""
    if kind == TANH:
        return ONE - h * h
    return h * (ONE - h) if kind == SIGMOID else positive(h)


@compiled_as_written
@no_type_check
def _forward(f, first, rows):
    """h' = φ(a + U h) for some sequences; `room` takes what is bent."""
    n = f.hidden
    room = f.room + BYTES * first * n
    for t in range(f.time):
        old = f.h + BYTES * (t * f.batch + first) * n
        new = old + BYTES * f.batch * n
        products = f.a + BYTES * (t * f.a_step + first * f.a_row)
        copy_rows(products, f.a_row, room, n, rows, n)
        add_product(old, n, rows, f.weight, (n, n), room, n)
        for row in range(rows):
            begin = row * n
            for vector in range(vectors(n)):
                at = begin + place(vector, n)
                store(new, at, _bent(f.kind, load(room, at)))


@compiled_as_written
@no_type_check
def _backward(f, first, rows):
    """`grad` takes the gradient of a, `dh` that of the state."""
    n = f.hidden
    dh = f.dh + BYTES * first * n
    put_outer(f, f.time - 1, first, rows, dh)
    for t in range(f.time - 1, -1, -1):
        grad = f.grad + BYTES * (t * f.batch + first) * n
        state = f.h + BYTES * ((t + 1) * f.batch + first) * n
        for row in range(rows):
            begin = row * n
            for vector in range(vectors(n)):
                at = begin + place(vector, n)
                store(grad, at, load(dh, at) * _slope(f.kind, load(state, at)))
        put_outer(f, t - 1, first, rows, dh)
        add_product(grad, n, rows, f.weight, (n, n), dh, n)


@Kernel
@no_type_check
def forward(frame):
    """Fill `h` from its first step on."""
    while True:
        first, rows = next_part(frame)
        if rows == 0:
            return
        _forward(fields(frame), first, rows)


@Kernel
@no_type_check
def backward(frame):
    """Fill `grad`; `dh` ends with the gradient of the first state."""
    while True:
        first, rows = next_part(frame)
        if rows == 0:
            return
        _backward(fields(frame), first, rows)
