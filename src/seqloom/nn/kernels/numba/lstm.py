"""The compiled steps of the LSTM, with or without a forget gate and peepholes."""

from typing import no_type_check

from ....statistical.jit import compiled_as_written
from .matmul import add_product
from .simd import BYTES, ONE, load, sigmoid, store, tanh
from .threads import Kernel, copy_rows, fields, next_part, place, put_outer, vectors

BLIND, FULL, DIAGONAL = 0, 1, 2  # what the gates see of the memory
KINDS = {0: BLIND, 2: DIAGONAL, 3: FULL}  # by how many dimensions the peepholes' weights have
FORGETS = 4  # blocks; without a forget gate there are three


@compiled_as_written
@no_type_check
def _remember(f, room, gates, old, new, rows):
    """c' = f ⊙ c + i ⊙ g, from what `room` holds for the gates."""
    n = f.hidden
    for row in range(rows):
        here, there = row * f.blocks * n, row * f.a_row
        for vector in range(vectors(n)):
            at = place(vector, n)
            c, i = load(old, row * n + at), load(room, here + at)
            if f.kind == DIAGONAL:
                i = i + c * load(f.peep, at)
            i, g = sigmoid(i), tanh(load(room, here + (f.blocks - 2) * n + at))
            store(gates, there + at, i)
            store(gates, there + (f.blocks - 2) * n + at, g)
            if f.blocks == FORGETS:
                forget = load(room, here + n + at)
                if f.kind == DIAGONAL:
                    forget = forget + c * load(f.peep, n + at)
                forget = sigmoid(forget)
                store(gates, there + n + at, forget)
                c = c * forget
            store(new, row * n + at, c + i * g)


@compiled_as_written
@no_type_check
def _tell(f, room, gates, memory, bent, output, rows):
    """h' = o ⊙ tanh(c')."""
    n = f.hidden
    last = (f.blocks - 1) * n
    for row in range(rows):
        for vector in range(vectors(n)):
            at = place(vector, n)
            c, o = load(memory, row * n + at), load(room, row * f.blocks * n + last + at)
            if f.kind == DIAGONAL:
                o = o + c * load(f.peep, 2 * n + at)
            o, c = sigmoid(o), tanh(c)
            store(gates, row * f.a_row + last + at, o)
            store(bent, row * n + at, c)
            store(output, row * n + at, o * c)


@compiled_as_written
@no_type_check
def _forward(f, first, rows):
    """All steps of some sequences; the gates take the place of a."""
    n, wide = f.hidden, f.blocks * f.hidden
    room, onward = f.room + BYTES * first * wide, BYTES * f.batch * n
    for t in range(f.time):
        step = BYTES * (t * f.batch + first) * n
        gates = f.a + BYTES * (t * f.a_step + first * f.a_row)
        h, c = f.h + step, f.c + step
        copy_rows(gates, f.a_row, room, wide, rows, wide)
        add_product(h, n, rows, f.weight, (n, wide), room, wide)
        if f.kind == FULL:
            add_product(c, n, rows, f.early_weight, (n, 2 * n), room, wide)
        _remember(f, room, gates, c, c + onward, rows)
        if f.kind == FULL:
            late = room + BYTES * (wide - n)
            add_product(c + onward, n, rows, f.late_weight, (n, n), late, wide)
        _tell(f, room, gates, c + onward, f.kept + step, h + onward, rows)


@compiled_as_written
@no_type_check
def _back_to_memory(f, gates, bent, dh, dc, grad, whole, rows):
    """The gradient of o, and in `whole` that of c': what later steps and the output give to it."""
    n = f.hidden
    last = (f.blocks - 1) * n
    for row in range(rows):
        for vector in range(vectors(n)):
            at = place(vector, n)
            o, told = load(gates, row * f.a_row + last + at), load(bent, row * n + at)
            outer, c = load(dh, row * n + at), load(dc, row * n + at)
            d_o = outer * told * o * (ONE - o)
            c = c + outer * o * (ONE - told * told)
            if f.kind == DIAGONAL:
                c = c + d_o * load(f.peep, 2 * n + at)
            store(grad, row * f.blocks * n + last + at, d_o)
            store(whole, row * n + at, c)


@compiled_as_written
@no_type_check
def _back_to_gates(f, gates, memory, whole, grad, dc, rows):
    """The gradients of i, f and g, and that of c."""
    n, new = f.hidden, (f.blocks - 2) * f.hidden
    for row in range(rows):
        here, there = row * f.blocks * n, row * f.a_row
        for vector in range(vectors(n)):
            at = place(vector, n)
            i, g = load(gates, there + at), load(gates, there + new + at)
            c = load(whole, row * n + at)
            d_i = c * g * i * (ONE - i)
            store(grad, here + at, d_i)
            store(grad, here + new + at, c * i * (ONE - g * g))
            if f.blocks == FORGETS:
                forget = load(gates, there + n + at)
                d_f = c * load(memory, row * n + at) * forget * (ONE - forget)
                store(grad, here + n + at, d_f)
                c = c * forget
                if f.kind == DIAGONAL:
                    c = c + d_i * load(f.peep, at) + d_f * load(f.peep, n + at)
            store(dc, row * n + at, c)


@compiled_as_written
@no_type_check
def _backward(f, first, rows):
    """`grad` takes the gradients of the gates, `dh` and `dc` those of the state."""
    n, wide = f.hidden, f.blocks * f.hidden
    dh, dc = f.dh + BYTES * first * n, f.dc + BYTES * first * n
    whole = f.room + BYTES * first * n
    put_outer(f, f.time - 1, first, rows, dh)
    for t in range(f.time - 1, -1, -1):
        sequence = t * f.batch + first
        step, grad = BYTES * sequence * n, f.grad + BYTES * sequence * wide
        gates = f.a + BYTES * (t * f.a_step + first * f.a_row)
        _back_to_memory(f, gates, f.kept + step, dh, dc, grad, whole, rows)
        if f.kind == FULL:
            late = grad + BYTES * (wide - n)
            add_product(late, wide, rows, f.late_weight, (n, n), whole, n)
        _back_to_gates(f, gates, f.c + step, whole, grad, dc, rows)
        if f.kind == FULL:
            add_product(grad, wide, rows, f.early_weight, (2 * n, n), dc, n)
        put_outer(f, t - 1, first, rows, dh)
        add_product(grad, wide, rows, f.weight, (wide, n), dh, n)


@Kernel
@no_type_check
def forward(frame):
    """Fill `h`, `c` and `kept`, and put the gates in the place of `a`."""
    while True:
        first, rows = next_part(frame)
        if rows == 0:
            return
        _forward(fields(frame), first, rows)


@Kernel
@no_type_check
def backward(frame):
    """Fill `grad`; `dh` and `dc` end with the gradients of the first state."""
    while True:
        first, rows = next_part(frame)
        if rows == 0:
            return
        _backward(fields(frame), first, rows)
