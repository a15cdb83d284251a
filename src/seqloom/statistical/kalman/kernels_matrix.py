"""Compiled products of small matrices, in an order that processors like."""

from typing import Any, no_type_check

from ..jit import compiled_inside

Array = Any  # inside compiled functions shapes are what the loops that call them say


@compiled_inside
@no_type_check
def multiply(one: Array, two: Array, out: Array) -> None:
    """Out = one two; two rows at a time, four numbers of each, so that little is loaded twice."""
    rows, inner = one.shape
    blocks = inner // 4 * 4
    for i in range(0, rows, 2):
        other = min(i + 1, rows - 1)
        for j in range(two.shape[1]):
            out[i, j] = 0.0
            out[other, j] = 0.0
        for k in range(blocks, inner):
            a, e = one[i, k], one[other, k]
            for j in range(two.shape[1]):
                out[i, j] += a * two[k, j]
                if other > i:
                    out[other, j] += e * two[k, j]
        for k in range(0, blocks, 4):
            _add_block(one, two, out, i, other, k)


@compiled_inside
@no_type_check
def _add_block(one: Array, two: Array, out: Array, i: int, other: int, k: int) -> None:
    a, b, c, d = one[i, k], one[i, k + 1], one[i, k + 2], one[i, k + 3]
    e, f, g, h = one[other, k], one[other, k + 1], one[other, k + 2], one[other, k + 3]
    if other == i:
        e = f = g = h = 0.0
    for j in range(two.shape[1]):
        w, x, y, z = two[k, j], two[k + 1, j], two[k + 2, j], two[k + 3, j]
        first = out[i, j] + a * w + b * x + c * y + d * z
        second = out[other, j] + e * w + f * x + g * y + h * z
        out[other, j] = second
        out[i, j] = first


@compiled_inside
@no_type_check
def turned(matrix: Array, out: Array) -> None:
    """Out = the transpose."""
    for i in range(matrix.shape[0]):
        for j in range(matrix.shape[1]):
            out[j, i] = matrix[i, j]


@compiled_inside
@no_type_check
def onto(matrix: Array, vector: Array, out: Array) -> None:
    """Out = matrix vector."""
    for i in range(matrix.shape[0]):
        total = 0.0
        for j in range(matrix.shape[1]):
            total += matrix[i, j] * vector[j]
        out[i] = total


@compiled_inside
@no_type_check
def onto_row(matrix: Array, rows: Array, i: int, out: Array) -> None:
    """Row i of out = matrix times row i of rows, by the matrix's rows: what is 0 takes no time."""
    size = rows.shape[1]
    for j in range(size):
        out[i, j] = 0.0
    for k in range(0, size - 3, 4):
        a, b, c, d = rows[i, k], rows[i, k + 1], rows[i, k + 2], rows[i, k + 3]
        if a != 0.0 or b != 0.0 or c != 0.0 or d != 0.0:
            for j in range(size):
                out[i, j] += (
                    a * matrix[k, j]
                    + b * matrix[k + 1, j]
                    + c * matrix[k + 2, j]
                    + d * matrix[k + 3, j]
                )
    for k in range(size // 4 * 4, size):
        if rows[i, k] != 0.0:
            for j in range(size):
                out[i, j] += rows[i, k] * matrix[k, j]


@compiled_inside
@no_type_check
def dot_rows(one: Array, two: Array, i: int) -> float:
    """The sum of products of two rows i."""
    total = 0.0
    for k in range(one.shape[1]):
        total += one[i, k] * two[i, k]
    return total


@compiled_inside
@no_type_check
def copied(matrix: Array, out: Array) -> None:
    """Out = matrix."""
    for i in range(matrix.shape[0]):
        for j in range(matrix.shape[1]):
            out[i, j] = matrix[i, j]


@compiled_inside
@no_type_check
def around(outer: Array, outer_turned: Array, matrix: Array, half: Array, out: Array) -> None:
    """Out = outer matrix outerᵀ, the matrix being symmetric; exactly symmetric."""
    multiply(matrix, outer_turned, half)
    multiply(outer, half, out)
    even_out(out)


@compiled_inside
@no_type_check
def even_out(matrix: Array) -> None:
    """Make a matrix that is symmetric but for rounding exactly so."""
    for i in range(len(matrix)):
        for j in range(i):
            mean = 0.5 * (matrix[i, j] + matrix[j, i])
            matrix[i, j] = mean
            matrix[j, i] = mean


@compiled_inside
@no_type_check
def is_same(one: Array, two: Array, share: float) -> bool:
    """Whether two covariances differ by less than this share of their own size."""
    for i in range(len(one)):
        for j in range(i + 1):
            difference = one[i, j] - two[i, j]
            if difference * difference > share * share * abs(one[i, i] * one[j, j]):
                return False
    return True
