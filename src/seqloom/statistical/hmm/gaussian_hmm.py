"""A walk through hidden states, and what they show: a hidden Markov model of a series."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Float, Int

from . import compiled
from .chain import Lattice, Places
from .compiled import loops
from .emissions import Emission, Ground, Moments, Rows
from .gaussian import Diagonal, Full, Mixture, Poisson

KINDS: dict[str, type[Emission]] = {
    "diagonal": Diagonal,
    "full": Full,
    "poisson": Poisson,
    "mixture": Mixture,
}
FAR = -600.0  # nats below the best state at which one may be lost where sums are scaled
Lengths = Int[np.ndarray, " series"]


@dataclass(frozen=True)
class Visited:
    """What a pass over series found, on average over all paths; two of them can be added."""

    log_likelihood: float
    first: Float[np.ndarray, " states"]
    moves: Float[np.ndarray, "states states"]
    moments: Moments

    def __add__(self, other: "Visited") -> "Visited":
        return Visited(
            self.log_likelihood + other.log_likelihood,
            self.first + other.first,
            self.moves + other.moves,
            self.moments + other.moments,
        )


@dataclass(frozen=True)
class Regimes:
    """p(x, z) = first(z₁) Π_{t>1} moves(z_{t-1}, z_t) Π_t p(x_t | z_t).

    Rows of several series are given one after another, with the length of each.
    """

    first: Float[np.ndarray, " states"]
    moves: Float[np.ndarray, "states states"]
    shown: Emission

    @classmethod
    def blank(
        cls, shown: Emission, states: int, *, left_to_right: bool, stay: float = 0.5
    ) -> "Regimes":
        """Any state may be first and follow any other; or they come in their order, none twice."""
        if not left_to_right:
            even = np.full(states, 1 / states)
            return cls(even, stay * np.eye(states) + (1 - stay) * even, shown)
        moves = stay * np.eye(states) + (1 - stay) * np.eye(states, k=1)
        moves[-1, -1] = 1.0
        return cls(np.eye(states)[0], moves, shown)

    @cached_property
    def lattice(self) -> Lattice:
        """The scores of first states and of moves, in nats."""
        with np.errstate(divide="ignore"):
            return Lattice.of(np.log(self.first), np.log(self.moves), np.zeros(len(self.first)))

    def places(self, rows: Rows, lengths: Lengths) -> Places:
        """How well each row fits each state."""
        return Places(self.shown.scores(rows), np.arange(len(rows)), lengths)

    def totals(self, rows: Rows, lengths: Lengths) -> Float[np.ndarray, " series"]:
        """log p(x) of each series, over all paths."""
        return compiled.totals(self.lattice, self.places(rows, lengths))

    def chances(self, rows: Rows, lengths: Lengths) -> Float[np.ndarray, "rows states"]:
        """p(z_t | x) at each row, given the whole series."""
        return compiled.posteriors(self.lattice, self.places(rows, lengths)).chances

    def path(self, rows: Rows, lengths: Lengths) -> Int[np.ndarray, " rows"]:
        """The likeliest states together (Viterbi)."""
        return compiled.viterbi(self.lattice, self.places(rows, lengths))[0]

    def visited(self, rows: Rows, lengths: Lengths, ground: Ground) -> Visited:
        """How likely the series are, and how often everything happens on average."""
        places = self.places(rows, lengths)
        if self._may_lose(places):
            sums = compiled.posteriors(self.lattice, places, np.ones(len(lengths)))
            moments = self.shown.moments(rows, sums.chances, ground)
            return Visited(float(sums.totals.sum()), sums.first, sums.moves, moments)
        likelihood, chances, moves = self._walked(places)
        starts = places.starts[:-1][lengths > 0]
        moments = self.shown.moments(rows, chances, ground)
        return Visited(likelihood, chances[starts].sum(0), moves, moments)

    def _walked(
        self, places: Places
    ) -> tuple[float, Float[np.ndarray, "rows states"], Float[np.ndarray, "states states"]]:
        """log p of all series, the chances of states at each row, and how often each move is.

        The scores of places are written over.
        """
        fits, moved = places.table, np.zeros_like(self.moves)
        best = loops("emissions").below_the_best(fits)
        np.exp(fits, out=fits)
        columns = np.ascontiguousarray(self.moves.T)
        walked = self.first, self.moves, columns, fits, places.starts, moved
        likelihood = float(loops("emissions").baum_welch(*walked) + best)
        return likelihood, fits, self.moves * moved

    def futures(
        self,
        chances: Float[np.ndarray, " states"],
        steps: int,
        samples: int,
        chance: np.random.Generator,
    ) -> Float[np.ndarray, "samples steps width"]:
        """So many futures drawn at random; these are the chances of states at the first step."""
        past, moves = np.cumsum(chances), np.cumsum(self.moves, axis=1)
        states = np.searchsorted(past, chance.random(samples) * past[-1], side="right")
        found = []
        for _ in range(steps):
            found.append(self.shown.drawn(states, chance))
            here = moves[states]
            states = (chance.random((samples, 1)) * here[:, -1:] >= here).sum(1)
        return np.stack(found, axis=1)

    def _may_lose(self, places: Places) -> bool:
        """Whether a state that a path must go through could be too far below the best there."""
        if self.moves.min() > 0 and self.first.min() > 0:
            return False
        return bool((places.table.min(1) - places.table.max(1)).min(initial=0.0) < FAR)

    def told(
        self, rows: Rows, lengths: Lengths, states: Int[np.ndarray, " rows"], ground: Ground
    ) -> Visited:
        """The same where the states are known."""
        count = len(self.first)
        starts = np.concatenate([[0], np.cumsum(lengths)[:-1]])[lengths > 0]
        inside = np.ones(len(rows), dtype=bool)
        inside[starts] = False
        moves = np.zeros((count, count))
        np.add.at(moves, (states[np.flatnonzero(inside) - 1], states[inside]), 1.0)
        first = np.bincount(states[starts], minlength=count).astype(np.float64)
        scores = self.shown.scores(rows)[np.arange(len(rows)), states].sum()
        with np.errstate(divide="ignore", invalid="ignore"):
            walked = np.nansum(moves * np.log(self.moves)) + np.nansum(first * np.log(self.first))
        moments = self.shown.moments(rows, np.eye(count)[states], ground)
        return Visited(float(scores + walked), first, moves, moments)

    def learned(self, visited: Visited, ground: Ground, floor: float, more: float = 0) -> "Regimes":
        """The model that fits best what was visited, with so much added to counts of moves."""
        return Regimes(
            _shares(visited.first + more, self.first),
            _shares(visited.moves + more, self.moves),
            self.shown.learned(visited.moments, ground, floor),
        )


def _shares(
    counts: Float[np.ndarray, "*rows options"], before: Float[np.ndarray, "*rows options"]
) -> Float[np.ndarray, "*rows options"]:
    """Counts as shares; what was never counted stays as it was."""
    whole = counts.sum(-1, keepdims=True)
    return np.where(whole > 0, counts / np.where(whole > 0, whole, 1), before)
