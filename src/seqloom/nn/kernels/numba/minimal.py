"""Kernels of minGRU, minLSTM and the constant error carousel, whose gates see the input only.

These steps are limited by memory and not by arithmetic: the gates are recomputed in the backward
pass, which takes less time than storing and loading them.
"""

from typing import no_type_check

from ....statistical.jit import jit_strict
from .simd import BYTES, ONE, exp, load, relu, sigmoid, store, zeros
from .threads import Kernel, copy_rows, fields, next_sequences, num_vectors, offset, outer_at

SUM, ONE_GATE, TWO_GATES = 1, 2, 3  # by the number of blocks of W x + b; the last is the candidate


@jit_strict
@no_type_check
def _update_gate(f, products, at):
    """The update gate z; with two gates i / (f + i).

    For the logits f̂ and î it is (1 + e^-f̂) / (2 + e^-f̂ + e^-î); all terms times e^-m, with m the
    largest exponent: none overflows, and not all underflow.
    """
    one = load(products, at)
    if f.blocks == ONE_GATE:
        return sigmoid(one)
    minus_f, minus_i = zeros() - one, zeros() - load(products, f.hidden + at)
    larger = minus_f + relu(minus_i - minus_f)
    m = relu(larger)
    unit, e_f, e_i = exp(zeros() - m), exp(minus_f - m), exp(minus_i - m)
    top = unit + e_f
    return top / (top + unit + e_i)


@jit_strict
@no_type_check
def _forward(f, first, rows):
    """h' = (1 - z) ⊙ h + z ⊙ n, or h + n."""
    n, last = f.hidden, (f.blocks - 1) * f.hidden
    for t in range(f.time):
        for row in range(first, first + rows):
            products = f.a + BYTES * (t * f.a_step + row * f.a_row)
            old = f.h + BYTES * (t * f.batch + row) * n
            new = old + BYTES * f.batch * n
            for vector in range(num_vectors(n)):
                at = offset(vector, n)
                h, added = load(old, at), load(products, last + at)
                if f.blocks != SUM:  # (1 - z) h + z n = h + z (n - h)
                    added = _update_gate(f, products, at) * (added - h)
                store(new, at, h + added)


@jit_strict
@no_type_check
def _back_to_products(f, products, grad, h, g, at):
    """The gradients of the blocks; returns that of the state before, (1 - z) g."""
    last = (f.blocks - 1) * f.hidden
    if f.blocks == SUM:
        store(grad, at, g)
        return g
    z, new = _update_gate(f, products, at), load(products, last + at)
    store(grad, last + at, g * z)
    inner = g * (new - h) * z * (ONE - z)
    if f.blocks == TWO_GATES:  # ∂z/∂î = z (1 - z) (1 - i), ∂z/∂f̂ = z (1 - z) (f - 1)
        store(grad, f.hidden + at, inner * (ONE - sigmoid(load(products, f.hidden + at))))
        inner = inner * (sigmoid(load(products, at)) - ONE)
    store(grad, at, inner)
    return g - g * z


@jit_strict
@no_type_check
def _backward(f, first, rows):
    """Backward through time: the gradient of a into `grad`, that of the state into `dh`."""
    n, above = f.hidden, BYTES * first * f.hidden
    dh, other = f.dh + above, f.scratch + above
    for t in range(f.time - 1, -1, -1):
        for row in range(rows):
            products = f.a + BYTES * (t * f.a_step + (first + row) * f.a_row)
            sequence = t * f.batch + first + row
            grad, old = f.grad + BYTES * sequence * f.blocks * n, f.h + BYTES * sequence * n
            for vector in range(num_vectors(n)):
                at = offset(vector, n)
                later = load(dh, row * n + at) if t < f.time - 1 else zeros()
                g = later + outer_at(f, t, first + row, at)
                onward = _back_to_products(f, products, grad, load(old, at), g, at)
                store(other, row * n + at, onward)
        dh, other = other, dh  # two buffers: the last vector of a row may not read what it wrote
    if f.time % 2:  # the result is in the scratch buffer
        copy_rows(dh, n, other, n, rows, n)


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
    """Fill `grad`; `dh` ends with the gradient of the initial state."""
    while True:
        first, rows = next_sequences(frame)
        if rows == 0:
            return
        _backward(fields(frame), first, rows)
