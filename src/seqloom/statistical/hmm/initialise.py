"""Initialisation of EM for HMMs of series: column means and deviations, k-means++ and k-means.

Before the first E-step a pass over the data gathers the scale of the columns and a sample of rows;
k-means (Lloyd, 1982) clusters the sample, and each state starts from one cluster.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from .emissions import ColumnScale, Rows

KEPT = 5000  # rows sampled from a batch
MOST = 20000  # rows that are clustered
BROAD = 3.0  # nats by which the log-likelihood before the first pass is worse than any start


@dataclass(frozen=True)
class ColumnMoments:
    """Count, mean and sum of squared deviations of each column; two can be added.

    Moments around means are merged (Chan, Golub and LeVeque, 1979), and not plain sums of squares,
    which would lose digits where columns lie far from 0.
    """

    count: Float[np.ndarray, " width"]
    mean: Float[np.ndarray, " width"]
    squares: Float[np.ndarray, " width"]

    @classmethod
    def of(cls, rows: Rows) -> "ColumnMoments":
        """Of the observed values."""
        observed = ~np.isnan(rows)
        count = observed.sum(0).astype(np.float64)
        mean = np.where(observed, rows, 0.0).sum(0) / np.maximum(count, 1)
        return cls(count, mean, (np.where(observed, rows - mean, 0.0) ** 2).sum(0))

    def __add__(self, other: "ColumnMoments") -> "ColumnMoments":
        count = self.count + other.count
        fraction = other.count / np.maximum(count, 1)
        difference = other.mean - self.mean
        squares = self.squares + other.squares + difference**2 * self.count * fraction
        return ColumnMoments(count, self.mean + difference * fraction, squares)

    def scale(self) -> ColumnScale:
        """Mean and standard deviation; 1 for a column that is constant or never observed."""
        deviation = np.sqrt(self.squares / np.maximum(self.count, 1))
        flat = deviation <= 1e-9 * np.maximum(np.abs(self.mean), 1e-300)
        return ColumnScale(self.mean, np.where(flat, 1.0, deviation))

    def is_constant(self) -> bool:
        """Whether every column is constant."""
        deviation = np.sqrt(self.squares / np.maximum(self.count, 1))
        return bool((deviation <= 1e-9 * np.abs(self.mean)).all())


@dataclass(frozen=True)
class InitialSample:
    """Statistics of the pass before EM: column moments, and a sample of rows with their facts.

    The facts of a row are the number of its HMM (one for each class), its label or -1, and its
    relative position: 0 for the first row of its series, just below 1 for the last. `series` is how
    many series each HMM has. Two samples can be added. The log-likelihood is a bound that any start
    exceeds, so that the first real pass always counts as progress.
    """

    log_likelihood: float
    moments: ColumnMoments
    series: Float[np.ndarray, " models"]
    rows: Rows
    facts: Float[np.ndarray, "rows 3"]

    def __add__(self, other: "InitialSample") -> "InitialSample":
        return InitialSample(
            self.log_likelihood + other.log_likelihood,
            self.moments + other.moments,
            self.series + other.series,
            np.concatenate([self.rows, other.rows]),
            np.concatenate([self.facts, other.facts]),
        )

    @classmethod
    def of(
        cls,
        rows: Rows,
        lengths: Int[np.ndarray, " series"],
        models: Int[np.ndarray, " series"],
        count: int,
        labels: Int[np.ndarray, " rows"] | None = None,
    ) -> "InitialSample":
        """Of several series, each belonging to one of `count` HMMs."""
        time = [np.arange(length) / max(1, length) for length in lengths.tolist()]
        states = np.full(len(rows), -1) if labels is None else labels
        positions = np.concatenate([*time, np.zeros(0)])
        facts = np.column_stack([np.repeat(models, lengths), states, positions]).astype(np.float64)
        bound = -(~np.isnan(rows)).sum() * BROAD - 2 * np.nansum(np.log1p(np.abs(rows)))
        series = np.bincount(models, minlength=count).astype(np.float64)
        keep = evenly_spaced(len(rows), KEPT)
        return cls(float(bound), ColumnMoments.of(rows), series, rows[keep], facts[keep])

    def of_model(self, number: int) -> tuple[Rows, Any]:
        """Rows of one HMM and their facts; of all HMMs where this one has no rows."""
        mine = np.flatnonzero(self.facts[:, 0] == number)
        mine = mine if len(mine) else np.arange(len(self.rows))
        mine = mine[~np.isnan(self.rows[mine]).all(1)]
        mine = mine[evenly_spaced(len(mine), MOST)]
        return self.rows[mine], self.facts[mine]


def evenly_spaced(length: int, most: int) -> Int[np.ndarray, " some"]:
    """At most so many indices, evenly spaced."""
    return np.unique(np.linspace(0, length - 1, min(length, most)).astype(np.int64))


ROUNDS = 20


def kmeans(
    rows: Rows, count: int, scale: ColumnScale, rng: np.random.Generator
) -> Int[np.ndarray, " rows"]:
    """k-means clustering: the cluster of each row; missing values count as the mean.

    Centres are initialised by k-means++ (Arthur and Vassilvitskii, 2007). Clusters are numbered by
    their first column, so that states come in a stable order.
    """
    flat = np.nan_to_num((rows - scale.mean) / scale.deviation)
    centres = flat[rng.integers(len(flat), size=1)]
    while len(centres) < count:
        distances = _squared_distances(flat, centres).min(1)
        total = distances.sum()
        # With fewer different rows than clusters all distances are 0: any row will do.
        probabilities = distances / total if total > 0 else np.full(len(flat), 1 / len(flat))
        chosen = rng.choice(len(flat), size=1, p=probabilities)
        centres = np.concatenate([centres, flat[chosen]])
    which = _squared_distances(flat, centres).argmin(1)
    for _ in range(ROUNDS):
        members = np.eye(count)[which]
        sizes = members.sum(0)[:, None]
        centres = np.where(sizes > 0, members.T @ flat / np.maximum(sizes, 1), centres)
        before, which = which, _squared_distances(flat, centres).argmin(1)
        if np.array_equal(before, which):
            break
    order = np.argsort(np.argsort(centres[:, 0], kind="stable"), kind="stable")
    return order[which]


def _squared_distances(
    flat: Rows, centres: Float[np.ndarray, "groups width"]
) -> Float[np.ndarray, "rows groups"]:
    # |x|² + |c|² - 2 x·c is one matrix product; rounding can take it just below 0.
    squares = (flat**2).sum(1)[:, None] + (centres**2).sum(1)
    return np.maximum(squares - 2 * flat @ centres.T, 0.0)
