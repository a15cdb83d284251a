"""Compiled steps of the Kalman filter: numbers are seen one after another.

Koopman and Durbin (2000): a row of p numbers with independent errors is p rows of one number, and
no matrix is inverted. Errors that are not independent are made so by the lower triangle of
R = L D Lᵀ: L⁻¹ x has errors D and is shown by L⁻¹ C. A number that is missing is a row less.

Each array is an argument of its own: tuples of them are counted, one by one, at every call.
"""

from math import log, pi
from typing import Any, no_type_check

import numpy as np

from ..compiled import compiled_inside
from .products import dot_rows, onto_row

Array = Any  # inside compiled functions shapes are what `laid` says
NOTHING = 1e-13  # a variance that is so small a share of what it is the difference of is 0
NEGATIVE = 1e-6  # one that is below 0 by so much is no variance
DIFFUSE = 1e-10  # a diffuse variance so small is none
LOG_2PI = log(2 * pi)


@compiled_inside
@no_type_check
def gathered(values: Array, t: int, where: Array, out: Array, before: int) -> tuple[int, bool]:
    """The numbers of step t that are not missing; how many, and whether the same as before."""
    count, is_same = 0, True
    for i in range(values.shape[1]):
        if not np.isnan(values[t, i]):
            is_same = is_same and count < before and where[count] == i
            where[count] = i
            out[count] = values[t, i]
            count += 1
    return count, is_same and count == before


@compiled_inside
@no_type_check
def arranged(
    observation: Array,
    error: Array,
    is_diagonal: bool,
    where: Array,
    count: int,
    show: Array,
    sizes: Array,
    factor: Array,
) -> None:
    """What shows these numbers and how large their errors are, made independent."""
    for i in range(count):
        sizes[i] = error[where[i], where[i]]
        for k in range(observation.shape[1]):
            show[i, k] = observation[where[i], k]
    if is_diagonal:
        return
    for j in range(count):
        _factorise(error, where, count, j, sizes, factor)
    for i in range(count):
        for j in range(i):
            for k in range(observation.shape[1]):
                show[i, k] -= factor[i, j] * show[j, k]


@compiled_inside
@no_type_check
def _factorise(error: Array, where: Array, count: int, j: int, sizes: Array, factor: Array) -> None:
    """Column j of L, and number j of D."""
    for m in range(j):
        sizes[j] -= factor[j, m] ** 2 * sizes[m]
    if sizes[j] < NOTHING * error[where[j], where[j]]:
        sizes[j] = 0.0
    for i in range(j + 1, count):
        total = error[where[i], where[j]]
        for m in range(j):
            total -= factor[i, m] * factor[j, m] * sizes[m]
        factor[i, j] = total / sizes[j] if sizes[j] > 0.0 else 0.0


@compiled_inside
@no_type_check
def made_independent(values: Array, count: int, factor: Array) -> None:
    """L⁻¹ x."""
    for i in range(count):
        for j in range(i):
            values[i] -= factor[i, j] * values[j]


@compiled_inside
@no_type_check
def observe_one(
    show: Array, error: float, value: float, i: int, mean: Array, covariance: Array, gains: Array
) -> tuple[float, float]:
    """See number i; F and v. F is 0 where nothing is to be learned, NaN where it is negative.

    M = P c,  F = cᵀ M + r,  v = x - cᵀ a,  a += M v / F,  P -= M Mᵀ / F
    """
    states = len(mean)
    onto_row(covariance, show, i, gains)
    size, whole, residual = error, error, value
    for k in range(states):
        size += show[i, k] * gains[i, k]
        whole += show[i, k] * show[i, k] * covariance[k, k]
        residual -= show[i, k] * mean[k]
    if size <= NOTHING * whole or size <= 0.0:
        return (np.nan if size < -NEGATIVE * whole else 0.0), residual
    inverse = 1.0 / size
    for j in range(states):
        share = gains[i, j] * inverse
        mean[j] += share * residual
        for k in range(states):
            covariance[j, k] -= share * gains[i, k]
    return size, residual


@compiled_inside
@no_type_check
def observe(
    show: Array,
    errors: Array,
    values: Array,
    count: int,
    mean: Array,
    covariance: Array,
    gains: Array,
    sizes: Array,
    residuals: Array,
) -> tuple[float, float]:
    """See all numbers of a step; Σ log 2πF and Σ v² / F, NaN where a variance is negative."""
    logs, squares = 0.0, 0.0
    for i in range(count):
        size, residual = observe_one(show, errors[i], values[i], i, mean, covariance, gains)
        sizes[i], residuals[i] = size, residual
        if size != 0.0:
            logs += LOG_2PI + log(size)
            squares += residual * residual / size
    return logs, squares


@compiled_inside
@no_type_check
def observe_diffuse(
    show: Array,
    errors: Array,
    values: Array,
    count: int,
    mean: Array,
    covariance: Array,
    gains: Array,
    sizes: Array,
    residuals: Array,
    diffuse: Array,
    rank: int,
    far: Array,
    spreads: Array,
) -> tuple[float, int]:
    """The same while the covariance is P + κ P∞ and κ grows without bound.

    Gives Σ (log 2πF + v² / F), in which a number by which the diffuse part becomes known counts
    with log 2πF∞ alone, and the rank that is left of P∞.
    """
    total = 0.0
    for i in range(count):
        onto_row(diffuse, show, i, far)
        spread = dot_rows(show, far, i)
        if rank == 0 or spread <= DIFFUSE * dot_rows(show, show, i):
            size, residual = observe_one(show, errors[i], values[i], i, mean, covariance, gains)
            sizes[i], residuals[i], spreads[i] = size, residual, 0.0
            if size != 0.0:
                total += LOG_2PI + log(size) + residual * residual / size
            continue
        onto_row(covariance, show, i, gains)
        rank -= 1
        spreads[i], sizes[i] = spread, dot_rows(show, gains, i) + errors[i]
        residuals[i] = values[i]
        for k in range(len(mean)):
            residuals[i] -= show[i, k] * mean[k]
        _take_diffuse(gains, far, i, sizes[i], spread, residuals[i], mean, covariance)
        _shrink(far, i, spread, rank, diffuse)
        total += LOG_2PI + log(spread)
    return total, rank


@compiled_inside
@no_type_check
def _take_diffuse(
    gains: Array,
    far: Array,
    i: int,
    size: float,
    spread: float,
    residual: float,
    mean: Array,
    covariance: Array,
) -> None:
    """A += M∞ v / F∞,  P += M∞ M∞ᵀ F / F∞² - (M M∞ᵀ + M∞ Mᵀ) / F∞."""
    for j in range(len(mean)):
        share = far[i, j] / spread
        mean[j] += share * residual
        for k in range(len(mean)):
            other = far[i, k] / spread
            covariance[j, k] += share * other * size - gains[i, j] * other - share * gains[i, k]


@compiled_inside
@no_type_check
def _shrink(far: Array, i: int, spread: float, rank: int, diffuse: Array) -> None:
    """P∞ -= M∞ M∞ᵀ / F∞; nothing but rounding is left once its rank is 0."""
    for j in range(len(diffuse)):
        for k in range(len(diffuse)):
            diffuse[j, k] -= far[i, j] * far[i, k] / spread
            if rank == 0:
                diffuse[j, k] = 0.0
