"""Numba kernels of forward-backward in log space: exact for scores of any size (HMM and CRF).

A sum over transitions, ⊕_i [a(i) + transitions(i, j)], is computed as a product of exp(transitions)
with exp(a(i) - max a), so that a position takes one exp and one log for each state and not for each
transition. Where scores are too far apart for that, the sum is taken in log space, term by term.
States that are impossible at a position are skipped.
"""

from typing import Any, no_type_check

import numpy as np

from ..jit import jit

TINY = 1e-200  # a sum of products below this may consist of what exp rounded to 0
FAR = -400.0  # nats below the largest score at which exp can lose that much: exp(-400) = 1e-174
Array = Any  # inside kernels, shapes are what `compiled` says


@jit
@no_type_check
def spread(values: Array) -> tuple[float, bool]:
    """The largest number, and whether the smallest that is not -inf is far below it."""
    top, low = -np.inf, np.inf
    for value in values:
        top = max(top, value)
        if value > -np.inf:
            low = min(low, value)
    return top, low - top < FAR


@jit
@no_type_check
def logsumexp_of_sums(scores: Array, others: Array) -> float:
    """log Σ exp(scores + others)."""
    top = -np.inf
    for i in range(len(scores)):
        top = max(top, scores[i] + others[i])
    if top == -np.inf:
        return top
    total = 0.0
    for i in range(len(scores)):
        total += np.exp(scores[i] + others[i] - top)
    return top + np.log(total)


@jit
@no_type_check
def logsumexp_into(sums: Array, transitions: Array, successor: Array, state: int) -> float:
    """log Σ exp over all transitions into one state, term by term."""
    width, top = transitions.shape[1], -np.inf
    for i in range(len(sums)):
        if 0 <= state - successor[i] < width:
            top = max(top, sums[i] + transitions[i, state - successor[i]])
    if top == -np.inf:
        return top
    total = 0.0
    for i in range(len(sums)):
        if 0 <= state - successor[i] < width:
            total += np.exp(sums[i] + transitions[i, state - successor[i]] - top)
    return top + np.log(total)


@jit
@no_type_check
def add_products(before: Array, top: float, products: Array, successor: Array, out: Array) -> None:
    """Σ_i exp(before(i) - top + transitions(i, j)) into `out`."""
    out[:] = 0.0
    # Row by row of `products`, which is contiguous: the inner loop is a vectorised axpy.
    for i in range(len(products)):
        if before[i] > -np.inf:
            start, factor, row = successor[i], np.exp(before[i] - top), products[i]
            for b in range(len(row)):
                out[start + b] += factor * row[b]


@jit
@no_type_check
def forward(
    first: Array,
    transitions: Array,
    products: Array,
    successor: Array,
    column: Array,
    scores: Array,
) -> Array:
    """Forward sums a_t(j) of one sequence.

    `products` is exp(transitions), or has no rows where transition scores are too far apart.
    """
    count = len(first)
    sums, summed = np.empty((len(scores), count)), np.empty(count)
    sums[:] = -np.inf
    for j in range(count):
        sums[0, j] = first[j] + scores[0, column[j]]
    for t in range(1, len(scores)):
        before = sums[t - 1]
        top, is_far = spread(before)
        if top == -np.inf:
            break
        add_products(before, top, products, successor, summed)
        is_far |= len(products) == 0
        for j in range(count):
            here = scores[t, column[j]]
            if here > -np.inf:
                # A tiny sum of products alone is no problem: its log is exact enough. Only with
                # scores far apart can it be tiny because the terms that matter underflowed.
                if is_far and summed[j] < TINY:
                    sums[t, j] = here + logsumexp_into(before, transitions, successor, j)
                else:
                    sums[t, j] = here + top + np.log(summed[j])
    return sums


@jit
@no_type_check
def backward_step(
    before: Array, transitions: Array, products: Array, successor: Array, ahead: Array, after: Array
) -> None:
    """b_{t-1}(i) from ahead(j) = e_t(j) + b_t(j); only for states that a path can reach."""
    width = transitions.shape[1]
    top, is_far = spread(ahead)
    is_far |= len(products) == 0
    factors = np.exp(ahead - top)
    for i in range(len(before)):
        base, total = successor[i], 0.0
        after[i] = -np.inf
        if before[i] > -np.inf:
            if len(products):
                row = products[i]
                for b in range(width):
                    total += row[b] * factors[base + b]
            if is_far and total < TINY:
                after[i] = logsumexp_of_sums(transitions[i], ahead[base : base + width])
            else:
                after[i] = top + np.log(total)


@jit
@no_type_check
def add_transitions(
    before: Array,
    transitions: Array,
    products: Array,
    successor: Array,
    ahead: Array,
    total: float,
    weight: float,
    counts: Array,
) -> None:
    """Add p(y_{t-1} = i, y_t = j) of all transitions from one position to the next to `counts`."""
    top, is_far = spread(ahead)
    is_far |= len(products) == 0
    factors = np.exp(ahead - top)
    for i in range(len(before)):
        base, sent = successor[i], np.exp(before[i] + top - total)
        # before(i) + top can lie far above Z where the transition between them is nearly
        # impossible; a huge `sent` times a tiny product would lose digits or be inf · 0.
        if is_far or sent > 1.0 / TINY:
            for b in range(transitions.shape[1]):
                counts[i, b] += weight * np.exp(
                    before[i] + transitions[i, b] + ahead[base + b] - total
                )
        elif sent > 0.0:
            row = products[i]
            for b in range(transitions.shape[1]):
                counts[i, b] += weight * sent * factors[base + b] * row[b]


@jit
@no_type_check
def log_partitions(
    first: Array,
    transitions: Array,
    products: Array,
    last: Array,
    successor: Array,
    column: Array,
    table: Array,
    offsets: Array,
) -> Array:
    """Log-partition Z of each sequence; 0 if it is empty."""
    found = np.zeros(len(offsets) - 1)
    for s in range(len(found)):
        scores = table[offsets[s] : offsets[s + 1]]
        if len(scores):
            sums = forward(first, transitions, products, successor, column, scores)
            found[s] = logsumexp_of_sums(sums[-1], last)
    return found


@jit
@no_type_check
def add_marginals(
    sums: Array,
    after: Array,
    total: float,
    weight: float,
    column: Array,
    here: Array,
    counts: Array,
) -> None:
    """Add p(y_t = i) to the column of state i, and with its weight to the counts of states."""
    for i in range(len(after)):
        probability = np.exp(sums[i] + after[i] - total)
        here[column[i]] += probability
        counts[i] += weight * probability


@jit
@no_type_check
def posteriors(
    first: Array,
    transitions: Array,
    products: Array,
    last: Array,
    successor: Array,
    column: Array,
    table: Array,
    offsets: Array,
    weights: Array,
) -> tuple[Array, Array, Array, Array, Array]:
    """Log-partitions, marginals, and weighted counts of initial states, transitions, final states.

    Only the forward sums of one sequence are kept; the backward sums live in one vector that moves
    along, and are used up at each position.
    """
    found, marginals = np.zeros(len(offsets) - 1), np.zeros(table.shape)
    begun, ended, between = np.zeros(len(first)), np.zeros(len(first)), np.zeros(len(first))
    after, ahead, moved = np.empty(len(first)), np.empty(len(first)), np.zeros(transitions.shape)
    for s in range(len(found)):
        start, scores, weight = offsets[s], table[offsets[s] : offsets[s + 1]], weights[s]
        if len(scores) == 0:
            continue
        sums = forward(first, transitions, products, successor, column, scores)
        total = logsumexp_of_sums(sums[-1], last)
        found[s] = total
        if total == -np.inf:
            continue
        after[:] = last
        add_marginals(
            sums[-1], after, total, weight, column, marginals[start + len(scores) - 1], ended
        )
        for t in range(len(scores) - 1, 0, -1):
            for j in range(len(first)):
                ahead[j] = scores[t, column[j]] + after[j]
            if weight != 0.0:
                add_transitions(
                    sums[t - 1], transitions, products, successor, ahead, total, weight, moved
                )
            backward_step(sums[t - 1], transitions, products, successor, ahead, after)
            add_marginals(sums[t - 1], after, total, 0.0, column, marginals[start + t - 1], between)
        for i in range(len(first)):
            begun[i] += weight * np.exp(sums[0, i] + after[i] - total)
    return found, marginals, begun, moved, ended
