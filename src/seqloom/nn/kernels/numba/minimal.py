"""The compiled steps of cells whose gates see only the input, and of the one that has no gates.

There is little to compute in them and much to read: what the gates were is computed again on the
way back, because that takes less time than to keep it.
"""

from typing import no_type_check

from ....statistical.jit import compiled_as_written
from .simd import BYTES, ONE, load, sigmoid, store, zeros
from .threads import Kernel, copy_rows, fields, next_part, outer_at, place, vectors

SUM, ONE_GATE, TWO_GATES = 1, 2, 3  # blocks of W x + b, the last being what is new


@compiled_as_written
@no_type_check
def _share(f, products, at):
    """z, how much is new."""
    one = sigmoid(load(products, at))
    if f.blocks == ONE_GATE:
        return one
    other = sigmoid(load(products, f.hidden + at))
    return other / (one + other)


@compiled_as_written
@no_type_check
def _forward(f, first, rows):
    """h' = (1 - z) ⊙ h + z ⊙ n, or h + n."""
    n, last = f.hidden, (f.blocks - 1) * f.hidden
    for t in range(f.time):
        for row in range(first, first + rows):
            products = f.a + BYTES * (t * f.a_step + row * f.a_row)
            old = f.h + BYTES * (t * f.batch + row) * n
            new = old + BYTES * f.batch * n
            for vector in range(vectors(n)):
                at = place(vector, n)
                h, added = load(old, at), load(products, last + at)
                if f.blocks != SUM:
                    added = _share(f, products, at) * (added - h)
                store(new, at, h + added)


@compiled_as_written
@no_type_check
def _back_to_products(f, products, grad, h, g, at):
    """The gradients of the blocks, and what goes on to the state before."""
    last = (f.blocks - 1) * f.hidden
    if f.blocks == SUM:
        store(grad, at, g)
        return g
    z, new = _share(f, products, at), load(products, last + at)
    store(grad, last + at, g * z)
    inner = g * (new - h) * z * (ONE - z)
    if f.blocks == TWO_GATES:
        store(grad, f.hidden + at, inner * (ONE - sigmoid(load(products, f.hidden + at))))
        inner = inner * (sigmoid(load(products, at)) - ONE)
    store(grad, at, inner)
    return g - g * z


@compiled_as_written
@no_type_check
def _backward(f, first, rows):
    """`grad` takes the gradient of a, `dh` that of the state."""
    n, above = f.hidden, BYTES * first * f.hidden
    dh, other = f.dh + above, f.room + above
    for t in range(f.time - 1, -1, -1):
        for row in range(rows):
            products = f.a + BYTES * (t * f.a_step + (first + row) * f.a_row)
            sequence = t * f.batch + first + row
            grad, old = f.grad + BYTES * sequence * f.blocks * n, f.h + BYTES * sequence * n
            for vector in range(vectors(n)):
                at = place(vector, n)
                later = load(dh, row * n + at) if t < f.time - 1 else zeros()
                g = later + outer_at(f, t, first + row, at)
                onward = _back_to_products(f, products, grad, load(old, at), g, at)
                store(other, row * n + at, onward)
        dh, other = other, dh
    if f.time % 2:
        copy_rows(dh, n, other, n, rows, n)


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
