"""The loops of the quick twin that look for single paths, for Numba: Viterbi, k best, samples.

Viterbi keeps the best score of each state at each place, and no pointers: where the best path came
from is found again on the way back, for its states alone.
"""

from typing import Any, no_type_check

import numpy as np

from ..jit import compiled_for_maxima

Array = Any  # inside compiled functions shapes are what `quick` says


@compiled_for_maxima
@no_type_check
def best_of_dense(before: Array, moves: Array, best: Array) -> None:
    """max_i [before(i) + moves(i, j)] into `best`, four states at once.

    The number of states is a multiple of four.
    """
    count = len(before)
    a, b, c, d = before[0], before[1], before[2], before[3]
    to_a, to_b, to_c, to_d = moves[0], moves[1], moves[2], moves[3]
    for j in range(count):
        best[j] = max(max(a + to_a[j], b + to_b[j]), max(c + to_c[j], d + to_d[j]))
    for i in range(4, count, 4):
        a, b, c, d = before[i], before[i + 1], before[i + 2], before[i + 3]
        to_a, to_b, to_c, to_d = moves[i], moves[i + 1], moves[i + 2], moves[i + 3]
        for j in range(count):
            here = max(max(a + to_a[j], b + to_b[j]), max(c + to_c[j], d + to_d[j]))
            best[j] = max(best[j], here)


@compiled_for_maxima
@no_type_check
def viterbi_dense(
    first: Array,
    moves: Array,
    columns: Array,
    last: Array,
    table: Array,
    which: Array,
    starts: Array,
) -> tuple[Array, Array]:
    """The states of the best path of each sequence, and its score; any state after any other.

    `columns` is the matrix of moves turned over, so that the way back reads it in order.
    """
    found, path = np.zeros(len(starts) - 1), np.empty(len(which), np.int64)
    longest = 1
    for s in range(len(found)):
        longest = max(longest, starts[s + 1] - starts[s])
    best = np.empty((longest, len(first)))
    for s in range(len(found)):
        start, end = starts[s], starts[s + 1]
        if start == end:
            continue
        best[0, :] = first
        for t in range(start, end):
            here, scores = best[t - start], table[which[t]]
            if t > start:
                best_of_dense(best[t - start - 1], moves, here)
            for j in range(len(here)):
                here[j] += scores[j]
        state, found[s] = largest(best[end - start - 1], last)
        path[end - 1] = state
        for t in range(end - 2, start - 1, -1):
            state, _ = largest(best[t - start], columns[state])
            path[t] = state
    return path, found


@compiled_for_maxima
@no_type_check
def largest(scores: Array, others: Array) -> tuple[int, float]:
    """The first place of the largest of scores + others, and that."""
    place, top = 0, scores[0] + others[0]
    for i in range(1, len(scores)):
        if scores[i] + others[i] > top:
            place, top = i, scores[i] + others[i]
    return place, top


@compiled_for_maxima
@no_type_check
def came_from(scores: Array, moves: Array, onto: Array, state: int) -> int:
    """The first state from which the way into a state is best."""
    place, top = 0, -np.inf
    for i in range(len(scores)):
        step = state - onto[i]
        if 0 <= step < moves.shape[1] and scores[i] + moves[i, step] > top:
            place, top = i, scores[i] + moves[i, step]
    return place


@compiled_for_maxima
@no_type_check
def best_of_some(before: Array, moves: Array, onto: Array, best: Array) -> None:
    """max_i [before(i) + moves(i, j)] into `best`, over those i that can be."""
    for i in range(len(before)):
        if before[i] > -np.inf:
            base, row = onto[i], moves[i]
            for b in range(len(row)):
                best[base + b] = max(best[base + b], before[i] + row[b])


@compiled_for_maxima
@no_type_check
def viterbi_sparse(
    first: Array,
    moves: Array,
    last: Array,
    onto: Array,
    seen: Array,
    table: Array,
    which: Array,
    starts: Array,
) -> tuple[Array, Array]:
    """The same where only some states follow each; states that cannot be are skipped."""
    found, path = np.zeros(len(starts) - 1), np.empty(len(which), np.int64)
    for s in range(len(found)):
        start, end = starts[s], starts[s + 1]
        if start == end:
            continue
        best = np.empty((end - start, len(first)))
        best[:] = -np.inf
        best[0, :] = first
        for t in range(start, end):
            here, scores = best[t - start], table[which[t]]
            if t > start:
                best_of_some(best[t - start - 1], moves, onto, here)
            for j in range(len(here)):
                here[j] += scores[seen[j]]
        state, found[s] = largest(best[end - start - 1], last)
        path[end - 1] = state
        for t in range(end - 2, start - 1, -1):
            state = came_from(best[t - start], moves, onto, state)
            path[t] = state
    return path, found


@compiled_for_maxima
@no_type_check
def insert(score: float, state: int, rank: int, scores: Array, states: Array, ranks: Array) -> None:
    """Put a way among the best few of a state, which are sorted; the last one falls out."""
    place = len(scores) - 1
    if not score > scores[place]:
        return
    while place > 0 and score > scores[place - 1]:
        scores[place] = scores[place - 1]
        states[place] = states[place - 1]
        ranks[place] = ranks[place - 1]
        place -= 1
    scores[place], states[place], ranks[place] = score, state, rank


@compiled_for_maxima
@no_type_check
def go_on(
    before: Array,
    row: Array,
    base: int,
    state: int,
    scores: Array,
    seen: Array,
    best: Array,
    states: Array,
    ranks: Array,
) -> None:
    """Put the ways to a state, each with a move more, among the best of where they lead."""
    for rank in range(len(before)):
        if before[rank] > -np.inf:
            for b in range(len(row)):
                j = base + b
                way = before[rank] + row[b] + scores[seen[j]]
                insert(way, state, rank, best[j], states[j], ranks[j])


@compiled_for_maxima
@no_type_check
def best_paths(
    first: Array,
    moves: Array,
    last: Array,
    onto: Array,
    seen: Array,
    scores: Array,
    most: int,
) -> tuple[Array, Array]:
    """The states of the best paths of one sequence, and their scores; -inf where there is none."""
    time, count = len(scores), len(first)
    best, top = np.empty((time, count, most)), np.empty(most)
    best[:], top[:] = -np.inf, -np.inf
    states, ranks = np.zeros((time, count, most), np.int64), np.zeros((time, count, most), np.int64)
    for j in range(count):
        best[0, j, 0] = first[j] + scores[0, seen[j]]
    for t in range(1, time):
        for i in range(count):
            row, base = moves[i], onto[i]
            go_on(best[t - 1, i], row, base, i, scores[t], seen, best[t], states[t], ranks[t])
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


@compiled_for_maxima
@no_type_check
def draw(scores: Array, chance: float) -> int:
    """The state at which the running sum of exp(scores) passes a share of the whole."""
    top, total = -np.inf, 0.0
    for score in scores:
        top = max(top, score)
    for score in scores:
        total += np.exp(score - top)
    wanted, reached, state = chance * total, 0.0, 0
    for i in range(len(scores)):
        if reached <= wanted and scores[i] > -np.inf:
            reached += np.exp(scores[i] - top)
            state = i
    return state


@compiled_for_maxima
@no_type_check
def sample(sums: Array, moves: Array, last: Array, onto: Array, chances: Array) -> Array:
    """Paths drawn with their probability, a row for each row of chances, from the forward sums."""
    drawn, time = np.empty(chances.shape, np.int64), chances.shape[1]
    ways = np.empty(sums.shape[1])
    for k in range(len(drawn)):
        for t in range(time - 1, -1, -1):
            for i in range(len(ways)):
                step = drawn[k, t + 1] - onto[i] if t < time - 1 else 0
                on = last[i] if t == time - 1 else moves[i, step % moves.shape[1]]
                ways[i] = sums[t, i] + on if 0 <= step < moves.shape[1] else -np.inf
            drawn[k, t] = draw(ways, chances[k, t])
    return drawn
