"""The loops of a pass of Baum and Welch over rows that are all different, for Numba.

As in the lattice's `scaled`, sums are numbers that are scaled up when they become small. Moves are
not counted here: what is kept of each place lets one product of matrices count them all.
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
def backward(columns: Array, fits: Array, sums: Array, scales: Array, sent: Array) -> None:
    """Chances of states, written over `fits`; and what each place sends to the one before it.

    `sent[t, j]` is scales(t) fit(t, j) b_t(j), so that the chance of a move i → j just before t is
    a_{t-1}(i) moves(i, j) sent(t, j); it is 0 at the first place.
    """
    time, count = fits.shape
    total = 0.0
    for j in range(count):
        total += sums[time - 1, j]
    after = np.full(count, 1.0 / total)
    for t in range(time - 1, -1, -1):
        for j in range(count):
            ahead = fits[t, j] * after[j]
            fits[t, j] = sums[t, j] * after[j]
            sent[t, j] = ahead * scales[t]
        multiply(sent, t, columns, after)
    for j in range(count):
        sent[0, j] = 0.0


@compiled
@no_type_check
def baum_welch(
    first: Array,
    moves: Array,
    columns: Array,
    fits: Array,
    starts: Array,
    sums: Array,
    sent: Array,
) -> float:
    """log p of all series; `fits` becomes the chances of states, and sums and sent are filled.

    A series that cannot be counts for nothing, and makes the result -inf.
    """
    likelihood, scales = 0.0, np.empty(len(fits))
    for s in range(len(starts) - 1):
        a, b = starts[s], starts[s + 1]
        if a == b:
            continue
        found = forward(first, moves, fits[a:b], sums[a:b], scales[a:b])
        likelihood += found
        if found == -np.inf:
            fits[a:b, :] = 0.0
            sums[a:b, :] = 0.0
            sent[a:b, :] = 0.0
        else:
            backward(columns, fits[a:b], sums[a:b], scales[a:b], sent[a:b])
    return likelihood
