"""Numba kernels of one Baum-Welch E-step over tokens: scaled forward-backward (Rabiner, 1989, V.A).

Sums are kept as probabilities, not in nats, and scaled up when they become small, so that a
position takes no exp and no log. Emission scores come from a table with one row for each token.
"""

from typing import Any, no_type_check

import numpy as np

from ..jit import jit

# Rabiner rescales at every position; here only when the sum falls below this, which saves nearly
# all divisions and logs. Numbers 1e-200 times smaller than such a sum are still normal doubles.
SMALL = 1e-60
REACHED = 1e-300  # a forward sum below this is 0: its reciprocal, the largest β, is a number
Array = Any  # inside kernels, shapes are what `compiled.expected_counts` says


@jit
@no_type_check
def vector_matrix(vector: Array, matrix: Array, out: Array) -> None:
    """vector · matrix; the number of rows is a multiple of 4.

    Four rows at once, so that `out` is loaded and stored once for four; the inner loop runs along
    contiguous rows. The first four overwrite `out`, which saves a pass that sets it to 0.
    """
    count = len(vector)
    a, b, c, d = vector[0], vector[1], vector[2], vector[3]
    to_a, to_b, to_c, to_d = matrix[0], matrix[1], matrix[2], matrix[3]
    for j in range(count):
        out[j] = a * to_a[j] + b * to_b[j] + c * to_c[j] + d * to_d[j]
    for i in range(4, count, 4):
        a, b, c, d = vector[i], vector[i + 1], vector[i + 2], vector[i + 3]
        to_a, to_b, to_c, to_d = matrix[i], matrix[i + 1], matrix[i + 2], matrix[i + 3]
        for j in range(count):
            out[j] += a * to_a[j] + b * to_b[j] + c * to_c[j] + d * to_d[j]


@jit
@no_type_check
def forward(
    first: Array, transitions: Array, table: Array, index: Array, sums: Array, scales: Array
) -> float:
    """Scaled forward sums of one sequence; the log of all scaling, or -inf if it is impossible.

    α_t(j) = scale_t e_t(j) Σ_i α_{t-1}(i) transitions(i, j), with `scales` the factors scale_t.
    """
    scaled, time = 0.0, len(index)
    for t in range(time):
        here, scores, total = sums[t], table[index[t]], 0.0
        if t:
            vector_matrix(sums[t - 1], transitions, here)
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


@jit
@no_type_check
def add_outer(before: Array, ahead: Array, out: Array) -> None:
    """out += Σ_t before_t ahead_tᵀ over four positions.

    The matrix of counts is the largest array in the loop: this way it is read and written once for
    four positions and not for each.
    """
    a, b, c, d = ahead[0], ahead[1], ahead[2], ahead[3]
    for i in range(out.shape[0]):
        w, x, y, z = before[0, i], before[1, i], before[2, i], before[3, i]
        row = out[i]
        for j in range(len(row)):
            row[j] += w * a[j] + x * b[j] + y * c[j] + z * d[j]


@jit
@no_type_check
def backward(
    transposed: Array,
    table: Array,
    index: Array,
    sums: Array,
    scales: Array,
    after: Array,
    begun: Array,
    moved: Array,
    emitted: Array,
) -> None:
    """Backward pass of one sequence: add the expected counts of states and transitions.

    `after` is β at the last position, divided by the likelihood, so that α_t(j) β_t(j) is the
    posterior p(z_t = j | x). It is overwritten. β is scaled by the same factors as α, and so is at
    most 1 / α_t(j); where no path reaches a state it has no bound, and is set to 0.
    """
    count, time = len(after), len(index)
    ahead, befores, held = np.zeros((4, count)), np.zeros((4, count)), 0
    for t in range(time - 1, -1, -1):
        here, token = sums[t], index[t]
        total = emitted[token]
        scores, sent = table[token], ahead[held]
        for j in range(count):
            # No path reaches a state where α is 0, and its β may have grown beyond all numbers.
            after[j] = after[j] if here[j] >= REACHED else 0.0
            total[j] += here[j] * after[j]
            sent[j] = scores[j] * after[j] * scales[t]
        if t == 0:
            break
        # ξ_t(i, j) = α_{t-1}(i) transitions(i, j) e_t(j) β_t(j) scale_t. Without the constant
        # matrix of transitions it is an outer product, collected for four positions at a time.
        befores[held, :] = sums[t - 1]
        vector_matrix(sent, transposed, after)
        held += 1
        if held == 4:
            add_outer(befores, ahead, moved)
            held = 0
    # Slots that were not filled hold old vectors: with `ahead` set to 0 they add nothing.
    ahead[held:, :] = 0.0
    add_outer(befores, ahead, moved)
    for j in range(count):
        begun[j] += sums[0, j] * after[j]


@jit
@no_type_check
def baum_welch(
    first: Array,
    transitions: Array,
    transposed: Array,
    last: Array,
    table: Array,
    index: Array,
    offsets: Array,
) -> tuple[float, Array, Array, Array, Array]:
    """E-step: log-likelihood, and expected counts of initial, transition, final states, emissions.

    Transition counts leave out the factor transitions(i, j), which all positions have in common:
    the caller multiplies once.
    """
    count, likelihood, longest = len(first), 0.0, 1
    begun, ended = np.zeros(count), np.zeros(count)
    moved, emitted = np.zeros((count, count)), np.zeros(table.shape)
    for s in range(len(offsets) - 1):
        longest = max(longest, offsets[s + 1] - offsets[s])
    sums, scales = np.empty((longest, count)), np.empty(longest)  # reused by every sequence
    after = np.empty(count)
    for s in range(len(offsets) - 1):
        tokens = index[offsets[s] : offsets[s + 1]]
        if len(tokens) == 0:
            continue
        scaled = forward(first, transitions, table, tokens, sums, scales)
        ending, total = sums[len(tokens) - 1], 0.0
        if scaled > -np.inf:
            for i in range(count):
                total += ending[i] * last[i]
        if not total > 0.0:
            likelihood = -np.inf
            continue
        likelihood += scaled + np.log(total)
        for i in range(count):
            after[i] = last[i] / total
            ended[i] += ending[i] * after[i]
        backward(transposed, table, tokens, sums, scales, after, begun, moved, emitted)
    return likelihood, begun, moved, ended, emitted
