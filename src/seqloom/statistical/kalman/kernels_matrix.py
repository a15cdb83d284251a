"""Numba kernels of products of small matrices: matmul, A P Aᵀ, transpose, and tests of equality.

State-space matrices have 1 to some dozens of rows. At that size a call of BLAS costs more than its
arithmetic, so products are plain loops, ordered so that LLVM vectorises the innermost one along
contiguous rows.
"""

from typing import Any, no_type_check

from ..jit import jit_internal

Array = Any  # inside kernels, shapes are what their callers say


@jit_internal
@no_type_check
def matmul(one: Array, two: Array, out: Array) -> None:
    """out = one two, in blocks of two rows of `one` and four rows of `two`.

    A block loads four rows of `two` once for two rows of `out`, and each row of `out` once for four
    products: without it the loop is bound by loads, not by arithmetic.
    """
    rows, inner = one.shape
    blocks = inner // 4 * 4
    for i in range(0, rows, 2):
        other = min(i + 1, rows - 1)  # the last row of an odd number has no partner but itself
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


@jit_internal
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
        # Both sums are read before either is written, and row i is written last: a row without a
        # partner (other == i) then keeps `first`.
        out[other, j] = second
        out[i, j] = first


@jit_internal
@no_type_check
def transpose(matrix: Array, out: Array) -> None:
    """out = matrixᵀ."""
    for i in range(matrix.shape[0]):
        for j in range(matrix.shape[1]):
            out[j, i] = matrix[i, j]


@jit_internal
@no_type_check
def matvec(matrix: Array, vector: Array, out: Array) -> None:
    """out = matrix vector."""
    for i in range(matrix.shape[0]):
        total = 0.0
        for j in range(matrix.shape[1]):
            total += matrix[i, j] * vector[j]
        out[i] = total


@jit_internal
@no_type_check
def symmetric_matvec(matrix: Array, rows: Array, i: int, out: Array) -> None:
    """out[i] = matrix rows[i], for a symmetric matrix.

    As the matrix is symmetric, the product is a sum of its rows, which are contiguous. Rows of
    observation matrices are mostly zeros in structural models: blocks of four zeros are skipped.
    """
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


@jit_internal
@no_type_check
def dot_rows(one: Array, two: Array, i: int) -> float:
    """Dot product of row i of both."""
    total = 0.0
    for k in range(one.shape[1]):
        total += one[i, k] * two[i, k]
    return total


@jit_internal
@no_type_check
def copy(matrix: Array, out: Array) -> None:
    """out = matrix."""
    for i in range(matrix.shape[0]):
        for j in range(matrix.shape[1]):
            out[i, j] = matrix[i, j]


@jit_internal
@no_type_check
def sandwich(outer: Array, outer_transposed: Array, matrix: Array, half: Array, out: Array) -> None:
    """out = outer matrix outerᵀ for a symmetric matrix; `out` may be `matrix`."""
    matmul(matrix, outer_transposed, half)
    matmul(outer, half, out)
    symmetrise(out)


@jit_internal
@no_type_check
def symmetrise(matrix: Array) -> None:
    """Make a matrix exactly symmetric that is so but for rounding.

    Without this the asymmetry of each step feeds the next, and over thousands of steps a covariance
    can lose its positive eigenvalues.
    """
    for i in range(len(matrix)):
        for j in range(i):
            mean = 0.5 * (matrix[i, j] + matrix[j, i])
            matrix[i, j] = mean
            matrix[j, i] = mean


@jit_internal
@no_type_check
def is_close(one: Array, two: Array, tolerance: float) -> bool:
    """Whether two covariances differ by less than a fraction of their own size.

    |ΔP_ij| is compared with √(P_ii P_jj), so that the units of the states do not matter.
    """
    for i in range(len(one)):
        for j in range(i + 1):
            difference = one[i, j] - two[i, j]
            if difference * difference > tolerance * tolerance * abs(one[i, i] * one[j, j]):
                return False
    return True
