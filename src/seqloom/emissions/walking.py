"""The loops of a pass of Baum and Welch over rows that are all different, for Numba.

As in the lattice's `scaled`, sums are numbers that are scaled up when they become small. What is
found is written over what was given: new memory would take longer than all that is done in it.
"""

from typing import Any, no_type_check

import numpy as np

from ..compiled import compiled

SMALL = 1e-60  # when all numbers of a place are below this together, they are scaled up
Array = Any  # inside compiled functions shapes are what `regimes` says


@compiled
@no_type_check
def below_the_best(scores: Array) -> float:
    """Write over each score how far it is below the best of its place; the sum of the best."""
    total = 0.0
    for t in range(len(scores)):
        top = scores[t, 0]
        for j in range(1, scores.shape[1]):
            top = max(top, scores[t, j])
        total += top
        for j in range(scores.shape[1]):
            scores[t, j] -= top
    return total


@compiled
@no_type_check
def multiply(vectors: Array, t: int, matrix: Array, into: Array) -> None:
    """into = vectors[t] · matrix."""
    count = len(into)
    for j in range(count):
        into[j] = vectors[t, 0] * matrix[0, j]
    for i in range(1, count):
        share = vectors[t, i]
        for j in range(count):
            into[j] += share * matrix[i, j]


@compiled
@no_type_check
def forward(first: Array, moves: Array, fits: Array, sums: Array, scales: Array) -> float:
    """Forward sums of one series, and the log of what they were scaled by; -inf if nothing can be.

    `fits` is exp(score - the best score) of each state at each place.
    """
    count, scaled, total, ahead = len(first), 0.0, 0.0, first.copy()
    for t in range(len(fits)):
        if t:
            multiply(sums, t - 1, moves, ahead)
        total = 0.0
        for j in range(count):
            sums[t, j] = ahead[j] * fits[t, j]
            total += sums[t, j]
        scales[t] = 1.0
        if total < SMALL:
            if total == 0.0:
                return -np.inf
            scales[t] = 1.0 / total
            scaled += np.log(total)
            for j in range(count):
                sums[t, j] *= scales[t]
            total = 1.0
    return scaled + np.log(total)


@compiled
@no_type_check
def count_moves(sums: Array, t: int, sent: Array, moved: Array) -> None:
    """Add what four places before t + 3, t + 2, t + 1 and t have sent on, all at once."""
    for i in range(len(moved)):
        a, b, c, d = sums[t + 2, i], sums[t + 1, i], sums[t, i], sums[t - 1, i]
        for j in range(len(moved)):
            moved[i, j] += a * sent[0, j] + b * sent[1, j] + c * sent[2, j] + d * sent[3, j]


@compiled
@no_type_check
def backward(columns: Array, fits: Array, sums: Array, scales: Array, moved: Array) -> None:
    """Chances of states, written over `fits`; and how often each move is, added to `moved`.

    Moves are counted without their own probability, which all of them have in common: the chance of
    i → j just before t is a_{t-1}(i) moves(i, j) scale(t) fit(t, j) b_t(j).
    """
    time, count = fits.shape
    total, held = 0.0, 0
    for j in range(count):
        total += sums[time - 1, j]
    after, sent = np.full(count, 1.0 / total), np.zeros((4, count))
    for t in range(time - 1, -1, -1):
        for j in range(count):
            sent[held, j] = fits[t, j] * after[j] * scales[t]
            fits[t, j] = sums[t, j] * after[j]
        multiply(sent, held, columns, after)
        held += t > 0
        if held == 4:
            count_moves(sums, t, sent, moved)
            held = 0
    for k in range(held):
        for i in range(count):
            for j in range(count):
                moved[i, j] += sums[held - 1 - k, i] * sent[k, j]


@compiled
@no_type_check
def baum_welch(
    first: Array, moves: Array, columns: Array, fits: Array, starts: Array, moved: Array
) -> float:
    """log p of all series; `fits` becomes the chances of states, and moves are counted.

    A series that cannot be counts for nothing, and makes the result -inf.
    """
    likelihood, longest = 0.0, 0
    for s in range(len(starts) - 1):
        longest = max(longest, starts[s + 1] - starts[s])
    sums, scales = np.empty((longest, len(first))), np.empty(longest)
    for s in range(len(starts) - 1):
        a, b = starts[s], starts[s + 1]
        if a == b:
            continue
        found = forward(first, moves, fits[a:b], sums, scales)
        likelihood += found
        if found == -np.inf:
            fits[a:b, :] = 0.0
        else:
            backward(columns, fits[a:b], sums[: b - a], scales, moved)
    return likelihood
