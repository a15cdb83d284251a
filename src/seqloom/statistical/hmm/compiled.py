"""Forward-backward, Viterbi and Baum-Welch E-steps of many sequences: fast path, compiled by Numba.

The same results as the reference implementation in `inference`, where the equations are. This
module brings arrays into the layout that the kernels in `kernels_*` expect.
"""

from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import Any, Literal

import numpy as np
from jaxtyping import Float, Int

from .chain import EmissionScores, LinearChain


@cache
def kernels(name: Literal["sums", "paths", "e_step", "emissions"]) -> Any:
    """The module `kernels_{name}`, imported when first used: importing Numba takes a second."""
    return import_module(f".kernels_{name}", __package__)


UNROLL = 4  # kernels of dense chains take this many states at once; chains are padded to a multiple


@dataclass(frozen=True)
class ExpectedCounts:
    """Expected sufficient statistics of Baum-Welch, summed over sequences; two can be added.

    `emissions` has, for each row of the table of emission scores, how often each state is expected
    to have emitted it.
    """

    log_likelihood: float
    initial: Float[np.ndarray, " states"]
    transitions: Float[np.ndarray, "states states"]
    final: Float[np.ndarray, " states"]
    emissions: Float[np.ndarray, "rows states"]

    def __add__(self, other: "ExpectedCounts") -> "ExpectedCounts":
        return ExpectedCounts(*(one + vars(other)[name] for name, one in vars(self).items()))


def expected_counts(chain: LinearChain, scores: EmissionScores) -> ExpectedCounts:
    """E-step of Baum-Welch (Rabiner, 1989) for a dense chain, by scaled forward-backward.

    Gives the counts of `inference.posteriors` summed over all sequences. An impossible sequence
    adds no counts and makes the log-likelihood -inf.

    A number more than 1e-200 times smaller than another at the same position may underflow to 0. If
    that leaves a sequence without any path, all is computed again in log space, as in `posteriors`.
    """
    count = len(chain.initial)
    more = -count % UNROLL
    first, last = (np.exp(np.pad(p, (0, more), constant_values=-np.inf)) for p in _ends(chain))
    transitions = np.exp(np.pad(chain.transitions, (0, more), constant_values=-np.inf))
    # Only ratios within a row matter to the posterior. Less its maximum, no row can underflow as a
    # whole; what was subtracted comes back in `shift`, once for each time the row is used.
    tops = scores.table.max(axis=1)
    tops = np.where(np.isfinite(tops), tops, 0.0)
    table = np.zeros((len(tops), count + more))
    np.exp(scores.table - tops[:, None], out=table[:, :count])
    index, offsets = scores.index.astype(np.int64), scores.offsets
    transposed = np.ascontiguousarray(transitions.T)
    likelihood, begun, moved, ended, emitted = kernels("e_step").baum_welch(
        first, transitions, transposed, last, table, index, offsets
    )
    if likelihood == -np.inf:
        return _log_space_counts(chain, scores)
    shift = float(tops @ np.bincount(index, minlength=len(tops)))
    moved = (transitions * moved)[:count, :count]  # the kernel leaves this common factor out
    counts = (begun[:count], moved, ended[:count], emitted[:, :count])
    return ExpectedCounts(float(likelihood) + shift, *map(np.ascontiguousarray, counts))


def _log_space_counts(chain: LinearChain, scores: EmissionScores) -> ExpectedCounts:
    """The same counts by forward-backward in log space, where nothing underflows."""
    exact = posteriors(chain, scores, np.ones(len(scores.lengths)))
    emissions = np.zeros(scores.table.shape)
    np.add.at(emissions, scores.index, exact.marginals)
    likelihood = float(exact.log_partitions.sum())
    return ExpectedCounts(likelihood, exact.initial, exact.transitions, exact.final, emissions)


def _ends(chain: LinearChain) -> tuple[np.ndarray, np.ndarray]:
    return chain.initial, chain.final


FAR = -400.0  # transition scores beyond ± FAR / 2 are not exponentiated: products could overflow


@dataclass(frozen=True)
class Posteriors:
    """Posterior of the paths of several sequences: log-partitions, marginals, expected counts.

    The counts of initial states, transitions and final states are summed over sequences, each with
    its weight.
    """

    log_partitions: Float[np.ndarray, " batch"]
    marginals: Float[np.ndarray, "positions columns"]
    initial: Float[np.ndarray, " states"]
    transitions: Float[np.ndarray, "states width"]
    final: Float[np.ndarray, " states"]


def log_partitions(chain: LinearChain, scores: EmissionScores) -> Float[np.ndarray, " batch"]:
    """Log-partition Z of each sequence, for an HMM the log-likelihood; 0 if it is empty."""
    found: np.ndarray = kernels("sums").log_partitions(
        *_chain_arrays(chain), *_scores_by_position(scores)
    )
    return found


def posteriors(
    chain: LinearChain, scores: EmissionScores, weights: Float[np.ndarray, " batch"] | None = None
) -> Posteriors:
    """Forward-backward algorithm: log-partitions, marginals and expected counts.

    Without weights no counts are summed over sequences.
    """
    weights = np.zeros(len(scores.lengths)) if weights is None else weights.astype(np.float64)
    arrays = (*_chain_arrays(chain), *_scores_by_position(scores))
    return Posteriors(*kernels("sums").posteriors(*arrays, weights))


def filtered_marginals(
    chain: LinearChain, scores: EmissionScores
) -> Float[np.ndarray, "positions columns"]:
    """p(y_t = i | emissions up to t) at each position; 0 where no path is possible."""
    first, transitions, products, _, successor, column = _chain_arrays(chain)
    found = np.zeros((len(scores.index), scores.table.shape[1]))
    for rows, start in zip(scores.by_sequence(), scores.offsets.tolist(), strict=False):
        if len(rows):
            exact = np.ascontiguousarray(rows, dtype=np.float64)
            sums = kernels("sums").forward(first, transitions, products, successor, column, exact)
            top = sums.max(1, keepdims=True)
            is_possible = np.isfinite(top)
            states = np.where(is_possible, np.exp(sums - np.where(is_possible, top, 0.0)), 0.0)
            states /= np.maximum(states.sum(1, keepdims=True), 1e-300)
            np.add.at(found[start : start + len(rows)].T, column, states.T)
    return found


def viterbi(
    chain: LinearChain, scores: EmissionScores
) -> tuple[Int[np.ndarray, " positions"], Float[np.ndarray, " batch"]]:
    """Viterbi: the states of the best path of each sequence, laid end to end, and its score."""
    table, index, offsets = _score_arrays(scores)
    found: tuple[np.ndarray, np.ndarray]
    if not chain.is_dense:
        arrays = (chain.initial, chain.transitions, chain.final, chain.successor, chain.column)
        found = kernels("paths").viterbi_banded(*arrays, table, index, offsets)
        return found
    more = -len(chain.initial) % UNROLL
    first, last = (
        np.pad(p, (0, more), constant_values=-np.inf) for p in (chain.initial, chain.final)
    )
    transitions = np.pad(chain.transitions, (0, more), constant_values=-np.inf)
    wider = np.pad(table, ((0, 0), (0, more))) if more else table
    transposed = np.ascontiguousarray(transitions.T)
    found = kernels("paths").viterbi_dense(
        first, transitions, transposed, last, wider, index, offsets
    )
    return found


def best_paths(
    chain: LinearChain, scores: EmissionScores, count: int
) -> list[list[tuple[Int[np.ndarray, " _"], float]]]:
    """k-best Viterbi: the best paths of each sequence and their scores; fewer if fewer exist."""
    arrays = (chain.initial, chain.transitions, chain.final, chain.successor, chain.column)
    found = []
    for rows in scores.by_sequence():
        if len(rows) == 0:
            found.append([(np.zeros(0, dtype=np.int64), 0.0)])
            continue
        states, tops = kernels("paths").best_paths(
            *arrays, np.ascontiguousarray(rows, np.float64), count
        )
        possible = zip(states, tops.tolist(), strict=True)
        found.append([(path, score) for path, score in possible if score > -np.inf])
    return found


def samples(
    chain: LinearChain,
    scores: Float[np.ndarray, "time columns"],
    uniforms: Float[np.ndarray, "samples time"],
) -> Int[np.ndarray, "samples time"]:
    """Sample paths of one sequence from the posterior, by random numbers from 0 to 1."""
    first, transitions, products, last, successor, column = _chain_arrays(chain)
    exact = np.ascontiguousarray(scores, dtype=np.float64)
    before = kernels("sums").forward(first, transitions, products, successor, column, exact)
    if not np.isfinite(before[-1] + last).any():
        raise ValueError("no path is possible: every path has the score -inf")
    found: np.ndarray = kernels("paths").sample(before, transitions, last, successor, uniforms)
    return found


def _chain_arrays(chain: LinearChain) -> tuple[np.ndarray, ...]:
    """The arrays of a chain, and exp(transitions) unless some score is too large or too small."""
    transitions = chain.transitions
    real = transitions[np.isfinite(transitions)]
    is_far = bool((np.abs(real) > -FAR / 2).any())
    products = np.empty((0, transitions.shape[1])) if is_far else np.exp(transitions)
    return chain.initial, transitions, products, chain.final, chain.successor, chain.column


def _score_arrays(scores: EmissionScores) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    table = np.ascontiguousarray(scores.table, dtype=np.float64)
    return table, scores.index.astype(np.int64), scores.offsets


def _scores_by_position(scores: EmissionScores) -> tuple[np.ndarray, np.ndarray]:
    """The scores of all positions in order, and where each sequence starts."""
    return np.ascontiguousarray(scores.table[scores.index], dtype=np.float64), scores.offsets
