"""Numba kernels of logistic regression: one pass over a sparse matrix by column, or over its rows.

A matrix of texts and features is stored by column (CSC): `starts` says where each feature begins in
`rows` and `values`. A pass reads the weights of the features one after the other, and in between
only numbers of the texts, one for each label, which fit into a cache where the weights would not.
"""

from typing import Any, no_type_check

import numpy as np

from ..jit import jit

Array = Any  # inside kernels, shapes are what `newton` says


@jit
@no_type_check
def by_column(
    offsets: Array, columns: Array, values: Array, starts: Array, rows: Array, sorted_values: Array
) -> None:
    """A matrix by row (CSR) to one by column, by counting sort; `starts` are those of columns."""
    places = starts.copy()
    for row in range(len(offsets) - 1):
        for entry in range(offsets[row], offsets[row + 1]):
            place = places[columns[entry]]
            places[columns[entry]] += 1
            rows[place] = row
            sorted_values[place] = values[entry]


@jit
@no_type_check
def add_products(starts: Array, rows: Array, values: Array, table: Array, out: Array) -> float:
    """out += X W, for weights W; the squared norm of W."""
    classes, square = table.shape[1], 0.0
    for feature in range(len(starts) - 1):
        for k in range(classes):
            square += table[feature, k] * table[feature, k]
        for entry in range(starts[feature], starts[feature + 1]):
            row, value = rows[entry], np.float64(values[entry])
            for k in range(classes):
                out[row, k] += value * table[feature, k]
    return square


@jit
@no_type_check
def descent(
    starts: Array,
    rows: Array,
    values: Array,
    slopes: Array,
    curvatures: Array,
    table: Array,
    penalty: float,
    residual: Array,
    scaling: Array,
) -> tuple[float, float]:
    """residual = -(X' slopes + penalty W); two squared norms, the second of scaled values.

    The scaling of a feature is the inverse of a diagonal of the Hessian: of the mean over labels.
    """
    classes, square, scaled = table.shape[1], 0.0, 0.0
    sums = np.empty(classes)
    for feature in range(len(starts) - 1):
        diagonal = penalty
        for k in range(classes):
            sums[k] = penalty * table[feature, k]
        for entry in range(starts[feature], starts[feature + 1]):
            row, value = rows[entry], np.float64(values[entry])
            diagonal += value * value * curvatures[row]
            for k in range(classes):
                sums[k] += value * slopes[row, k]
        scaling[feature] = 1 / diagonal
        for k in range(classes):
            residual[feature, k] = -sums[k]
            square += sums[k] * sums[k]
            scaled += sums[k] * sums[k] / diagonal
    return square, scaled


@jit
@no_type_check
def next_direction(
    starts: Array,
    rows: Array,
    values: Array,
    residual: Array,
    scaling: Array,
    share: float,
    direction: Array,
    out: Array,
) -> float:
    """direction = scaling * residual + share * direction, and out += X direction; its norm²."""
    classes, square = residual.shape[1], 0.0
    for feature in range(len(starts) - 1):
        for k in range(classes):
            value = scaling[feature] * residual[feature, k] + share * direction[feature, k]
            direction[feature, k] = value
            square += value * value
        for entry in range(starts[feature], starts[feature + 1]):
            row, value = rows[entry], np.float64(values[entry])
            for k in range(classes):
                out[row, k] += value * direction[feature, k]
    return square


@jit
@no_type_check
def advance(
    starts: Array,
    rows: Array,
    values: Array,
    bent: Array,
    direction: Array,
    penalty: float,
    size: float,
    step: Array,
    residual: Array,
    scaling: Array,
) -> float:
    """step += size * direction, residual -= size * Hessian direction; the scaled residual's norm².

    `bent` is the curvature of the loss times X direction: the Hessian is X' bent and the penalty.
    """
    classes, scaled = residual.shape[1], 0.0
    sums = np.empty(classes)
    for feature in range(len(starts) - 1):
        for k in range(classes):
            sums[k] = penalty * direction[feature, k]
        for entry in range(starts[feature], starts[feature + 1]):
            row, value = rows[entry], np.float64(values[entry])
            for k in range(classes):
                sums[k] += value * bent[row, k]
        for k in range(classes):
            step[feature, k] += size * direction[feature, k]
            left = residual[feature, k] - size * sums[k]
            residual[feature, k] = left
            scaled += left * left * scaling[feature]
    return scaled
