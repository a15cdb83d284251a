"""Numba kernels of single paths through a linear chain: Viterbi, k-best Viterbi and sampling.

Viterbi keeps the best score of each state at each position, and no back-pointers. Where the best
path came from is computed again on the way back, for the states of that path alone: T · n
comparisons instead of an argmax in each of the T · n² steps of the forward pass.
"""

from typing import Any, no_type_check

import numpy as np

from ..jit import jit_maxima

Array = Any  # inside kernels, shapes are what `compiled` says


@jit_maxima
@no_type_check
def max_product_dense(before: Array, transitions: Array, best: Array) -> None:
    """max_i [before(i) + transitions(i, j)] into `best`; the number of states is a multiple of 4.

    Four rows at once: `best` is loaded and stored once for four states, and the inner loop over j
    reads contiguous rows, so it becomes vector instructions.
    """
    count = len(before)
    a, b, c, d = before[0], before[1], before[2], before[3]
    to_a, to_b, to_c, to_d = transitions[0], transitions[1], transitions[2], transitions[3]
    for j in range(count):
        best[j] = max(max(a + to_a[j], b + to_b[j]), max(c + to_c[j], d + to_d[j]))
    for i in range(4, count, 4):
        a, b, c, d = before[i], before[i + 1], before[i + 2], before[i + 3]
        to_a, to_b, to_c, to_d = (
            transitions[i],
            transitions[i + 1],
            transitions[i + 2],
            transitions[i + 3],
        )
        for j in range(count):
            here = max(max(a + to_a[j], b + to_b[j]), max(c + to_c[j], d + to_d[j]))
            best[j] = max(best[j], here)


@jit_maxima
@no_type_check
def viterbi_dense(
    first: Array,
    transitions: Array,
    transposed: Array,
    last: Array,
    table: Array,
    index: Array,
    offsets: Array,
) -> tuple[Array, Array]:
    """Viterbi where any state can follow any other: the best path of each sequence, its score.

    `transposed` is the transposed matrix of transitions, so that the way back reads all transitions
    into one state as a contiguous row.
    """
    found, path = np.zeros(len(offsets) - 1), np.empty(len(index), np.int64)
    longest = 1
    for s in range(len(found)):
        longest = max(longest, offsets[s + 1] - offsets[s])
    best = np.empty((longest, len(first)))  # allocated once for all sequences
    for s in range(len(found)):
        start, end = offsets[s], offsets[s + 1]
        if start == end:
            continue
        best[0, :] = first
        for t in range(start, end):
            here, scores = best[t - start], table[index[t]]
            if t > start:
                max_product_dense(best[t - start - 1], transitions, here)
            for j in range(len(here)):
                here[j] += scores[j]
        state, found[s] = argmax_of_sums(best[end - start - 1], last)
        path[end - 1] = state
        for t in range(end - 2, start - 1, -1):
            state, _ = argmax_of_sums(best[t - start], transposed[state])
            path[t] = state
    return path, found


@jit_maxima
@no_type_check
def argmax_of_sums(scores: Array, others: Array) -> tuple[int, float]:
    """The first argmax of scores + others, and the maximum."""
    place, top = 0, scores[0] + others[0]
    for i in range(1, len(scores)):
        if scores[i] + others[i] > top:
            place, top = i, scores[i] + others[i]
    return place, top


@jit_maxima
@no_type_check
def best_predecessor(scores: Array, transitions: Array, successor: Array, state: int) -> int:
    """The first state from which the way into a state is best."""
    place, top = 0, -np.inf
    for i in range(len(scores)):
        step = state - successor[i]
        if 0 <= step < transitions.shape[1] and scores[i] + transitions[i, step] > top:
            place, top = i, scores[i] + transitions[i, step]
    return place


@jit_maxima
@no_type_check
def max_product_banded(before: Array, transitions: Array, successor: Array, best: Array) -> None:
    """max_i [before(i) + transitions(i, j)] into `best`, over the states i that are possible."""
    for i in range(len(before)):
        # States that no path reaches are skipped: in a second-order chain that can be most of them.
        if before[i] > -np.inf:
            base, row = successor[i], transitions[i]
            for b in range(len(row)):
                best[base + b] = max(best[base + b], before[i] + row[b])


@jit_maxima
@no_type_check
def viterbi_banded(
    first: Array,
    transitions: Array,
    last: Array,
    successor: Array,
    column: Array,
    table: Array,
    index: Array,
    offsets: Array,
) -> tuple[Array, Array]:
    """Viterbi where only a band of states can follow each state; impossible states are skipped."""
    found, path = np.zeros(len(offsets) - 1), np.empty(len(index), np.int64)
    for s in range(len(found)):
        start, end = offsets[s], offsets[s + 1]
        if start == end:
            continue
        best = np.empty((end - start, len(first)))
        best[:] = -np.inf
        best[0, :] = first
        for t in range(start, end):
            here, scores = best[t - start], table[index[t]]
            if t > start:
                max_product_banded(best[t - start - 1], transitions, successor, here)
            for j in range(len(here)):
                here[j] += scores[column[j]]
        state, found[s] = argmax_of_sums(best[end - start - 1], last)
        path[end - 1] = state
        for t in range(end - 2, start - 1, -1):
            state = best_predecessor(best[t - start], transitions, successor, state)
            path[t] = state
    return path, found


@jit_maxima
@no_type_check
def insert(score: float, state: int, rank: int, scores: Array, states: Array, ranks: Array) -> None:
    """Insert a path into the sorted k best of a state; the last one falls out."""
    place = len(scores) - 1
    # Strictly larger, here and below: of equal scores the one that came first stays ahead.
    if not score > scores[place]:
        return
    while place > 0 and score > scores[place - 1]:
        scores[place] = scores[place - 1]
        states[place] = states[place - 1]
        ranks[place] = ranks[place - 1]
        place -= 1
    scores[place], states[place], ranks[place] = score, state, rank


@jit_maxima
@no_type_check
def extend(
    before: Array,
    row: Array,
    base: int,
    state: int,
    scores: Array,
    column: Array,
    best: Array,
    states: Array,
    ranks: Array,
) -> None:
    """Extend the k best paths of a state by each transition, and insert them where they lead."""
    for rank in range(len(before)):
        if before[rank] > -np.inf:
            for b in range(len(row)):
                j = base + b
                score = before[rank] + row[b] + scores[column[j]]
                insert(score, state, rank, best[j], states[j], ranks[j])


@jit_maxima
@no_type_check
def best_paths(
    first: Array,
    transitions: Array,
    last: Array,
    successor: Array,
    column: Array,
    scores: Array,
    most: int,
) -> tuple[Array, Array]:
    """k-best Viterbi for one sequence: the states of the best paths and their scores.

    Each state keeps its k best paths, sorted, with back-pointers: the state before and the rank of
    the path there. Scores are -inf where there are fewer than k paths.
    """
    time, count = len(scores), len(first)
    best, top = np.empty((time, count, most)), np.empty(most)
    best[:], top[:] = -np.inf, -np.inf
    states, ranks = np.zeros((time, count, most), np.int64), np.zeros((time, count, most), np.int64)
    for j in range(count):
        best[0, j, 0] = first[j] + scores[0, column[j]]
    for t in range(1, time):
        for i in range(count):
            row, base = transitions[i], successor[i]
            extend(best[t - 1, i], row, base, i, scores[t], column, best[t], states[t], ranks[t])
    state, rank = np.zeros(most, np.int64), np.zeros(most, np.int64)
    for i in range(count):
        for r in range(most):
            insert(best[-1, i, r] + last[i], i, r, top, state, rank)
    paths = np.zeros((most, time), np.int64)
    for k in range(most):
        for t in range(time - 1, -1, -1):
            paths[k, t] = state[k]
            state[k], rank[k] = states[t, paths[k, t], rank[k]], ranks[t, paths[k, t], rank[k]]
    return paths, top


@jit_maxima
@no_type_check
def sample_state(scores: Array, uniform: float) -> int:
    """Inverse transform sampling: where the running sum of exp(scores) passes its fraction."""
    top, total = -np.inf, 0.0
    for score in scores:
        top = max(top, score)
    for score in scores:
        total += np.exp(score - top)
    wanted, reached, state = uniform * total, 0.0, 0
    for i in range(len(scores)):
        # The last possible state is kept even if rounding leaves the sum just below `wanted`.
        if reached <= wanted and scores[i] > -np.inf:
            reached += np.exp(scores[i] - top)
            state = i
    return state


@jit_maxima
@no_type_check
def sample(
    sums: Array, transitions: Array, last: Array, successor: Array, uniforms: Array
) -> Array:
    """Forward filtering, backward sampling: a path for each row of uniform random numbers."""
    paths, time = np.empty(uniforms.shape, np.int64), uniforms.shape[1]
    scores = np.empty(sums.shape[1])
    for k in range(len(paths)):
        for t in range(time - 1, -1, -1):
            for i in range(len(scores)):
                step = paths[k, t + 1] - successor[i] if t < time - 1 else 0
                # Outside the band `step` is no index: % keeps it inside the array, and the score
                # is replaced by -inf on the next line.
                on = last[i] if t == time - 1 else transitions[i, step % transitions.shape[1]]
                scores[i] = sums[t, i] + on if 0 <= step < transitions.shape[1] else -np.inf
            paths[k, t] = sample_state(scores, uniforms[k, t])
    return paths
