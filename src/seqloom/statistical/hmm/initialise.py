"""A first look at rows, before anything is learned from them: where they lie, and some of them.

Where learning starts: rows that are alike in groups, found by k-means (Lloyd, 1982).
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from .emissions import Ground, Rows

KEPT = 5000  # rows of a batch
MOST = 20000  # rows that groups are made of
BROAD = 3.0  # nats by which a guess before the first look is worse than any start


@dataclass(frozen=True)
class Spread:
    """How many numbers each column has, their mean, and the sum of squares around it."""

    count: Float[np.ndarray, " width"]
    mean: Float[np.ndarray, " width"]
    squares: Float[np.ndarray, " width"]

    @classmethod
    def of(cls, rows: Rows) -> "Spread":
        """Of the numbers that are there."""
        seen = ~np.isnan(rows)
        count = seen.sum(0).astype(np.float64)
        mean = np.where(seen, rows, 0.0).sum(0) / np.maximum(count, 1)
        return cls(count, mean, (np.where(seen, rows - mean, 0.0) ** 2).sum(0))

    def __add__(self, other: "Spread") -> "Spread":
        count = self.count + other.count
        share = other.count / np.maximum(count, 1)
        apart = other.mean - self.mean
        squares = self.squares + other.squares + apart**2 * self.count * share
        return Spread(count, self.mean + apart * share, squares)

    def ground(self) -> Ground:
        """Mean and deviation; 1 for a column that never changes, or is never there."""
        deviation = np.sqrt(self.squares / np.maximum(self.count, 1))
        flat = deviation <= 1e-9 * np.maximum(np.abs(self.mean), 1e-300)
        return Ground(self.mean, np.where(flat, 1.0, deviation))

    def is_flat(self) -> bool:
        """Whether no column ever changes."""
        deviation = np.sqrt(self.squares / np.maximum(self.count, 1))
        return bool((deviation <= 1e-9 * np.abs(self.mean)).all())


@dataclass(frozen=True)
class Sketch:
    """Some rows, each with the walk it belongs to, the state it is told to be in, and its place.

    A place is from 0 for the first row of its series to just below 1; a state that is not told is
    -1. Two of them can be added. The likelihood is that of a guess that any start is better than.
    """

    log_likelihood: float
    spread: Spread
    series: Float[np.ndarray, " walks"]
    rows: Rows
    facts: Float[np.ndarray, "rows 3"]

    def __add__(self, other: "Sketch") -> "Sketch":
        return Sketch(
            self.log_likelihood + other.log_likelihood,
            self.spread + other.spread,
            self.series + other.series,
            np.concatenate([self.rows, other.rows]),
            np.concatenate([self.facts, other.facts]),
        )

    @classmethod
    def of(
        cls,
        rows: Rows,
        lengths: Int[np.ndarray, " series"],
        walks: Int[np.ndarray, " series"],
        count: int,
        told: Int[np.ndarray, " rows"] | None = None,
    ) -> "Sketch":
        """Of several series, each of one of so many walks."""
        time = [np.arange(length) / max(1, length) for length in lengths.tolist()]
        states = np.full(len(rows), -1) if told is None else told
        places = np.concatenate([*time, np.zeros(0)])
        facts = np.column_stack([np.repeat(walks, lengths), states, places]).astype(np.float64)
        guess = -(~np.isnan(rows)).sum() * BROAD - 2 * np.nansum(np.log1p(np.abs(rows)))
        series = np.bincount(walks, minlength=count).astype(np.float64)
        keep = evenly(len(rows), KEPT)
        return cls(float(guess), Spread.of(rows), series, rows[keep], facts[keep])

    def of_walk(self, number: int) -> tuple[Rows, Any]:
        """Rows of this walk, and what is known of them; of any walk where this one has none."""
        mine = np.flatnonzero(self.facts[:, 0] == number)
        mine = mine if len(mine) else np.arange(len(self.rows))
        mine = mine[~np.isnan(self.rows[mine]).all(1)]
        mine = mine[evenly(len(mine), MOST)]
        return self.rows[mine], self.facts[mine]


def evenly(length: int, most: int) -> Int[np.ndarray, " some"]:
    """At most so many places, evenly spread."""
    return np.unique(np.linspace(0, length - 1, min(length, most)).astype(np.int64))


ROUNDS = 20


def groups_of(
    rows: Rows, count: int, ground: Ground, chance: np.random.Generator
) -> Int[np.ndarray, " rows"]:
    """To which of so many groups each row belongs; what is missing counts as the middle.

    The first middles are drawn, each far from those before it (Arthur and Vassilvitskii, 2007).
    Groups have the order of their first number.
    """
    flat = np.nan_to_num((rows - ground.centre) / ground.spread)
    middles = flat[chance.integers(len(flat), size=1)]
    while len(middles) < count:
        far = _distances(flat, middles).min(1)
        total = far.sum()
        shares = far / total if total > 0 else np.full(len(flat), 1 / len(flat))
        middles = np.concatenate([middles, flat[chance.choice(len(flat), size=1, p=shares)]])
    which = _distances(flat, middles).argmin(1)
    for _ in range(ROUNDS):
        each = np.eye(count)[which]
        often = each.sum(0)[:, None]
        middles = np.where(often > 0, each.T @ flat / np.maximum(often, 1), middles)
        before, which = which, _distances(flat, middles).argmin(1)
        if np.array_equal(before, which):
            break
    order = np.argsort(np.argsort(middles[:, 0], kind="stable"), kind="stable")
    return order[which]


def _distances(
    flat: Rows, middles: Float[np.ndarray, "groups width"]
) -> Float[np.ndarray, "rows groups"]:
    squares = (flat**2).sum(1)[:, None] + (middles**2).sum(1)
    return np.maximum(squares - 2 * flat @ middles.T, 0.0)
