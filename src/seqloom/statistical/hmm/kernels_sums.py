"""The loops of the quick twin that add up all paths, for Numba; sums are kept in nats.

A sum over moves is a product with exp(moves) of numbers of which the largest is 1, so that a place
takes one exp and one log for each state and not for each move. Where numbers are too far apart for
that, the sum is taken exactly. States that cannot be at a place are skipped.
"""

from typing import Any, no_type_check

import numpy as np

from ..jit import compiled

TINY = 1e-200  # sums of products below this may have lost what exp made 0
FAR = -400.0  # nats below the largest at which that can begin
Array = Any  # inside compiled functions shapes are what `quick` says


@compiled
@no_type_check
def spread(values: Array) -> tuple[float, bool]:
    """The largest number, and whether the smallest that is not -inf is far below it."""
    top, low = -np.inf, np.inf
    for value in values:
        top = max(top, value)
        if value > -np.inf:
            low = min(low, value)
    return top, low - top < FAR


@compiled
@no_type_check
def added(scores: Array, others: Array) -> float:
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


@compiled
@no_type_check
def added_into(sums: Array, moves: Array, onto: Array, state: int) -> float:
    """log Σ exp of all ways into a state, one by one."""
    width, top = moves.shape[1], -np.inf
    for i in range(len(sums)):
        if 0 <= state - onto[i] < width:
            top = max(top, sums[i] + moves[i, state - onto[i]])
    if top == -np.inf:
        return top
    total = 0.0
    for i in range(len(sums)):
        if 0 <= state - onto[i] < width:
            total += np.exp(sums[i] + moves[i, state - onto[i]] - top)
    return top + np.log(total)


@compiled
@no_type_check
def send(before: Array, top: float, products: Array, onto: Array, summed: Array) -> None:
    """Σ_i exp(before(i) - top + moves(i, j)) into `summed`."""
    summed[:] = 0.0
    for i in range(len(products)):
        if before[i] > -np.inf:
            start, share, row = onto[i], np.exp(before[i] - top), products[i]
            for b in range(len(row)):
                summed[start + b] += share * row[b]


@compiled
@no_type_check
def forward(
    first: Array, moves: Array, products: Array, onto: Array, seen: Array, scores: Array
) -> Array:
    """a_t(j) of one sequence; `products` is exp(moves), or nothing where those are far apart."""
    count = len(first)
    sums, summed = np.empty((len(scores), count)), np.empty(count)
    sums[:] = -np.inf
    for j in range(count):
        sums[0, j] = first[j] + scores[0, seen[j]]
    for t in range(1, len(scores)):
        before = sums[t - 1]
        top, is_far = spread(before)
        if top == -np.inf:
            break
        send(before, top, products, onto, summed)
        is_far |= len(products) == 0
        for j in range(count):
            here = scores[t, seen[j]]
            if here > -np.inf:
                if is_far and summed[j] < TINY:
                    sums[t, j] = here + added_into(before, moves, onto, j)
                else:
                    sums[t, j] = here + top + np.log(summed[j])
    return sums


@compiled
@no_type_check
def go_back(
    before: Array, moves: Array, products: Array, onto: Array, ahead: Array, after: Array
) -> None:
    """b_{t-1}(i) from ahead(j) = e_t(j) + b_t(j), for states that paths come to."""
    width = moves.shape[1]
    top, is_far = spread(ahead)
    is_far |= len(products) == 0
    shares = np.exp(ahead - top)
    for i in range(len(before)):
        base, going = onto[i], 0.0
        after[i] = -np.inf
        if before[i] > -np.inf:
            if len(products):
                row = products[i]
                for b in range(width):
                    going += row[b] * shares[base + b]
            if is_far and going < TINY:
                after[i] = added(moves[i], ahead[base : base + width])
            else:
                after[i] = top + np.log(going)


@compiled
@no_type_check
def count_moves(
    before: Array,
    moves: Array,
    products: Array,
    onto: Array,
    ahead: Array,
    total: float,
    weight: float,
    into: Array,
) -> None:
    """p(y_{t-1} = i, y_t = j) of all moves from one place to the next, added to `into`."""
    top, is_far = spread(ahead)
    is_far |= len(products) == 0
    shares = np.exp(ahead - top)
    for i in range(len(before)):
        base, sent = onto[i], np.exp(before[i] + top - total)
        if is_far or sent > 1.0 / TINY:
            for b in range(moves.shape[1]):
                into[i, b] += weight * np.exp(before[i] + moves[i, b] + ahead[base + b] - total)
        elif sent > 0.0:
            row = products[i]
            for b in range(moves.shape[1]):
                into[i, b] += weight * sent * shares[base + b] * row[b]


@compiled
@no_type_check
def totals(
    first: Array,
    moves: Array,
    products: Array,
    last: Array,
    onto: Array,
    seen: Array,
    table: Array,
    starts: Array,
) -> Array:
    """Z of each sequence; 0 of one that has no places."""
    found = np.zeros(len(starts) - 1)
    for s in range(len(found)):
        scores = table[starts[s] : starts[s + 1]]
        if len(scores):
            sums = forward(first, moves, products, onto, seen, scores)
            found[s] = added(sums[-1], last)
    return found


@compiled
@no_type_check
def add_chances(
    sums: Array, after: Array, total: float, weight: float, seen: Array, columns: Array, into: Array
) -> None:
    """p(y_t = i), added to the column of i, and with its weight to the sum over sequences."""
    for i in range(len(after)):
        chance = np.exp(sums[i] + after[i] - total)
        columns[seen[i]] += chance
        into[i] += weight * chance


@compiled
@no_type_check
def posteriors(
    first: Array,
    moves: Array,
    products: Array,
    last: Array,
    onto: Array,
    seen: Array,
    table: Array,
    starts: Array,
    weights: Array,
) -> tuple[Array, Array, Array, Array, Array]:
    """Z of each sequence, chances at each place, and what is begun, moved and ended on average.

    What is counted over sequences counts as much as the weight of each.
    """
    found, chances = np.zeros(len(starts) - 1), np.zeros(table.shape)
    begun, over, between = np.zeros(len(first)), np.zeros(len(first)), np.zeros(len(first))
    after, ahead, moved = np.empty(len(first)), np.empty(len(first)), np.zeros(moves.shape)
    for s in range(len(found)):
        start, scores, weight = starts[s], table[starts[s] : starts[s + 1]], weights[s]
        if len(scores) == 0:
            continue
        sums = forward(first, moves, products, onto, seen, scores)
        total = added(sums[-1], last)
        found[s] = total
        if total == -np.inf:
            continue
        after[:] = last
        add_chances(sums[-1], after, total, weight, seen, chances[start + len(scores) - 1], over)
        for t in range(len(scores) - 1, 0, -1):
            for j in range(len(first)):
                ahead[j] = scores[t, seen[j]] + after[j]
            if weight != 0.0:
                count_moves(sums[t - 1], moves, products, onto, ahead, total, weight, moved)
            go_back(sums[t - 1], moves, products, onto, ahead, after)
            add_chances(sums[t - 1], after, total, 0.0, seen, chances[start + t - 1], between)
        for i in range(len(first)):
            begun[i] += weight * np.exp(sums[0, i] + after[i] - total)
    return found, chances, begun, moved, over
