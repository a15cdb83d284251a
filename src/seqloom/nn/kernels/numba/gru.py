"""Kernels of the GRU: reset gate after or before the product, or none."""

from typing import no_type_check

from ....statistical.jit import jit_strict
from .matmul import add_product
from .simd import BYTES, ONE, load, sigmoid, store, tanh, zeros
from .threads import (
    Kernel,
    copy_rows,
    fields,
    next_sequences,
    num_vectors,
    offset,
    outer_at,
    store_outer,
)

NONE, AFTER, BEFORE = 0, 1, 2
KINDS = {"none": NONE, "after": AFTER, "before": BEFORE}


@jit_strict
@no_type_check
def _gates(f, scratch, gates, h, reset, rows):
    """The gates r and z; with the reset before the product also r ⊙ h."""
    n, early = f.hidden, (f.blocks - 1) * f.hidden
    for row in range(rows):
        here, there = row * f.blocks * n, row * f.a_row
        for vector in range(num_vectors(early)):
            at = offset(vector, early)
            store(gates, there + at, sigmoid(load(scratch, here + at)))
        if f.kind == BEFORE:
            for vector in range(num_vectors(n)):
                at = offset(vector, n)
                store(reset, row * n + at, load(gates, there + at) * load(h, row * n + at))


@jit_strict
@no_type_check
def _next_state(f, scratch, apart, gates, kept, h, new, rows):
    """The candidate n, and h' = (1 - z) ⊙ n + z ⊙ h."""
    n, early = f.hidden, (f.blocks - 1) * f.hidden
    for row in range(rows):
        here, there = row * f.blocks * n + early, row * f.a_row
        for vector in range(num_vectors(n)):
            at = offset(vector, n)
            candidate = load(scratch, here + at)
            if f.kind == AFTER:
                store(kept, row * n + at, candidate)
                candidate = load(apart, row * n + at) + load(gates, there + at) * candidate
            candidate = tanh(candidate)
            z, old = load(gates, there + early - n + at), load(h, row * n + at)
            store(gates, there + early + at, candidate)
            store(new, row * n + at, candidate + z * (old - candidate))


@jit_strict
@no_type_check
def _forward(f, first, rows):
    """All steps of some sequences; the gates overwrite a.

    `apart` holds, with the reset after the product, W x + b of the candidate, which may not be
    added to U h + d before r is multiplied; `kept` keeps U h + d for the backward pass. With the
    reset before the product it holds r ⊙ h.
    """
    n, wide = f.hidden, f.blocks * f.hidden
    scratch, apart = f.scratch + BYTES * first * wide, f.more_scratch + BYTES * first * n
    early = wide - n
    for t in range(f.time):
        step = BYTES * (t * f.batch + first) * n
        gates = f.a + BYTES * (t * f.a_step + first * f.a_row)
        h = f.h + step
        copy_rows(gates, f.a_row, scratch, wide, rows, wide)
        if f.kind == AFTER:  # the candidate's block: W x + b out, the bias d in
            copy_rows(scratch + BYTES * early, wide, apart, n, rows, n)
            copy_rows(f.bias, 0, scratch + BYTES * early, wide, rows, n)
        add_product(h, n, rows, f.weight, (n, early if f.kind == BEFORE else wide), scratch, wide)
        _gates(f, scratch, gates, h, apart, rows)
        if f.kind == BEFORE:
            add_product(apart, n, rows, f.late_weight, (n, n), scratch + BYTES * early, wide)
        _next_state(f, scratch, apart, gates, f.kept + step, h, h + BYTES * f.batch * n, rows)


@jit_strict
@no_type_check
def _back_to_gates(f, gates, h, kept, late, dh, grad, rows):
    """Gradients of z and n; with the reset after the product also those of r and of U h + d."""
    n, early = f.hidden, (f.blocks - 1) * f.hidden
    for row in range(rows):
        here, there = row * f.blocks * n, row * f.a_row
        for vector in range(num_vectors(n)):
            at = offset(vector, n)
            z, new = load(gates, there + early - n + at), load(gates, there + early + at)
            outer = load(dh, row * n + at)
            d_new = outer * (ONE - z) * (ONE - new * new)
            d_z = outer * (load(h, row * n + at) - new) * z * (ONE - z)
            store(grad, here + early - n + at, d_z)
            store(grad, here + early + at, d_new)
            if f.kind == AFTER:
                r = load(gates, there + at)
                store(grad, here + at, d_new * load(kept, row * n + at) * r * (ONE - r))
                store(late, row * n + at, d_new * r)


@jit_strict
@no_type_check
def _back_to_state(f, t, first, gates, h, inner, late, dh, grad, target, rows):
    """∂L/∂h without the products: through z, through r ⊙ h, and from the loss at this output."""
    n, early = f.hidden, (f.blocks - 1) * f.hidden
    for row in range(rows):
        here, there = row * f.blocks * n, row * f.a_row
        for vector in range(num_vectors(n)):
            at = offset(vector, n)
            kept = load(dh, row * n + at) * load(gates, there + early - n + at)
            total = kept + outer_at(f, t - 1, first + row, at)
            if f.kind == BEFORE:
                back, old = load(inner, row * n + at), load(h, row * n + at)
                r = load(gates, there + at)
                store(grad, here + at, back * old * r * (ONE - r))
                store(late, row * n + at, r * old)
                total = total + back * r
            store(target, row * n + at, total)


@jit_strict
@no_type_check
def _zero(target, rows, width):
    for vector in range(num_vectors(rows * width)):
        store(target, offset(vector, rows * width), zeros())


@jit_strict
@no_type_check
def _backward(f, first, rows):
    """Backward through time: the gradients of the gates into `grad`, that of the state into `dh`.

    `late` receives, with the reset after the product, the gradient of U h + d; with the reset
    before it r ⊙ h, with which U was multiplied. The gradient of U needs either.
    """
    n, wide = f.hidden, f.blocks * f.hidden
    early, above = wide - n, BYTES * first * n
    dh, other, inner = f.dh + above, f.scratch + above, f.more_scratch + above
    store_outer(f, f.time - 1, first, rows, dh)
    for t in range(f.time - 1, -1, -1):
        sequence = t * f.batch + first
        step, grad = BYTES * sequence * n, f.grad + BYTES * sequence * wide
        gates = f.a + BYTES * (t * f.a_step + first * f.a_row)
        h, late = f.h + step, f.late + step
        _back_to_gates(f, gates, h, f.kept + step, late, dh, grad, rows)
        if f.kind == BEFORE:
            _zero(inner, rows, n)
            candidate = grad + BYTES * early
            add_product(candidate, wide, rows, f.late_weight, (n, n), inner, n)
        _back_to_state(f, t, first, gates, h, inner, late, dh, grad, other, rows)
        depth = wide if f.kind == NONE else early
        add_product(grad, wide, rows, f.weight, (depth, n), other, n)
        if f.kind == AFTER:
            add_product(late, n, rows, f.late_weight, (n, n), other, n)
        dh, other = other, dh  # two buffers: the last vector of a row may not read what it wrote
    if f.time % 2:  # the result is in the scratch buffer
        copy_rows(dh, n, other, n, rows, n)


@Kernel
@no_type_check
def forward(frame):
    """Fill the states `h`; the gates overwrite `a`."""
    while True:
        first, rows = next_sequences(frame)
        if rows == 0:
            return
        _forward(fields(frame), first, rows)


@Kernel
@no_type_check
def backward(frame):
    """Fill `grad` and `late`; `dh` ends with the gradient of the initial state."""
    while True:
        first, rows = next_sequences(frame)
        if rows == 0:
            return
        _backward(fields(frame), first, rows)
