"""What a hidden Markov model expects to have happened: one pass of Baum and Welch, compiled.

A number more than 1e-200 times smaller than another at the same place may count as 0, which
`quick.posteriors` never lets happen.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from .loops import loops
from .states import Lattice, Places

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
    likelihood, begun, moved, over, rows = loops("scaled").baum_welch(
        first, moves, columns, last, table, which, starts
    )
    shift = float(tops @ np.bincount(which, minlength=len(tops)))
    counts = (begun[:count], (moves * moved)[:count, :count], over[:count], rows[:, :count])
    return Expected(float(likelihood) + shift, *map(np.ascontiguousarray, counts))


def _ends(lattice: Lattice) -> tuple[np.ndarray, np.ndarray]:
    return lattice.first, lattice.last
