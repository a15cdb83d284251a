"""A linear chain: initial, transition and final scores of states, and emission scores by position.

The scores of an HMM are log-probabilities; those of a linear-chain CRF can be any numbers.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from ...batch import length_mask


@dataclass(frozen=True)
class LinearChain:
    """Initial scores, transition matrix and final scores of an HMM or a linear-chain CRF, in nats.

    Transitions are stored as a band: from state i a path goes on to one of `width` states in a row,
    of which `successor[i]` is the first; `transitions[i, b]` is the score of going to state
    successor[i] + b. -inf is a transition that is impossible. In a dense chain every state can
    follow every other: the width is the number of states and `successor` is 0.

    `column[i]` is the column of state i in the table of emission scores. Several states can share
    one: in a second-order chain all pairs of labels that end with the same label.
    """

    initial: Float[np.ndarray, " states"]
    transitions: Float[np.ndarray, "states width"]
    final: Float[np.ndarray, " states"]
    successor: Int[np.ndarray, " states"]
    column: Int[np.ndarray, " states"]

    @classmethod
    def first_order(
        cls,
        initial: Float[np.ndarray, " states"],
        transitions: Float[np.ndarray, "states states"],
        final: Float[np.ndarray, " states"],
    ) -> "LinearChain":
        """A first-order Markov chain: the next state depends on one state."""
        count = len(initial)
        successor = np.zeros(count, dtype=np.int64)
        return cls(
            _contiguous(initial),
            _contiguous(transitions),
            _contiguous(final),
            successor,
            np.arange(count),
        )

    @classmethod
    def second_order(
        cls,
        initial: Float[np.ndarray, " labels"],
        second: Float[np.ndarray, "labels labels"],
        transitions: Float[np.ndarray, "labels labels labels"],
        final: Float[np.ndarray, "labels_1 labels"],
    ) -> "LinearChain":
        """A second-order Markov chain: states are pairs of labels, so a transition knows both.

        `second` is the score of a label after the first alone, `transitions` after two. State
        h·n + j is label j after label h; h = n stands for no label, where j is the first. `final`
        has such a row, too.
        """
        count = len(initial)
        begun = np.full((count + 1, count), -np.inf)
        begun[count] = initial
        after = np.concatenate([transitions, second[None]])  # (two back, one back, now)
        now = np.tile(np.arange(count), count + 1)
        rows = _contiguous(after.reshape(-1, count))
        # State h·n + j can only lead to the n states j·n + k: a band of width n instead of a
        # matrix of (n + 1)·n columns, most of which would be -inf.
        return cls(begun.ravel(), rows, _contiguous(final.ravel()), now * count, now)

    @property
    def is_dense(self) -> bool:
        """Whether every state can follow every other, each with an emission column of its own."""
        count, width = self.transitions.shape
        return count == width and bool((self.column == np.arange(count)).all())

    def transition_matrix(self) -> Float[np.ndarray, "states states"]:
        """The scores of all transitions as a square matrix, -inf outside the band."""
        count, width = self.transitions.shape
        matrix = np.full((count, count), -np.inf)
        columns = self.successor[:, None] + np.arange(width)
        np.put_along_axis(matrix, columns, self.transitions, axis=1)
        return matrix


@dataclass(frozen=True)
class EmissionScores:
    """Emission scores of several sequences laid end to end, one column for each kind of emission.

    Position p has row `index[p]` of the table. Tokens recur, so the table of a token model has one
    row for each token of the vocabulary; that of a CRF has one row for each position.
    """

    table: Float[np.ndarray, "rows columns"]
    index: Int[np.ndarray, " positions"]
    lengths: Int[np.ndarray, " batch"]

    @classmethod
    def from_padded(
        cls, scores: Float[np.ndarray, "batch time columns"], lengths: Int[np.ndarray, " batch"]
    ) -> "EmissionScores":
        """From a padded batch of scores."""
        real = scores[length_mask(lengths, scores.shape[1])]
        return cls(np.ascontiguousarray(real, dtype=np.float64), np.arange(len(real)), lengths)

    @property
    def offsets(self) -> Int[np.ndarray, " batch_1"]:
        """Where each sequence starts, and where the last one ends."""
        return np.concatenate([[0], np.cumsum(self.lengths)]).astype(np.int64)

    def by_sequence(self) -> list[Float[np.ndarray, "_ columns"]]:
        """The scores of each sequence."""
        offsets = self.offsets
        pairs = zip(offsets[:-1], offsets[1:], strict=True)
        return [self.table[self.index[start:end]] for start, end in pairs]


def _contiguous(scores: Float[np.ndarray, "*shape"]) -> Float[np.ndarray, "*shape"]:
    """In double precision and C order: kernels are compiled for this one layout."""
    return np.ascontiguousarray(scores, dtype=np.float64)
