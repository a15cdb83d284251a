"""The loops of a pass of Baum and Welch, for Numba.

Sums are kept as numbers, not in nats, and scaled up when they become small (Rabiner, 1989, V.A), so
that a place takes no exp and no log.
"""

from typing import Any, no_type_check

import numpy as np

from ..jit import compiled

SMALL = 1e-60  # when all numbers of a place are below this together, they are scaled up
Array = Any  # inside compiled functions shapes are what `expected` says


@compiled
@no_type_check
def multiply(vector: Array, matrix: Array, into: Array) -> None:
    """vector · matrix into an array, four rows at once."""
    count = len(vector)
    a, b, c, d = vector[0], vector[1], vector[2], vector[3]
    to_a, to_b, to_c, to_d = matrix[0], matrix[1], matrix[2], matrix[3]
    for j in range(count):
        into[j] = a * to_a[j] + b * to_b[j] + c * to_c[j] + d * to_d[j]
    for i in range(4, count, 4):
        a, b, c, d = vector[i], vector[i + 1], vector[i + 2], vector[i + 3]
        to_a, to_b, to_c, to_d = matrix[i], matrix[i + 1], matrix[i + 2], matrix[i + 3]
        for j in range(count):
            into[j] += a * to_a[j] + b * to_b[j] + c * to_c[j] + d * to_d[j]


@compiled
@no_type_check
def go_forward(
    first: Array, moves: Array, table: Array, which: Array, sums: Array, scales: Array
) -> float:
    """Forward sums, each place scaled by its own number; the log of what they were scaled by."""
    scaled, time = 0.0, len(which)
    for t in range(time):
        here, scores, total = sums[t], table[which[t]], 0.0
        if t:
            multiply(sums[t - 1], moves, here)
        else:
            here[:] = first
        for j in range(len(here)):
            here[j] *= scores[j]
            total += here[j]
        scales[t] = 1.0
        if total < SMALL:
            if total == 0.0:
                return -np.inf
            scales[t] = 1.0 / total
            scaled += np.log(total)
            for j in range(len(here)):
                here[j] *= scales[t]
    return scaled


@compiled
@no_type_check
def add_outer(before: Array, ahead: Array, into: Array) -> None:
    """Four places at once: into += Σ_t before_t ahead_tᵀ."""
    a, b, c, d = ahead[0], ahead[1], ahead[2], ahead[3]
    for i in range(into.shape[0]):
        w, x, y, z = before[0, i], before[1, i], before[2, i], before[3, i]
        row = into[i]
        for j in range(len(row)):
            row[j] += w * a[j] + x * b[j] + y * c[j] + z * d[j]


@compiled
@no_type_check
def go_back(
    columns: Array,
    table: Array,
    which: Array,
    sums: Array,
    scales: Array,
    after: Array,
    begun: Array,
    moved: Array,
    rows: Array,
) -> None:
    """Chances of moves and of states, from the last place to the first, added to what was counted.

    `after` is b_t at the last place, and is written over.
    """
    count, time = len(after), len(which)
    ahead, befores, held = np.zeros((4, count)), np.zeros((4, count)), 0
    for t in range(time - 1, -1, -1):
        here, symbol = sums[t], which[t]
        total = rows[symbol]
        scores, sent = table[symbol], ahead[held]
        for j in range(count):
            total[j] += here[j] * after[j]
            sent[j] = scores[j] * after[j] * scales[t]
        if t == 0:
            break
        befores[held, :] = sums[t - 1]
        multiply(sent, columns, after)
        held += 1
        if held == 4:
            add_outer(befores, ahead, moved)
            held = 0
    ahead[held:, :] = 0.0
    add_outer(befores, ahead, moved)
    for j in range(count):
        begun[j] += sums[0, j] * after[j]


@compiled
@no_type_check
def baum_welch(
    first: Array,
    moves: Array,
    columns: Array,
    last: Array,
    table: Array,
    which: Array,
    starts: Array,
) -> tuple[float, Array, Array, Array, Array]:
    """Log-likelihood, and how often each state began, moved, ended, and was at each row.

    Moves are counted without their own probability, which all of them have in common.
    """
    count, likelihood, longest = len(first), 0.0, 1
    begun, over = np.zeros(count), np.zeros(count)
    moved, rows = np.zeros((count, count)), np.zeros(table.shape)
    for s in range(len(starts) - 1):
        longest = max(longest, starts[s + 1] - starts[s])
    sums, scales = np.empty((longest, count)), np.empty(longest)
    after = np.empty(count)
    for s in range(len(starts) - 1):
        symbols = which[starts[s] : starts[s + 1]]
        if len(symbols) == 0:
            continue
        scaled = go_forward(first, moves, table, symbols, sums, scales)
        ending, total = sums[len(symbols) - 1], 0.0
        if scaled > -np.inf:
            for i in range(count):
                total += ending[i] * last[i]
        if not total > 0.0:
            likelihood = -np.inf
            continue
        likelihood += scaled + np.log(total)
        for i in range(count):
            after[i] = last[i] / total
            over[i] += ending[i] * after[i]
        go_back(columns, table, symbols, sums, scales, after, begun, moved, rows)
    return likelihood, begun, moved, over, rows
