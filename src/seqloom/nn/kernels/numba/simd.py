"""Many numbers at once: a type for compiled steps, with sums, products, σ and tanh.

A processor takes eight float32 in one instruction, or sixteen. Numba's own loops come to that only
where it can prove that no two arrays overlap, and its exp never does; so the steps of the unrolls
say it. What they compile to is made for the machine they run on, by Numba's LLVM.

Addresses are integers, places are counted in numbers.
"""

import operator
from collections.abc import Callable
from typing import Any, no_type_check

import numpy as np
from llvmlite import binding, ir
from numba import types
from numba.extending import intrinsic, models, overload, register_model

from ....statistical.jit import compiled_as_written

WIDTH = 16 if binding.get_host_cpu_features().get("avx512f") else 8
NUMBER, BYTES = ir.FloatType(), 4
VECTOR = ir.VectorType(NUMBER, WIDTH)
WHOLE, WHOLES = ir.IntType(64), ir.VectorType(ir.IntType(32), WIDTH)
CONTRACT = ("contract",)  # a product and a sum may be one instruction; nothing else may change


class Vector(types.Type):
    """As many float32 side by side as a register holds."""

    def __init__(self) -> None:
        super().__init__(name=f"{WIDTH}_float32")


vector = Vector()


@register_model(Vector)
class VectorModel(models.PrimitiveModel):
    """In a register of the processor."""

    def __init__(self, manager: Any, kind: Any) -> None:
        super().__init__(manager, kind, VECTOR)


def pointer(builder: Any, base: Any, place: Any, kind: Any = VECTOR) -> Any:
    """Where the number `place` after `base` stands."""
    far = builder.mul(place, ir.Constant(WHOLE, BYTES))
    return builder.inttoptr(builder.add(base, far), kind.as_pointer())


def spread(builder: Any, number: Any) -> Any:
    """One number, in all places of a vector."""
    nothing = ir.Constant(VECTOR, ir.Undefined)
    first = builder.insert_element(nothing, number, ir.Constant(ir.IntType(32), 0))
    return builder.shuffle_vector(first, nothing, ir.Constant(WHOLES, [0] * WIDTH))


@intrinsic
def load(typing: Any, base: Any, place: Any) -> Any:
    """The numbers from a place on."""

    def made(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.load(pointer(builder, *arguments), align=BYTES)

    return vector(types.int64, types.int64), made


@intrinsic
def store(typing: Any, base: Any, place: Any, value: Any) -> Any:
    """Put the numbers to a place."""

    def made(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        base, place, value = arguments
        builder.store(value, pointer(builder, base, place), align=BYTES)
        return context.get_dummy_value()

    return types.void(types.int64, types.int64, vector), made


@intrinsic
def zeros(typing: Any) -> Any:
    """Nothing but 0."""

    def made(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return ir.Constant(VECTOR, [0.0] * WIDTH)

    return vector(), made


@intrinsic
def two_to(typing: Any, shifted: Any) -> Any:
    """2ⁿ, from n + SHIFT: n stands in the last bits of that, and goes to where exponents are."""

    def made(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        bits = builder.bitcast(arguments[0], WHOLES)
        moved = builder.shl(bits, ir.Constant(WHOLES, [23] * WIDTH))
        return builder.bitcast(builder.add(moved, ir.Constant(WHOLES, [127 << 23] * WIDTH)), VECTOR)

    return vector(vector), made


@intrinsic
def positive(typing: Any, x: Any) -> Any:
    """1 where x > 0, else 0."""

    def made(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        zero, one = (ir.Constant(VECTOR, [number] * WIDTH) for number in (0.0, 1.0))
        return builder.select(builder.fcmp_ordered(">", arguments[0], zero), one, zero)

    return vector(vector), made


@intrinsic
def rectified(typing: Any, x: Any) -> Any:
    """x, or 0 where it is below; NaN stays what it is."""

    def made(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        zero = ir.Constant(VECTOR, [0.0] * WIDTH)
        return builder.select(builder.fcmp_ordered("<", arguments[0], zero), zero, arguments[0])

    return vector(vector), made


@intrinsic
def within(typing: Any, x: Any, bound: Any) -> Any:
    """x, brought between -bound and bound; NaN stays what it is."""

    def made(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        x, high = arguments[0], spread(builder, arguments[1])
        low = spread(builder, builder.fneg(arguments[1]))
        x = builder.select(builder.fcmp_ordered(">", x, high), high, x)
        return builder.select(builder.fcmp_ordered("<", x, low), low, x)

    return vector(vector, types.float32), made


def _arithmetic(act: Callable[..., object], name: str) -> None:
    """Let compiled code write `act` between vectors, or a vector and a number."""

    @intrinsic
    def instruction(typing: Any, one: Any, other: Any) -> Any:
        def made(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            both = [
                value if kind == vector else spread(builder, value)
                for value, kind in zip(arguments, signature.args, strict=True)
            ]
            return getattr(builder, name)(*both, flags=CONTRACT)

        kinds = [kind if kind == vector else types.float32 for kind in (one, other)]
        return vector(*kinds), made

    @overload(act, inline="always")
    @no_type_check
    def between(one, other):
        if vector not in (one, other):
            return None
        return lambda one, other: instruction(one, other)


for _act, _name in (
    (operator.add, "fadd"),
    (operator.sub, "fsub"),
    (operator.mul, "fmul"),
    (operator.truediv, "fdiv"),
):
    _arithmetic(_act, _name)

ONE, TWO = np.float32(1), np.float32(2)
SHIFT = np.float32(1.5 * 2**23)  # added to a number it rounds it to a whole one
PER_LN_2 = np.float32(1.44269504)
LN_2_HIGH, LN_2_LOW = np.float32(0.693359375), np.float32(-2.12194440e-4)  # ln 2 in two parts
# (eʳ - 1 - r) / r² for |r| ≤ ln 2 / 2, to the last bit of a float32 (Moshier's coefficients)
C0, C1, C2, C3, C4, C5 = (
    np.float32(c)
    for c in (
        5.0000001201e-1,
        1.6666665459e-1,
        4.1665795894e-2,
        8.3334519073e-3,
        1.3981999507e-3,
        1.9875691500e-4,
    )
)
FAR = np.float32(87)  # beyond it e⁻ˣ leaves float32
FLAT = np.float32(9.2)  # beyond it tanh is 1


@compiled_as_written
@no_type_check
def _exponential(x):
    """2ⁿ and p with eˣ = 2ⁿ (1 + p), so that eˣ - 1 can be had without cancelling."""
    shifted = x * PER_LN_2 + SHIFT
    n = shifted - SHIFT
    r = x - n * LN_2_HIGH - n * LN_2_LOW
    tail = ((((C5 * r + C4) * r + C3) * r + C2) * r + C1) * r + C0
    return two_to(shifted), r + r * r * tail


@compiled_as_written
@no_type_check
def sigmoid(x):
    """1 / (1 + e⁻ˣ)."""
    power, p = _exponential(np.float32(0) - within(x, FAR))
    return ONE / (ONE + (power + power * p))


@compiled_as_written
@no_type_check
def tanh(x):
    """(e²ˣ - 1) / (e²ˣ + 1), to the last bits near 0 as well."""
    power, p = _exponential(within(x, FLAT) * TWO)
    grown = power * p + (power - ONE)
    return grown / (grown + TWO)
