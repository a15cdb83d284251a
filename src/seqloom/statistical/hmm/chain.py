"""What a lattice is made of: states, moves between them, and scores at each place."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from ...batch import mask_of


@dataclass(frozen=True)
class Lattice:
    """Scores of beginning in a state, of moving from one to another, and of ending, in nats.

    From state i a path goes on to one of `width` states in a row, of which `onto[i]` is the first;
    `moves[i, b]` is the score of going to state onto[i] + b. -inf is a move that cannot be. Where
    every state can follow every other, the width is the number of states and `onto` is 0.

    `seen` is what is seen of a state: its column in the scores of places. Several states can have
    one, as the pairs of labels that end with the same.
    """

    first: Float[np.ndarray, " states"]
    moves: Float[np.ndarray, "states width"]
    last: Float[np.ndarray, " states"]
    onto: Int[np.ndarray, " states"]
    seen: Int[np.ndarray, " states"]

    @classmethod
    def of(
        cls,
        first: Float[np.ndarray, " states"],
        moves: Float[np.ndarray, "states states"],
        last: Float[np.ndarray, " states"],
    ) -> "Lattice":
        """Any state after any other."""
        count = len(first)
        onto = np.zeros(count, dtype=np.int64)
        return cls(_exact(first), _exact(moves), _exact(last), onto, np.arange(count))

    @classmethod
    def of_pairs(
        cls,
        first: Float[np.ndarray, " labels"],
        second: Float[np.ndarray, "labels labels"],
        moves: Float[np.ndarray, "labels labels labels"],
        last: Float[np.ndarray, "labels_1 labels"],
    ) -> "Lattice":
        """The label before and the label now are one state, so that a move knows two labels back.

        `second` is the score of a label after the first alone, `moves` after two. State h·n + j is
        label j after label h; h = n stands for nothing, where j is the first. `last` has such a
        row, too.
        """
        count = len(first)
        begun = np.full((count + 1, count), -np.inf)
        begun[count] = first
        after = np.concatenate([moves, second[None]])  # (two back, one back, now)
        now = np.tile(np.arange(count), count + 1)
        rows = _exact(after.reshape(-1, count))
        return cls(begun.ravel(), rows, _exact(last.ravel()), now * count, now)

    @property
    def is_dense(self) -> bool:
        """Whether every state can follow every other, each with a column of its own."""
        count, width = self.moves.shape
        return count == width and bool((self.seen == np.arange(count)).all())

    def matrix(self) -> Float[np.ndarray, "states states"]:
        """The scores of all moves."""
        count, width = self.moves.shape
        found = np.full((count, count), -np.inf)
        np.put_along_axis(found, self.onto[:, None] + np.arange(width), self.moves, axis=1)
        return found


@dataclass(frozen=True)
class Places:
    """How well what was seen fits each column, for the places of several sequences in a row.

    Place p has row `which[p]` of the table: of symbols, which come again and again, each has a row.
    """

    table: Float[np.ndarray, "rows columns"]
    which: Int[np.ndarray, " places"]
    lengths: Int[np.ndarray, " batch"]

    @classmethod
    def of(
        cls, scores: Float[np.ndarray, "batch time columns"], lengths: Int[np.ndarray, " batch"]
    ) -> "Places":
        """From padded scores."""
        real = scores[mask_of(lengths, scores.shape[1])]
        return cls(np.ascontiguousarray(real, dtype=np.float64), np.arange(len(real)), lengths)

    @property
    def starts(self) -> Int[np.ndarray, " batch_1"]:
        """Where each sequence starts, and where the last one ends."""
        return np.concatenate([[0], np.cumsum(self.lengths)]).astype(np.int64)

    def rows(self) -> list[Float[np.ndarray, "_ columns"]]:
        """The scores of each sequence."""
        starts = self.starts
        pairs = zip(starts[:-1], starts[1:], strict=True)
        return [self.table[self.which[start:end]] for start, end in pairs]


def _exact(scores: Float[np.ndarray, "*shape"]) -> Float[np.ndarray, "*shape"]:
    """In double precision and in order, as compiled loops want it."""
    return np.ascontiguousarray(scores, dtype=np.float64)
