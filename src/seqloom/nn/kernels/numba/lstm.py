"""Kernels of the LSTM, with or without a forget gate and peepholes."""

from typing import no_type_check

from ....statistical.jit import jit_strict
from .matmul import add_product
from .simd import BYTES, ONE, load, sigmoid, store, tanh
from .threads import Kernel, copy_rows, fields, next_sequences, num_vectors, offset, store_outer

NO_PEEPHOLES, FULL, DIAGONAL = 0, 1, 2
KINDS = {0: NO_PEEPHOLES, 2: DIAGONAL, 3: FULL}  # by the number of dimensions of P
WITH_FORGET_GATE = 4  # blocks of W x + b; without it there are three


@jit_strict
@no_type_check
def _cells(f, scratch, gates, old, new, rows):
    """c' = f ⊙ c + i ⊙ g; `scratch` holds W x + b + U h, to which diagonal peepholes are added."""
    n = f.hidden
    for row in range(rows):
        here, there = row * f.blocks * n, row * f.a_row
        for vector in range(num_vectors(n)):
            at = offset(vector, n)
            c, i = load(old, row * n + at), load(scratch, here + at)
            if f.kind == DIAGONAL:
                i = i + c * load(f.peep, at)
            i, g = sigmoid(i), tanh(load(scratch, here + (f.blocks - 2) * n + at))
            store(gates, there + at, i)
            store(gates, there + (f.blocks - 2) * n + at, g)
            if f.blocks == WITH_FORGET_GATE:
                forget = load(scratch, here + n + at)
                if f.kind == DIAGONAL:
                    forget = forget + c * load(f.peep, n + at)
                forget = sigmoid(forget)
                store(gates, there + n + at, forget)
                c = c * forget
            store(new, row * n + at, c + i * g)


@jit_strict
@no_type_check
def _output(f, scratch, gates, cells, tanh_c, output, rows):
    """h' = o ⊙ tanh(c')."""
    n = f.hidden
    last = (f.blocks - 1) * n
    for row in range(rows):
        for vector in range(num_vectors(n)):
            at = offset(vector, n)
            c, o = load(cells, row * n + at), load(scratch, row * f.blocks * n + last + at)
            if f.kind == DIAGONAL:
                o = o + c * load(f.peep, 2 * n + at)
            o, c = sigmoid(o), tanh(c)
            store(gates, row * f.a_row + last + at, o)
            store(tanh_c, row * n + at, c)
            store(output, row * n + at, o * c)


@jit_strict
@no_type_check
def _forward(f, first, rows):
    """All steps of some sequences; the gates overwrite a."""
    n, wide = f.hidden, f.blocks * f.hidden
    scratch, onward = f.scratch + BYTES * first * wide, BYTES * f.batch * n
    for t in range(f.time):
        step = BYTES * (t * f.batch + first) * n
        gates = f.a + BYTES * (t * f.a_step + first * f.a_row)
        h, c = f.h + step, f.c + step
        copy_rows(gates, f.a_row, scratch, wide, rows, wide)
        add_product(h, n, rows, f.weight, (n, wide), scratch, wide)
        if f.kind == FULL:
            add_product(c, n, rows, f.early_weight, (n, 2 * n), scratch, wide)
        _cells(f, scratch, gates, c, c + onward, rows)
        if f.kind == FULL:  # the output gate sees the new cell state, so its peephole comes last
            late = scratch + BYTES * (wide - n)
            add_product(c + onward, n, rows, f.late_weight, (n, n), late, wide)
        _output(f, scratch, gates, c + onward, f.kept + step, h + onward, rows)


@jit_strict
@no_type_check
def _back_to_cells(f, gates, tanh_c, dh, dc, grad, whole, rows):
    """The gradient of o, and in `whole` all of ∂L/∂c': from later steps and from the output."""
    n = f.hidden
    last = (f.blocks - 1) * n
    for row in range(rows):
        for vector in range(num_vectors(n)):
            at = offset(vector, n)
            o, tc = load(gates, row * f.a_row + last + at), load(tanh_c, row * n + at)
            outer, c = load(dh, row * n + at), load(dc, row * n + at)
            d_o = outer * tc * o * (ONE - o)
            c = c + outer * o * (ONE - tc * tc)
            if f.kind == DIAGONAL:
                c = c + d_o * load(f.peep, 2 * n + at)
            store(grad, row * f.blocks * n + last + at, d_o)
            store(whole, row * n + at, c)


@jit_strict
@no_type_check
def _back_to_gates(f, gates, cells, whole, grad, dc, rows):
    """The gradients of i, f and g before activation, and ∂L/∂c of the cell state before."""
    n, new = f.hidden, (f.blocks - 2) * f.hidden
    for row in range(rows):
        here, there = row * f.blocks * n, row * f.a_row
        for vector in range(num_vectors(n)):
            at = offset(vector, n)
            i, g = load(gates, there + at), load(gates, there + new + at)
            c = load(whole, row * n + at)
            d_i = c * g * i * (ONE - i)
            store(grad, here + at, d_i)
            store(grad, here + new + at, c * i * (ONE - g * g))
            if f.blocks == WITH_FORGET_GATE:
                forget = load(gates, there + n + at)
                d_f = c * load(cells, row * n + at) * forget * (ONE - forget)
                store(grad, here + n + at, d_f)
                c = c * forget
                if f.kind == DIAGONAL:
                    c = c + d_i * load(f.peep, at) + d_f * load(f.peep, n + at)
            store(dc, row * n + at, c)


@jit_strict
@no_type_check
def _backward(f, first, rows):
    """Backward through time: gradients of the gates into `grad`, of the state into `dh`, `dc`."""
    n, wide = f.hidden, f.blocks * f.hidden
    dh, dc = f.dh + BYTES * first * n, f.dc + BYTES * first * n
    whole = f.scratch + BYTES * first * n
    store_outer(f, f.time - 1, first, rows, dh)
    for t in range(f.time - 1, -1, -1):
        sequence = t * f.batch + first
        step, grad = BYTES * sequence * n, f.grad + BYTES * sequence * wide
        gates = f.a + BYTES * (t * f.a_step + first * f.a_row)
        _back_to_cells(f, gates, f.kept + step, dh, dc, grad, whole, rows)
        if f.kind == FULL:
            late = grad + BYTES * (wide - n)
            add_product(late, wide, rows, f.late_weight, (n, n), whole, n)
        _back_to_gates(f, gates, f.c + step, whole, grad, dc, rows)
        if f.kind == FULL:
            add_product(grad, wide, rows, f.early_weight, (2 * n, n), dc, n)
        store_outer(f, t - 1, first, rows, dh)
        add_product(grad, wide, rows, f.weight, (wide, n), dh, n)


@Kernel
@no_type_check
def forward(frame):
    """Fill `h`, `c` and `kept` (tanh c); the gates overwrite `a`."""
    while True:
        first, rows = next_sequences(frame)
        if rows == 0:
            return
        _forward(fields(frame), first, rows)


@Kernel
@no_type_check
def backward(frame):
    """Fill `grad`; `dh` and `dc` end with the gradients of the initial state."""
    while True:
        first, rows = next_sequences(frame)
        if rows == 0:
            return
        _backward(fields(frame), first, rows)
