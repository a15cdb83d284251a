"""The compiled steps of the GRU: no reset gate, or one after or before the product."""

from typing import no_type_check

from ....statistical.jit import compiled_as_written
from .matmul import add_product
from .simd import BYTES, ONE, load, sigmoid, store, tanh, zeros
from .threads import Kernel, copy_rows, fields, next_part, outer_at, place, put_outer, vectors

NONE, AFTER, BEFORE = 0, 1, 2
KINDS = {"none": NONE, "after": AFTER, "before": BEFORE}


@compiled_as_written
@no_type_check
def _open(f, room, gates, h, reset, rows):
    """r and z; with the reset before the product also r ⊙ h."""
    n, early = f.hidden, (f.blocks - 1) * f.hidden
    for row in range(rows):
        here, there = row * f.blocks * n, row * f.a_row
        for vector in range(vectors(early)):
            at = place(vector, early)
            store(gates, there + at, sigmoid(load(room, here + at)))
        if f.kind == BEFORE:
            for vector in range(vectors(n)):
                at = place(vector, n)
                store(reset, row * n + at, load(gates, there + at) * load(h, row * n + at))


@compiled_as_written
@no_type_check
def _mix(f, room, apart, gates, kept, h, new, rows):
    """n, and h' = (1 - z) ⊙ n + z ⊙ h."""
    n, early = f.hidden, (f.blocks - 1) * f.hidden
    for row in range(rows):
        here, there = row * f.blocks * n + early, row * f.a_row
        for vector in range(vectors(n)):
            at = place(vector, n)
            candidate = load(room, here + at)
            if f.kind == AFTER:
                store(kept, row * n + at, candidate)
                candidate = load(apart, row * n + at) + load(gates, there + at) * candidate
            candidate = tanh(candidate)
            z, old = load(gates, there + early - n + at), load(h, row * n + at)
            store(gates, there + early + at, candidate)
            store(new, row * n + at, candidate + z * (old - candidate))


@compiled_as_written
@no_type_check
def _forward(f, first, rows):
    """All steps of some sequences; the gates take the place of a.

    With the reset after the product, W x + b of the candidate stands apart from U h + d, which
    `kept` keeps; with the reset before it, r ⊙ h stands there.
    """
    n, wide = f.hidden, f.blocks * f.hidden
    room, apart = f.room + BYTES * first * wide, f.more_room + BYTES * first * n
    early = wide - n
    for t in range(f.time):
        step = BYTES * (t * f.batch + first) * n
        gates = f.a + BYTES * (t * f.a_step + first * f.a_row)
        h = f.h + step
        copy_rows(gates, f.a_row, room, wide, rows, wide)
        if f.kind == AFTER:
            copy_rows(room + BYTES * early, wide, apart, n, rows, n)
            copy_rows(f.bias, 0, room + BYTES * early, wide, rows, n)
        add_product(h, n, rows, f.weight, (n, early if f.kind == BEFORE else wide), room, wide)
        _open(f, room, gates, h, apart, rows)
        if f.kind == BEFORE:
            add_product(apart, n, rows, f.late_weight, (n, n), room + BYTES * early, wide)
        _mix(f, room, apart, gates, f.kept + step, h, h + BYTES * f.batch * n, rows)


@compiled_as_written
@no_type_check
def _back_to_gates(f, gates, h, kept, late, dh, grad, rows):
    """The gradients of z and n, with the reset after the product also those of r and of U h + d."""
    n, early = f.hidden, (f.blocks - 1) * f.hidden
    for row in range(rows):
        here, there = row * f.blocks * n, row * f.a_row
        for vector in range(vectors(n)):
            at = place(vector, n)
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


@compiled_as_written
@no_type_check
def _back_to_state(f, t, first, gates, h, inner, late, dh, grad, target, rows):
    """What goes straight to h: by z, by the reset before the product, and from outside."""
    n, early = f.hidden, (f.blocks - 1) * f.hidden
    for row in range(rows):
        here, there = row * f.blocks * n, row * f.a_row
        for vector in range(vectors(n)):
            at = place(vector, n)
            kept = load(dh, row * n + at) * load(gates, there + early - n + at)
            total = kept + outer_at(f, t - 1, first + row, at)
            if f.kind == BEFORE:
                back, old = load(inner, row * n + at), load(h, row * n + at)
                r = load(gates, there + at)
                store(grad, here + at, back * old * r * (ONE - r))
                store(late, row * n + at, r * old)
                total = total + back * r
            store(target, row * n + at, total)


@compiled_as_written
@no_type_check
def _zero(target, rows, width):
    for vector in range(vectors(rows * width)):
        store(target, place(vector, rows * width), zeros())


@compiled_as_written
@no_type_check
def _backward(f, first, rows):
    """`grad` takes the gradients of the gates, `dh` that of the state.

    `late` takes the gradient of U h + d, or r ⊙ h where that is what U was multiplied with.
    """
    n, wide = f.hidden, f.blocks * f.hidden
    early, above = wide - n, BYTES * first * n
    dh, other, inner = f.dh + above, f.room + above, f.more_room + above
    put_outer(f, f.time - 1, first, rows, dh)
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
        dh, other = other, dh
    if f.time % 2:
        copy_rows(dh, n, other, n, rows, n)


@Kernel
@no_type_check
def forward(frame):
    """Fill `h` from its first step on, and put the gates in the place of `a`."""
    while True:
        first, rows = next_part(frame)
        if rows == 0:
            return
        _forward(fields(frame), first, rows)


@Kernel
@no_type_check
def backward(frame):
    """Fill `grad` and `late`; `dh` ends with the gradient of the first state."""
    while True:
        first, rows = next_part(frame)
        if rows == 0:
            return
        _backward(fields(frame), first, rows)
