"""Sums over all paths through a lattice, the best of them, and samples: one sequence at a time.

A path y goes through T places. Its score, in nats, is

    S(y) = first(y₁) + Σ_t e_t(y_t) + Σ_{t>1} moves(y_{t-1}, y_t) + last(y_T)

with e_t the scores of what was seen at place t. All that is asked of it is made of two sums,
log Σ exp being written ⊕:

    forward    a₁(j) = first(j) + e₁(j)         a_t(j) = e_t(j) + ⊕_i [a_{t-1}(i) + moves(i, j)]
    backward   b_T(i) = last(i)                 b_t(i) = ⊕_j [moves(i, j) + e_{t+1}(j) + b_{t+1}(j)]
    total      Z = ⊕_y S(y) = ⊕_i [a_T(i) + last(i)]
    chances    p(y_t = i) = exp(a_t(i) + b_t(i) - Z)
    filtered   p(y_t = i | what was seen up to t) = exp(a_t(i) - ⊕_j a_t(j))
    moves      p(y_{t-1} = i, y_t = j) = exp(a_{t-1}(i) + moves(i, j) + e_t(j) + b_t(j) - Z)
    Viterbi    the forward sums with max for ⊕, and for each state the i that was the largest
    k best     the same with the k largest for ⊕
    samples    y_T from exp(a_T(i) + last(i) - Z), y_{t-1} from exp(a_{t-1}(i) + moves(i, y_t) - …)

With scores that are log-probabilities, Z is the log-probability of what was seen: a hidden Markov
model (Rabiner, 1989). With any scores, S(y) - Z is the log-probability of a path: a conditional
random field (Lafferty et al., 2001). What cannot be has the score -inf. Where no path can be, Z is
-inf and all chances are 0.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from .chain import Lattice

Scores = Float[np.ndarray, "time columns"]


@dataclass(frozen=True)
class Sums:
    """What all paths come to: their total in nats, and how often each thing happens on average."""

    total: float
    chances: Float[np.ndarray, "time columns"]
    first: Float[np.ndarray, " states"]
    moves: Float[np.ndarray, "states states"]
    last: Float[np.ndarray, " states"]


def add(scores: Float[np.ndarray, "*any"], axis: int = -1) -> Float[np.ndarray, "*rest"]:
    """log Σ exp, also of numbers that are all -inf."""
    top = scores.max(axis=axis, keepdims=True)
    top = np.where(np.isfinite(top), top, 0.0)
    with np.errstate(divide="ignore"):
        found = np.log(np.exp(scores - top).sum(axis=axis))
    return np.asarray(found + top.squeeze(axis))


def forward(lattice: Lattice, scores: Scores) -> Float[np.ndarray, "time states"]:
    """a_t(j): all ways to come to each state."""
    seen, moves = scores[:, lattice.seen], lattice.matrix()
    sums = np.empty_like(seen)
    sums[0] = lattice.first + seen[0]
    for t in range(1, len(seen)):
        sums[t] = seen[t] + add(sums[t - 1][:, None] + moves, axis=0)
    return sums


def backward(lattice: Lattice, scores: Scores) -> Float[np.ndarray, "time states"]:
    """b_t(i): all ways to go on from each state."""
    seen, moves = scores[:, lattice.seen], lattice.matrix()
    sums = np.empty_like(seen)
    sums[-1] = lattice.last
    for t in range(len(seen) - 1, 0, -1):
        sums[t - 1] = add(moves + seen[t] + sums[t], axis=1)
    return sums


def posteriors(lattice: Lattice, scores: Scores) -> Sums:
    """The total of all paths, and how often each state and each move is on one of them."""
    before, after = forward(lattice, scores), backward(lattice, scores)
    total = float(add(before[-1] + lattice.last))
    if total == -np.inf:
        none = np.zeros(len(lattice.first))
        return Sums(total, np.zeros(scores.shape), none, np.zeros((len(none),) * 2), none)
    states = np.exp(before + after - total)
    chances = np.zeros(scores.shape)
    np.add.at(chances.T, lattice.seen, states.T)
    seen, moves = scores[:, lattice.seen], lattice.matrix()
    taken = before[:-1, :, None] + moves + (seen + after)[1:, None]
    return Sums(total, chances, states[0], np.exp(taken - total).sum(0), states[-1])


def filtered(lattice: Lattice, scores: Scores) -> Float[np.ndarray, "time columns"]:
    """p(y_t = i | what was seen up to t): the forward sums as shares."""
    before = forward(lattice, scores)
    total = add(before)[:, None]
    states = np.where(np.isfinite(total), np.exp(before - np.where(total > -np.inf, total, 0)), 0)
    found = np.zeros(scores.shape)
    np.add.at(found.T, lattice.seen, states.T)
    return found


def viterbi(lattice: Lattice, scores: Scores) -> tuple[Int[np.ndarray, " time"], float]:
    """The states of the best path, and its score; of equally good ones the first."""
    seen, moves = scores[:, lattice.seen], lattice.matrix()
    best, came = lattice.first + seen[0], []
    for row in seen[1:]:
        ways = best[:, None] + moves
        came.append(ways.argmax(0))
        best = ways.max(0) + row
    path = [int((best + lattice.last).argmax())]
    for where in reversed(came):
        path.append(int(where[path[-1]]))
    return np.array(path[::-1]), float((best + lattice.last).max())


def best_paths(
    lattice: Lattice, scores: Scores, count: int
) -> list[tuple[Int[np.ndarray, " time"], float]]:
    """The best paths with their scores, the best first; fewer where fewer can be."""
    seen, moves = scores[:, lattice.seen], lattice.matrix()
    kept: list[list[tuple[float, tuple[int, ...]]]]
    kept = [[(score, (state,))] for state, score in enumerate(lattice.first + seen[0])]
    for row in seen[1:]:
        kept = [
            sorted(
                (
                    (score + moves[path[-1], state] + row[state], (*path, state))
                    for ways in kept
                    for score, path in ways
                ),
                key=lambda way: -way[0],
            )[:count]
            for state in range(len(moves))
        ]
    ended = [(score + lattice.last[path[-1]], path) for ways in kept for score, path in ways]
    ended = sorted((way for way in ended if way[0] > -np.inf), key=lambda way: -way[0])
    return [(np.array(path), float(score)) for score, path in ended[:count]]


def sample(
    lattice: Lattice, scores: Scores, chance: Float[np.ndarray, " time"]
) -> Int[np.ndarray, " time"]:
    """A path drawn with its probability; `chance` has a number from 0 to 1 for each place."""
    sums, moves = forward(lattice, scores), lattice.matrix()
    if not np.isfinite(sums[-1] + lattice.last).any():
        raise ValueError("there is no path that can be")
    path = [_drawn(sums[-1] + lattice.last, chance[-1])]
    for t in range(len(sums) - 2, -1, -1):
        path.append(_drawn(sums[t] + moves[:, path[-1]], chance[t]))
    return np.array(path[::-1])


def _drawn(scores: Float[np.ndarray, " states"], chance: float) -> int:
    """The state at which the running sum of chances passes a number from 0 to 1."""
    shares = np.cumsum(np.exp(scores - scores.max()))
    return int(np.searchsorted(shares, chance * shares[-1], side="right"))
