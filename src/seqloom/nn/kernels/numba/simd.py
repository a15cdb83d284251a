"""SIMD vectors for Numba: a vector type with arithmetic, σ, tanh and ReLU.

A processor computes eight float32 in one instruction (AVX2), or sixteen (AVX-512). Numba's loops
come to that only where LLVM can prove that no two arrays overlap, and never for exp; so the kernels
use vectors explicitly. They are compiled for the machine they run on.

Addresses are integers in bytes, positions are counted in float32 elements.
"""

import operator
from collections.abc import Callable
from typing import Any, no_type_check

import numpy as np
from llvmlite import binding, ir
from numba import types
from numba.extending import intrinsic, models, overload, register_model

from ....statistical.jit import jit_strict

WIDTH = 16 if binding.get_host_cpu_features().get("avx512f") else 8
FLOAT, BYTES = ir.FloatType(), 4
VECTOR = ir.VectorType(FLOAT, WIDTH)
INT64, INT32S = ir.IntType(64), ir.VectorType(ir.IntType(32), WIDTH)
# A product and a sum may become one instruction (FMA). No other fast-math flag: reassociation would
# optimise away the rounding to an integer in the exponential.
CONTRACT = ("contract",)


class Vector(types.Type):
    """The Numba type of a SIMD vector of float32."""

    def __init__(self) -> None:
        super().__init__(name=f"{WIDTH}_float32")


vector = Vector()


@register_model(Vector)
class VectorModel(models.PrimitiveModel):
    """Represented by an LLVM vector: a register of the processor."""

    def __init__(self, manager: Any, kind: Any) -> None:
        super().__init__(manager, kind, VECTOR)


def pointer(builder: Any, base: Any, position: Any, kind: Any = VECTOR) -> Any:
    """A pointer to the element `position` after the address `base`."""
    distance = builder.mul(position, ir.Constant(INT64, BYTES))
    return builder.inttoptr(builder.add(base, distance), kind.as_pointer())


def broadcast(builder: Any, number: Any) -> Any:
    """A vector with one number in all lanes."""
    nothing = ir.Constant(VECTOR, ir.Undefined)
    first = builder.insert_element(nothing, number, ir.Constant(ir.IntType(32), 0))
    return builder.shuffle_vector(first, nothing, ir.Constant(INT32S, [0] * WIDTH))


@intrinsic
def load(typing: Any, base: Any, position: Any) -> Any:
    """Load the vector that begins at a position."""

    def made(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        # Aligned to one element only: rows begin anywhere, and unaligned loads cost no more.
        return builder.load(pointer(builder, *arguments), align=BYTES)

    return vector(types.int64, types.int64), made


@intrinsic
def store(typing: Any, base: Any, position: Any, value: Any) -> Any:
    """Store a vector at a position."""

    def made(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        base, position, value = arguments
        builder.store(value, pointer(builder, base, position), align=BYTES)
        return context.get_dummy_value()

    return types.void(types.int64, types.int64, vector), made


@intrinsic
def zeros(typing: Any) -> Any:
    """A vector of zeros."""

    def made(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return ir.Constant(VECTOR, [0.0] * WIDTH)

    return vector(), made


@intrinsic
def power_of_two(typing: Any, shifted: Any) -> Any:
    """2ⁿ, from n + SHIFT, whose last bits are n: moved to the exponent field of a float32."""

    def made(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        bits = builder.bitcast(arguments[0], INT32S)
        moved = builder.shl(bits, ir.Constant(INT32S, [23] * WIDTH))  # 23 bits of mantissa
        bias = ir.Constant(INT32S, [127 << 23] * WIDTH)
        return builder.bitcast(builder.add(moved, bias), VECTOR)

    return vector(vector), made


@intrinsic
def is_positive(typing: Any, x: Any) -> Any:
    """1 where x > 0, else 0: the derivative of ReLU."""

    def made(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        zero, one = (ir.Constant(VECTOR, [number] * WIDTH) for number in (0.0, 1.0))
        return builder.select(builder.fcmp_ordered(">", arguments[0], zero), one, zero)

    return vector(vector), made


@intrinsic
def relu(typing: Any, x: Any) -> Any:
    """max(x, 0); NaN stays NaN, so that a diverging training is noticed."""

    def made(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        zero = ir.Constant(VECTOR, [0.0] * WIDTH)
        return builder.select(builder.fcmp_ordered("<", arguments[0], zero), zero, arguments[0])

    return vector(vector), made


@intrinsic
def clamp(typing: Any, x: Any, bound: Any) -> Any:
    """x, clamped to ±bound; NaN stays NaN."""

    def made(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        x, high = arguments[0], broadcast(builder, arguments[1])
        low = broadcast(builder, builder.fneg(arguments[1]))
        x = builder.select(builder.fcmp_ordered(">", x, high), high, x)
        return builder.select(builder.fcmp_ordered("<", x, low), low, x)

    return vector(vector, types.float32), made


def _arithmetic(act: Callable[..., object], name: str) -> None:
    """Define `act` for two vectors, or for a vector and a number, in compiled code."""

    @intrinsic
    def instruction(typing: Any, one: Any, other: Any) -> Any:
        def made(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            both = [
                value if kind == vector else broadcast(builder, value)
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
# Added to a float32 it leaves no bits for a fraction: x + SHIFT - SHIFT rounds x to an integer.
SHIFT = np.float32(1.5 * 2**23)
PER_LN_2 = np.float32(1.44269504)
# ln 2 in two parts, the first with few bits: n times it is exact (Cody and Waite).
LN_2_HIGH, LN_2_LOW = np.float32(0.693359375), np.float32(-2.12194440e-4)
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
EXP_LIMIT = np.float32(87)  # beyond it e⁻ˣ leaves the range of float32
TANH_LIMIT = np.float32(9.2)  # beyond it tanh is 1 in float32


@jit_strict
@no_type_check
def _exponential(x):
    """2ⁿ and p with eˣ = 2ⁿ (1 + p), so that eˣ - 1 can be had without cancellation.

    x = n ln 2 + r with |r| ≤ ln 2 / 2, and p = eʳ - 1 by a polynomial in r.
    """
    shifted = x * PER_LN_2 + SHIFT
    n = shifted - SHIFT
    r = x - n * LN_2_HIGH - n * LN_2_LOW
    tail = ((((C5 * r + C4) * r + C3) * r + C2) * r + C1) * r + C0
    return power_of_two(shifted), r + r * r * tail


@jit_strict
@no_type_check
def exp(x):
    """eˣ, from e⁻⁸⁷ to e⁸⁷."""
    power, p = _exponential(clamp(x, EXP_LIMIT))
    return power + power * p


@jit_strict
@no_type_check
def sigmoid(x):
    """1 / (1 + e⁻ˣ)."""
    return ONE / (ONE + exp(np.float32(0) - x))


@jit_strict
@no_type_check
def tanh(x):
    """(e²ˣ - 1) / (e²ˣ + 1), accurate near 0 as well, where e²ˣ - 1 would cancel."""
    power, p = _exponential(clamp(x, TANH_LIMIT) * TWO)
    expm1 = power * p + (power - ONE)
    return expm1 / (expm1 + TWO)
