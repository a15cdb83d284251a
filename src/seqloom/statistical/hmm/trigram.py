"""Second-order transitions of many labels, stored sparsely, and coarse-to-fine pruning.

A dense table of n labels has n³ entries, and a lattice of label pairs n³ transitions at each
position. With hundreds of labels both are out of reach, though hardly any trigram was ever seen and
few labels are likely at a position. So only trigrams that were seen are stored, and a first-order
chain chooses the labels of a sentence over which the second-order chain is then exact (coarse-to-
fine; Charniak & Johnson, 2005).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Bool, Float, Int

from ..ngram.smoothing import UNSEEN_COUNT
from . import compiled
from .chain import EmissionScores, LinearChain

TINY = 1e-300
MOST_KEPT = 127  # states of a pruned lattice; its table has the cube of that many entries


@dataclass(frozen=True)
class TrigramTransitions:
    """p(t | u v) ∝ lower(v, t) + upper(u, v, t), from deleted interpolation (Brants, 2000).

    lower(v, t) = λ₁ p̂(t) + λ₂ p̂(t | v) of all bigrams, upper(u, v, t) = λ₃ p̂(t | u v) of the
    trigrams that were seen. The last of the `size` labels is the border of a sentence. `allowed`
    are the bigrams that a label scheme does not forbid; others have the probability 0.
    """

    lower: Float[np.ndarray, "size size"]
    keys: Int[np.ndarray, " seen"]  # (u · size + v) · size + t, rising
    upper: Float[np.ndarray, " seen"]
    allowed: Bool[np.ndarray, "size size"]

    @classmethod
    def uniform(cls, allowed: Bool[np.ndarray, "size size"]) -> "TrigramTransitions":
        """All labels alike, before training."""
        none = np.zeros(0, dtype=np.int64)
        return cls(np.full(allowed.shape, 1 / len(allowed)), none, np.zeros(0), allowed)

    @classmethod
    def from_counts(
        cls,
        trigrams: Int[np.ndarray, "seen 3"],
        counts: Float[np.ndarray, " seen"],
        allowed: Bool[np.ndarray, "size size"],
    ) -> "TrigramTransitions":
        """From the counts of distinct trigrams, as `deleted_interpolation` of a dense table."""
        u, v, t = trigrams.T
        size, total = len(allowed), counts.sum()
        ones, pairs = np.bincount(t, counts, size), np.zeros((size, size))
        np.add.at(pairs, (v, t), counts)
        starts = pairs.sum(1)  # how often v is a context of one label
        contexts = np.zeros((size, size))
        np.add.at(contexts, (u, v), counts)
        deleted = [
            (ones[t] - 1) / max(total - 1, 1),
            (pairs[v, t] - 1) / np.maximum(starts[v] - 1, 1),
            (counts - 1) / np.maximum(contexts[u, v] - 1, 1),
        ]
        votes = np.bincount(np.argmax(deleted, axis=0), counts, 3) + 1
        weights = votes / votes.sum()
        single = (ones + UNSEEN_COUNT) / (total + UNSEEN_COUNT * size)
        lower = weights[0] * single + weights[1] * pairs / np.maximum(starts, 1)[:, None]
        keys = (u * size + v) * size + t
        order = np.argsort(keys)
        upper = weights[2] * counts / contexts[u, v]
        return cls(lower, keys[order], upper[order], allowed)

    @classmethod
    def from_arrays(
        cls, arrays: Mapping[str, np.ndarray], allowed: Bool[np.ndarray, "size size"]
    ) -> "TrigramTransitions":
        """From arrays as returned by `arrays`."""
        return cls(arrays["moves.lower"], arrays["moves.keys"], arrays["moves.upper"], allowed)

    def arrays(self) -> dict[str, np.ndarray]:
        """What was learned, by name."""
        return {"moves.lower": self.lower, "moves.keys": self.keys, "moves.upper": self.upper}

    def log_probs(
        self, u: Int[np.ndarray, " few"], v: Int[np.ndarray, " few"], t: Int[np.ndarray, " few"]
    ) -> Float[np.ndarray, " few"]:
        """log p(t | u v) of single trigrams."""
        size, found = len(self.lower), np.zeros(len(t))
        if len(self.keys):
            keys = (u * size + v) * size + t
            places = np.minimum(np.searchsorted(self.keys, keys), len(self.keys) - 1)
            found = np.where(self.keys[places] == keys, self.upper[places], 0.0)
        mass = np.maximum(self._lower_mass[v] + self._upper_mass[u, v], TINY)
        with np.errstate(divide="ignore"):
            return np.log(np.where(self.allowed[v, t], self.lower[v, t] + found, 0.0) / mass)

    def coarse_chain(self) -> LinearChain:
        """The first-order chain p(t | v) ∝ lower(v, t), over all labels."""
        possible = np.where(self.allowed, self.lower, 0.0)
        with np.errstate(divide="ignore"):
            log = np.log(possible / np.maximum(self._lower_mass, TINY)[:, None])
        return LinearChain.first_order(log[-1, :-1], log[:-1, :-1], log[:-1, -1])

    def chain(self, kept: Int[np.ndarray, " kept"]) -> LinearChain:
        """The second-order chain over some labels, with the probabilities they have among all."""
        n, which = len(kept), np.append(kept, len(self.lower) - 1)
        place = np.full(len(self.lower), -1)
        place[which] = np.arange(n + 1)
        bigrams = np.ix_(which, which)
        table = np.tile(np.where(self.allowed, self.lower, 0.0)[bigrams], (n + 1, 1, 1))
        u, v, t = (place[label] for label in self._seen)
        inside = (u >= 0) & (v >= 0) & (t >= 0)
        table[u[inside], v[inside], t[inside]] += self._possible_upper[inside]
        mass = self._lower_mass[which] + self._upper_mass[bigrams]
        with np.errstate(divide="ignore"):
            log = np.log(table / np.maximum(mass, TINY)[:, :, None])
        last = np.concatenate([log[:n, :n, n], log[n:, :n, n]])
        return LinearChain.second_order(log[n, n, :n], log[n, :n, :n], log[:n, :n, :n], last)

    @cached_property
    def _seen(self) -> tuple[Int[np.ndarray, " seen"], ...]:
        """The labels u, v and t of all trigrams that were seen."""
        pairs, last = np.divmod(self.keys, len(self.lower))
        return (*np.divmod(pairs, len(self.lower)), last)

    @cached_property
    def _possible_upper(self) -> Float[np.ndarray, " seen"]:
        _, v, t = self._seen
        return np.where(self.allowed[v, t], self.upper, 0.0)

    @cached_property
    def _lower_mass(self) -> Float[np.ndarray, " size"]:
        """Σ_t lower(v, t) over what is allowed."""
        total: np.ndarray = np.where(self.allowed, self.lower, 0.0).sum(1)
        return total

    @cached_property
    def _upper_mass(self) -> Float[np.ndarray, "size size"]:
        """Σ_t upper(u, v, t) over what is allowed."""
        total = np.zeros(self.lower.shape)
        np.add.at(total, self._seen[:2], self._possible_upper)
        return total


@dataclass(frozen=True)
class Lattice:
    """A chain with the emission scores of some sequences; column j stands for `labels[j]`."""

    chain: LinearChain
    scores: EmissionScores
    labels: Int[np.ndarray, " columns"]

    def path_labels(self, path: Int[np.ndarray, " positions"]) -> Int[np.ndarray, " positions"]:
        """The labels of a path of states."""
        return self.labels[self.chain.column[path]]

    def over_all(
        self, values: Float[np.ndarray, "positions columns"], size: int
    ) -> Float[np.ndarray, "positions size"]:
        """Values of columns as values of all labels; 0 for those that were pruned."""
        found = np.zeros((len(values), size))
        found[:, self.labels] = values
        return found


def log_partitions(lattices: Sequence[Lattice]) -> Float[np.ndarray, " sequences"]:
    """The log-partition of each sequence."""
    parts = [compiled.log_partitions(lattice.chain, lattice.scores) for lattice in lattices]
    return np.concatenate([np.zeros(0), *parts])


def best_labels(
    lattices: Sequence[Lattice],
) -> tuple[Int[np.ndarray, " positions"], Float[np.ndarray, " sequences"]]:
    """Viterbi: the best labels of all sequences, laid end to end, and their scores."""
    labels, scores = [np.zeros(0, dtype=np.int64)], [np.zeros(0)]
    for lattice in lattices:
        path, found = compiled.viterbi(lattice.chain, lattice.scores)
        labels.append(lattice.path_labels(path))
        scores.append(found)
    return np.concatenate(labels), np.concatenate(scores)


def pruned_lattices(
    transitions: TrigramTransitions, scores: EmissionScores, threshold: float
) -> list[Lattice]:
    """The second-order lattice of each sequence, over the labels that are likely in it.

    A label is kept where its posterior probability under the first-order chain is at least the
    threshold, and along a path that is possible, so that no sequence loses all paths. Where more
    than `MOST_KEPT` labels of a sequence are left, the threshold rises.
    """
    coarse = transitions.coarse_chain()
    likely = compiled.posteriors(coarse, scores).marginals
    # Where every label can follow every other, the likeliest labels are a path, too.
    best = likely.argmax(1)
    if not transitions.allowed.all():
        best, _ = compiled.viterbi(coarse, scores)
    likely[np.arange(len(best)), best] = 1.0
    found, offsets = [], scores.offsets.tolist()
    for start, end in zip(offsets[:-1], offsets[1:], strict=True):
        here, least = likely[start:end], threshold
        while (here >= least).any(0).sum() > MOST_KEPT and least < 1:
            least *= 10
        kept = np.flatnonzero((here >= least).any(0)) if start < end else np.zeros(1, np.int64)
        table = np.where(here >= least, scores.table[scores.index[start:end]], -np.inf)[:, kept]
        lengths = np.array([end - start])
        rows = EmissionScores(np.ascontiguousarray(table), np.arange(end - start), lengths)
        found.append(Lattice(transitions.chain(kept), rows, kept))
    return found
