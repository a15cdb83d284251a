"""Kernels of the Elman RNN: h' = φ(a + U h), forward and backward through time."""

from typing import no_type_check

from ....statistical.jit import jit_strict
from .matmul import add_product
from .simd import BYTES, ONE, is_positive, load, relu, sigmoid, store, tanh
from .threads import Kernel, copy_rows, fields, next_sequences, num_vectors, offset, store_outer

TANH, SIGMOID, RELU = 0, 1, 2
KINDS = {"tanh": TANH, "sigmoid": SIGMOID, "relu": RELU}


@jit_strict
@no_type_check
def _activation(kind, x):
    """φ(x)."""
    if kind == TANH:
        return tanh(x)
    return sigmoid(x) if kind == SIGMOID else relu(x)


@jit_strict
@no_type_check
def _slope(kind, h):
    """φ'(x), from the output h = φ(x): the input is not kept."""
    if kind == TANH:
        return ONE - h * h
    return h * (ONE - h) if kind == SIGMOID else is_positive(h)


@jit_strict
@no_type_check
def _forward(f, first, rows):
    """h' = φ(a + U h) for some sequences; `scratch` holds a + U h of one step."""
    n = f.hidden
    scratch = f.scratch + BYTES * first * n
    for t in range(f.time):
        old = f.h + BYTES * (t * f.batch + first) * n
        new = old + BYTES * f.batch * n
        products = f.a + BYTES * (t * f.a_step + first * f.a_row)
        # Not in place: the last vector of a row overlaps the one before it.
        copy_rows(products, f.a_row, scratch, n, rows, n)
        add_product(old, n, rows, f.weight, (n, n), scratch, n)
        for row in range(rows):
            begin = row * n
            for vector in range(num_vectors(n)):
                at = begin + offset(vector, n)
                store(new, at, _activation(f.kind, load(scratch, at)))


@jit_strict
@no_type_check
def _backward(f, first, rows):
    """Backward through time: δ_t = φ'(x_t) ⊙ ∂L/∂h_t into `grad`, ∂L/∂h_{t-1} into `dh`."""
    n = f.hidden
    dh = f.dh + BYTES * first * n
    store_outer(f, f.time - 1, first, rows, dh)
    for t in range(f.time - 1, -1, -1):
        grad = f.grad + BYTES * (t * f.batch + first) * n
        state = f.h + BYTES * ((t + 1) * f.batch + first) * n
        for row in range(rows):
            begin = row * n
            for vector in range(num_vectors(n)):
                at = begin + offset(vector, n)
                store(grad, at, load(dh, at) * _slope(f.kind, load(state, at)))
        store_outer(f, t - 1, first, rows, dh)
        add_product(grad, n, rows, f.weight, (n, n), dh, n)  # ∂L/∂h_{t-1} += δ_t U


@Kernel
@no_type_check
def forward(frame):
    """Fill the states `h`."""
    while True:
        first, rows = next_sequences(frame)
        if rows == 0:
            return
        _forward(fields(frame), first, rows)


@Kernel
@no_type_check
def backward(frame):
    """Fill `grad`, the gradient of a; `dh` ends with that of the initial state."""
    while True:
        first, rows = next_sequences(frame)
        if rows == 0:
            return
        _backward(fields(frame), first, rows)
