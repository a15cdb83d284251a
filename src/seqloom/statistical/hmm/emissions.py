"""What every kind of emission can do."""

from abc import ABC, abstractmethod
from dataclasses import dataclass, fields
from typing import ClassVar, TypeVar

import numpy as np
from jaxtyping import Float, Int

Rows = Float[np.ndarray, "rows width"]
Chances = Float[np.ndarray, "rows states"]
Kind = TypeVar("Kind", bound="Emission")


@dataclass(frozen=True)
class Ground:
    """Where the numbers of each column lie, and how far they are spread: a mean and a deviation.

    Sums are taken of numbers less their mean, so that none is lost where they lie far from 0; and
    no state may become narrower than a share of the spread.
    """

    centre: Float[np.ndarray, " width"]
    spread: Float[np.ndarray, " width"]


@dataclass(frozen=True)
class Moments:
    """Sums over rows, from which states are learned; two of them can be added."""

    sums: tuple[Float[np.ndarray, "..."], ...]

    def __add__(self, other: "Moments") -> "Moments":
        return Moments(tuple(a + b for a, b in zip(self.sums, other.sums, strict=True)))


@dataclass(frozen=True)
class Emission(ABC):
    """What the states show; every array has a row for each state."""

    is_counted: ClassVar[bool] = False  # whether numbers are counts: whole, and not negative

    @classmethod
    @abstractmethod
    def blank(cls: type[Kind], states: int, components: int, ground: Ground) -> Kind:
        """States that are all alike: anything can be."""

    @abstractmethod
    def scores(self, rows: Rows) -> Chances:
        """How well each row fits each state: log p(row | state)."""

    @abstractmethod
    def moments(self, rows: Rows, chances: Chances, ground: Ground) -> Moments:
        """What rows with these chances of states add to what is known."""

    @abstractmethod
    def learned(self: Kind, moments: Moments, ground: Ground, floor: float) -> Kind:
        """The states that fit best; one that was never visited stays as it is."""

    def started(
        self: Kind,
        rows: Rows,
        groups: Int[np.ndarray, " rows"],
        ground: Ground,
        floor: float,
        chance: np.random.Generator,
    ) -> Kind:
        """States that each fit a group of rows."""
        count = self.means().shape[0]
        return self.learned(self.moments(rows, np.eye(count)[groups], ground), ground, floor)

    @abstractmethod
    def means(self) -> Float[np.ndarray, "states width"]:
        """The mean that each state shows."""

    @abstractmethod
    def deviations(self) -> Float[np.ndarray, "states width"]:
        """How far each state strays from its mean: a standard deviation."""

    @abstractmethod
    def drawn(
        self, states: Int[np.ndarray, " rows"], chance: np.random.Generator
    ) -> Float[np.ndarray, "rows width"]:
        """A row drawn at random of each of these states."""

    @abstractmethod
    def quantiles(
        self, chances: Chances, levels: Float[np.ndarray, " levels"]
    ) -> Float[np.ndarray, "rows width levels"]:
        """Of each number by itself, where states have these chances: what shares lie below."""

    @classmethod
    def names(cls) -> list[str]:
        """What its arrays are called."""
        return [field.name for field in fields(cls)]


def filled(rows: Rows) -> tuple[Rows, Rows | None]:
    """Rows with 0 for what is missing, and 1.0 where a number is there; None where all are."""
    lost = np.isnan(rows)
    if not lost.any():
        return rows, None
    return np.where(lost, 0.0, rows), (~lost).astype(np.float64)


def weighed(
    chances: Chances, values: Rows, here: Rows | None
) -> tuple[Float[np.ndarray, "states width"], Float[np.ndarray, "states width"]]:
    """How often each number of each state was observed, and the sum of its values."""
    if here is not None:
        return chances.T @ here, chances.T @ values
    often = np.ones(len(chances)) @ chances  # several times as fast as a sum over so short rows
    return np.repeat(often[:, None], values.shape[1], 1), chances.T @ values
