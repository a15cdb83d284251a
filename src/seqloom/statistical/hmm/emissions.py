"""Emission distributions of an HMM: the interface p(row | state) that each of them implements."""

from abc import ABC, abstractmethod
from dataclasses import dataclass, fields
from typing import ClassVar, TypeVar

import numpy as np
from jaxtyping import Float, Int

Rows = Float[np.ndarray, "rows width"]
Probabilities = Float[np.ndarray, "rows states"]
Kind = TypeVar("Kind", bound="Emission")


@dataclass(frozen=True)
class ColumnScale:
    """Mean and standard deviation of each column of the training data.

    Sums of squares are taken around this mean, because Σ x² - (Σ x)² / n loses all digits where the
    mean is large beside the deviation. The floor on variances is relative to this deviation.
    """

    mean: Float[np.ndarray, " width"]
    deviation: Float[np.ndarray, " width"]


@dataclass(frozen=True)
class SufficientStatistics:
    """Expected sufficient statistics of an emission distribution; two of them can be added."""

    sums: tuple[Float[np.ndarray, "..."], ...]

    def __add__(self, other: "SufficientStatistics") -> "SufficientStatistics":
        return SufficientStatistics(
            tuple(a + b for a, b in zip(self.sums, other.sums, strict=True))
        )


@dataclass(frozen=True)
class Emission(ABC):
    """An emission distribution p(row | state); every parameter has a row for each state."""

    is_count: ClassVar[bool] = False  # whether observations are counts: whole and not negative

    @classmethod
    @abstractmethod
    def blank(cls: type[Kind], states: int, components: int, scale: ColumnScale) -> Kind:
        """The same distribution for every state, before training."""

    @abstractmethod
    def log_probs(self, rows: Rows) -> Probabilities:
        """log p(row | state) of each row in each state."""

    @abstractmethod
    def statistics(
        self, rows: Rows, probabilities: Probabilities, scale: ColumnScale
    ) -> SufficientStatistics:
        """E-step: sufficient statistics of rows with these posterior probabilities of states."""

    @abstractmethod
    def m_step(
        self: Kind, statistics: SufficientStatistics, scale: ColumnScale, floor: float
    ) -> Kind:
        """M-step: the maximum likelihood estimate; a state that was never visited keeps its own."""

    def fit_groups(
        self: Kind,
        rows: Rows,
        groups: Int[np.ndarray, " rows"],
        scale: ColumnScale,
        floor: float,
        rng: np.random.Generator,
    ) -> Kind:
        """Fit each state to one group of rows, as a start for EM."""
        count = self.means().shape[0]
        return self.m_step(self.statistics(rows, np.eye(count)[groups], scale), scale, floor)

    @abstractmethod
    def means(self) -> Float[np.ndarray, "states width"]:
        """The mean of each state."""

    @abstractmethod
    def deviations(self) -> Float[np.ndarray, "states width"]:
        """The standard deviation of each state."""

    @abstractmethod
    def sample(
        self, states: Int[np.ndarray, " rows"], rng: np.random.Generator
    ) -> Float[np.ndarray, "rows width"]:
        """Sample a row from each of these states."""

    @abstractmethod
    def quantiles(
        self, probabilities: Probabilities, levels: Float[np.ndarray, " levels"]
    ) -> Float[np.ndarray, "rows width levels"]:
        """Marginal quantiles of each column under a mixture of states with these probabilities."""

    @classmethod
    def parameter_names(cls) -> list[str]:
        """The names of its parameters, which are also those of the weights on disk."""
        return [field.name for field in fields(cls)]


def zero_filled(rows: Rows) -> tuple[Rows, Rows | None]:
    """Rows with 0 for missing values, and a mask of observed ones; None if nothing is missing."""
    missing = np.isnan(rows)
    if not missing.any():
        return rows, None
    return np.where(missing, 0.0, rows), (~missing).astype(np.float64)


def weighted_sums(
    probabilities: Probabilities, values: Rows, observed: Rows | None
) -> tuple[Float[np.ndarray, "states width"], Float[np.ndarray, "states width"]]:
    """Σ c and Σ c x of each state and column over observed values; c are the probabilities."""
    if observed is not None:
        return probabilities.T @ observed, probabilities.T @ values
    # A product with ones is several times as fast as .sum(0) over rows as short as these.
    count = np.ones(len(probabilities)) @ probabilities
    return np.repeat(count[:, None], values.shape[1], 1), probabilities.T @ values
