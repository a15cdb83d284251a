"""The quick twin of `readable`: many sequences at once, compiled.

Equations are there; here is how arrays are laid out for the loops in `sums` and `paths`.

Compiled loops, imported when they are first called: Numba takes a second to come.

What a hidden Markov model expects to have happened: one pass of Baum and Welch, compiled.

A number more than 1e-200 times smaller than another at the same place may count as 0, which
`quick.posteriors` never lets happen.
"""

from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import Any, Literal

import numpy as np
from jaxtyping import Float, Int

from .chain import Lattice, Places


@cache
def loops(name: Literal["sums", "paths", "em", "emissions"]) -> Any:
    """The module of this name."""
    return import_module(f".kernels_{name}", __package__)


MULTIPLE = 4  # states are padded to so many, with some that cannot be


@dataclass(frozen=True)
class Expected:
    """Sums over all sequences: how likely they are, and how often each thing happened on average.

    Two of them can be added. `rows` has, for each row of the table of scores, how often each state
    was there.
    """

    log_likelihood: float
    first: Float[np.ndarray, " states"]
    moves: Float[np.ndarray, "states states"]
    last: Float[np.ndarray, " states"]
    rows: Float[np.ndarray, "rows states"]

    def __add__(self, other: "Expected") -> "Expected":
        return Expected(*(one + vars(other)[name] for name, one in vars(self).items()))


def expected(lattice: Lattice, places: Places) -> Expected:
    """The same as the sums of `readable.posteriors` over all sequences, in a lattice of any moves.

    A sequence that cannot be counts for nothing, and makes the log-likelihood -inf.
    """
    count = len(lattice.first)
    more = -count % MULTIPLE
    first, last = (np.exp(np.pad(p, (0, more), constant_values=-np.inf)) for p in _ends(lattice))
    moves = np.exp(np.pad(lattice.moves, (0, more), constant_values=-np.inf))
    tops = places.table.max(axis=1)
    tops = np.where(np.isfinite(tops), tops, 0.0)
    table = np.zeros((len(tops), count + more))
    np.exp(places.table - tops[:, None], out=table[:, :count])
    which, starts = places.which.astype(np.int64), places.starts
    columns = np.ascontiguousarray(moves.T)
    likelihood, begun, moved, over, rows = loops("em").baum_welch(
        first, moves, columns, last, table, which, starts
    )
    shift = float(tops @ np.bincount(which, minlength=len(tops)))
    counts = (begun[:count], (moves * moved)[:count, :count], over[:count], rows[:, :count])
    return Expected(float(likelihood) + shift, *map(np.ascontiguousarray, counts))


def _ends(lattice: Lattice) -> tuple[np.ndarray, np.ndarray]:
    return lattice.first, lattice.last


FAR = -400.0  # scores of moves so far below 0, or so far above, are never made exp of


@dataclass(frozen=True)
class Sums:
    """What all paths come to: the total of each sequence in nats, and how often things happen.

    What is begun, moved and ended is summed over sequences, each with its weight.
    """

    totals: Float[np.ndarray, " batch"]
    chances: Float[np.ndarray, "places columns"]
    first: Float[np.ndarray, " states"]
    moves: Float[np.ndarray, "states width"]
    last: Float[np.ndarray, " states"]


def totals(lattice: Lattice, places: Places) -> Float[np.ndarray, " batch"]:
    """Z of each sequence; 0 of one that has no places."""
    found: np.ndarray = loops("sums").totals(*_made(lattice), *_in_order(places))
    return found


def posteriors(
    lattice: Lattice, places: Places, weights: Float[np.ndarray, " batch"] | None = None
) -> Sums:
    """The total of all paths, the chances at each place, and what happens on average.

    Without weights nothing is summed over sequences.
    """
    weighed = np.zeros(len(places.lengths)) if weights is None else weights.astype(np.float64)
    return Sums(*loops("sums").posteriors(*_made(lattice), *_in_order(places), weighed))


def filtered(lattice: Lattice, places: Places) -> Float[np.ndarray, "places columns"]:
    """p(y_t = i | what was seen up to t) at each place; 0 where no path can be."""
    first, moves, products, _, onto, seen = _made(lattice)
    found = np.zeros((len(places.which), places.table.shape[1]))
    for scores, start in zip(places.rows(), places.starts.tolist(), strict=False):
        if len(scores):
            exact = np.ascontiguousarray(scores, dtype=np.float64)
            sums = loops("sums").forward(first, moves, products, onto, seen, exact)
            top = sums.max(1, keepdims=True)
            can_be = np.isfinite(top)
            shares = np.where(can_be, np.exp(sums - np.where(can_be, top, 0.0)), 0.0)
            shares /= np.maximum(shares.sum(1, keepdims=True), 1e-300)
            np.add.at(found[start : start + len(scores)].T, seen, shares.T)
    return found


def viterbi(
    lattice: Lattice, places: Places
) -> tuple[Int[np.ndarray, " places"], Float[np.ndarray, " batch"]]:
    """The states of the best path of each sequence, one after another, and its score."""
    table, which, starts = _laid(places)
    found: tuple[np.ndarray, np.ndarray]
    if not lattice.is_dense:
        shape = (lattice.first, lattice.moves, lattice.last, lattice.onto, lattice.seen)
        found = loops("paths").viterbi_sparse(*shape, table, which, starts)
        return found
    more = -len(lattice.first) % MULTIPLE
    first, last = (
        np.pad(p, (0, more), constant_values=-np.inf) for p in (lattice.first, lattice.last)
    )
    moves = np.pad(lattice.moves, (0, more), constant_values=-np.inf)
    wider = np.pad(table, ((0, 0), (0, more))) if more else table
    columns = np.ascontiguousarray(moves.T)
    found = loops("paths").viterbi_dense(first, moves, columns, last, wider, which, starts)
    return found


def best_paths(
    lattice: Lattice, places: Places, count: int
) -> list[list[tuple[Int[np.ndarray, " _"], float]]]:
    """Of each sequence the best paths with their scores, best first; fewer where fewer can be."""
    shape = (lattice.first, lattice.moves, lattice.last, lattice.onto, lattice.seen)
    found = []
    for scores in places.rows():
        if len(scores) == 0:
            found.append([(np.zeros(0, dtype=np.int64), 0.0)])
            continue
        states, tops = loops("paths").best_paths(
            *shape, np.ascontiguousarray(scores, np.float64), count
        )
        possible = zip(states, tops.tolist(), strict=True)
        found.append([(path, score) for path, score in possible if score > -np.inf])
    return found


def samples(
    lattice: Lattice,
    scores: Float[np.ndarray, "time columns"],
    chances: Float[np.ndarray, "samples time"],
) -> Int[np.ndarray, "samples time"]:
    """Paths of one sequence drawn with their probability; chances are numbers from 0 to 1."""
    first, moves, products, last, onto, seen = _made(lattice)
    exact = np.ascontiguousarray(scores, dtype=np.float64)
    before = loops("sums").forward(first, moves, products, onto, seen, exact)
    if not np.isfinite(before[-1] + last).any():
        raise ValueError("there is no path that can be")
    found: np.ndarray = loops("paths").sample(before, moves, last, onto, chances)
    return found


def _made(lattice: Lattice) -> tuple[np.ndarray, ...]:
    """The arrays of a lattice, and exp of its moves where none is too large or too small."""
    moves = lattice.moves
    real = moves[np.isfinite(moves)]
    is_far = bool((np.abs(real) > -FAR / 2).any())
    products = np.empty((0, moves.shape[1])) if is_far else np.exp(moves)
    return lattice.first, moves, products, lattice.last, lattice.onto, lattice.seen


def _laid(places: Places) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    table = np.ascontiguousarray(places.table, dtype=np.float64)
    return table, places.which.astype(np.int64), places.starts


def _in_order(places: Places) -> tuple[np.ndarray, np.ndarray]:
    """The scores of all places in a row, and where each sequence starts."""
    return np.ascontiguousarray(places.table[places.which], dtype=np.float64), places.starts
