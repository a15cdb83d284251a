"""Weights as least squares guesses them: many that fit the steps seen about as well.

With a flat prior (Zellner, 1971) what n rows X of k columns tell of the noise and of the weights is

Σ ~ inverse Wishart with n - k degrees of freedom around S = Σ e eᵀ / (n - k)
β ~ N(β̂, (XᵀX)⁻¹ ⊗ Σ)     given Σ

A step ahead is then Student's, √(1 + xᵀ(XᵀX)⁻¹x) times as wide. Several steps ahead have no
formula: weights are drawn, and what is foreseen is a mixture, a part for the weights of each draw.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from statistics import NormalDist
from typing import Any

import numpy as np
from jaxtyping import Float

from ...prediction import LEVELS
from .simulate import Delays, Memory, Steps, summed

DRAWS = 200  # of weights, an even number
POINTS = 8  # of each draw, by which quantiles of the mixture are found
SURE = 1e9  # degrees of freedom of what is not guessed


@dataclass(frozen=True)
class Doubt:
    """How far weights may be off: a root of (XᵀX)⁻¹, and how many degrees of freedom are left."""

    root: Float[np.ndarray, "columns columns"]
    freedom: float

    @classmethod
    def none(cls, columns: int) -> "Doubt":
        """Before anything was learned."""
        return cls(np.zeros((columns, columns)), SURE)

    @classmethod
    def of(cls, seen: Float[np.ndarray, "columns columns"], count: int, freedom: float) -> "Doubt":
        """From XᵀX, penalties included, of so many rows; columns of zeros have no doubt."""
        sizes = np.sqrt(np.diag(seen))
        sizes[sizes == 0] = 1
        values, vectors = np.linalg.eigh(seen / np.outer(sizes, sizes))
        real = values > 1e-12 * values.max(initial=0)
        stretch = np.where(real, 1 / np.sqrt(np.where(real, values, 1)), 0)
        return cls(vectors * stretch / sizes[:, None], max(count - freedom, 1.0))


@dataclass(frozen=True)
class Guesses:
    """Weights that were drawn: taps, those of what drives, and noise, DRAWS of each."""

    taps: Float[np.ndarray, "draws order width width"]
    driven: Float[np.ndarray, "draws width inputs"]
    noise: Float[np.ndarray, "draws width width"]

    @classmethod
    def drawn(
        cls,
        delays: Delays,
        driven: Float[np.ndarray, "width inputs"],
        doubt: Doubt,
        over: Sequence[int],
    ) -> "Guesses":
        """Around what was found; two and two lie opposite each other, so that their mean is it."""
        chance, width, inputs = np.random.default_rng(0), delays.width, driven.shape[1]
        half = DRAWS // 2
        roots = np.linalg.cholesky(delays.noise) @ _scales(half, width, doubt.freedom, chance)
        normal = chance.standard_normal((half, len(doubt.root), width))
        off = doubt.root @ normal @ np.swapaxes(roots, 1, 2)
        off, roots = np.concatenate([off, -off]), np.concatenate([roots, roots])
        taps = off[:, inputs:].reshape(DRAWS, -1, width, width).swapaxes(2, 3)
        nothing = np.zeros((len(delays.taps) - sum(over), width, width))
        start = summed(nothing, over)
        moved = np.zeros((DRAWS, *start.shape))
        for number, few in enumerate(taps):
            nothing[: len(few)] = few
            moved[number] = summed(nothing, over) - start
        noise = roots @ np.swapaxes(roots, 1, 2)
        return cls(delays.taps + moved, driven + np.swapaxes(off[:, :inputs], 1, 2), noise)

    def ahead(
        self, recent: Float[np.ndarray, " memory"], rows: Float[np.ndarray, "time inputs"]
    ) -> tuple[Float[np.ndarray, "draws time width"], Float[np.ndarray, "draws time width"]]:
        """Means and variances of the steps that follow a memory that is known, of each draw."""
        draws, order, width = self.taps.shape[:3]
        flat = np.swapaxes(self.taps, 1, 2).reshape(draws, width, order * width)
        shifts = np.einsum("dwi,ti->tdw", self.driven, rows)
        memory = np.tile(recent, (draws, 1))
        echo = np.zeros((draws, order * width, width))  # of one step's noise, in the memory
        means, variances = np.zeros((2, draws, len(rows), width))
        total = np.zeros((draws, width, width))
        step = np.broadcast_to(np.eye(width), (draws, width, width))
        for t, shift in enumerate(shifts):
            means[:, t] = shift + (flat @ memory[..., None])[..., 0]
            memory = np.concatenate([means[:, t], memory], axis=1)[:, : order * width]
            total = total + step @ self.noise @ np.swapaxes(step, 1, 2)
            variances[:, t] = np.diagonal(total, axis1=1, axis2=2)
            echo = np.concatenate([step, echo], axis=1)[:, : order * width]
            step = flat @ echo
        return means, variances

    def log_densities(
        self, rows: Steps, driven: Float[np.ndarray, "time inputs"], start: int
    ) -> Float[np.ndarray, " draws"]:
        """Of the rows from `start` on given those before, nothing of which is missing."""
        order = self.taps.shape[1]
        errors = rows[start:] - np.einsum("dwi,ti->dtw", self.driven, driven[start:])
        for k in range(1, order + 1):
            before = rows[start - k : len(rows) - k]
            errors = errors - before @ np.swapaxes(self.taps[:, k - 1], 1, 2)
        root = np.linalg.cholesky(self.noise)
        scaled = np.linalg.solve(root, np.swapaxes(errors, 1, 2))
        sizes = 2 * np.log(np.diagonal(root, axis1=1, axis2=2)).sum(1)
        each = sizes + errors.shape[2] * np.log(2 * np.pi)
        found: np.ndarray = -0.5 * (errors.shape[1] * each + (scaled**2).sum((1, 2)))
        return found

    def log_densities_seen(
        self, recent: Float[np.ndarray, " memory"], rows: Steps, driven: np.ndarray
    ) -> Float[np.ndarray, " draws"]:
        """Of what was observed of the rows that follow a memory that is known; NaN was not."""
        seen = np.flatnonzero(~np.isnan(rows).ravel())
        if not len(seen):
            return np.zeros(len(self.taps))
        means, draws = self.ahead(recent, driven)[0], len(self.taps)
        errors = (rows - means).reshape(draws, -1)[:, seen]
        root = np.linalg.cholesky(self._together(len(rows))[:, seen[:, None], seen])
        scaled = np.linalg.solve(root, errors[..., None])[..., 0]
        sizes = np.log(np.diagonal(root, axis1=1, axis2=2)).sum(1)
        found: np.ndarray = -sizes - 0.5 * ((scaled**2).sum(1) + len(seen) * np.log(2 * np.pi))
        return found

    def _together(self, ahead: int) -> Float[np.ndarray, "draws numbers numbers"]:
        """The covariance of all numbers of so many rows, by the noise of each and its echoes."""
        draws, order, width = self.taps.shape[:3]
        echoes = [np.broadcast_to(np.eye(width), (draws, width, width))]
        for step in range(1, ahead):
            last = range(1, min(step, order) + 1)
            echoes.append(
                sum((self.taps[:, k - 1] @ echoes[step - k] for k in last), start=0 * echoes[0])
            )
        ways = np.zeros((draws, ahead * width, ahead * width))
        root = np.linalg.cholesky(self.noise)
        for begin in range(ahead):
            for step in range(ahead - begin):
                row, column = (begin + step) * width, begin * width
                ways[:, row : row + width, column : column + width] = echoes[step] @ root
        return ways @ np.swapaxes(ways, 1, 2)

    def paths(
        self, memory: Memory, rows: Float[np.ndarray, "time inputs"], samples: int, chance: Any
    ) -> Float[np.ndarray, "samples time width"]:
        """Futures, each by the weights of a draw, taking turns."""
        turns = np.arange(samples) % len(self.taps)
        found = np.zeros((samples, len(rows), self.noise.shape[1]))
        for number in np.unique(turns).tolist():
            delays, driven = self.one(number)
            mine = turns == number
            found[mine] = delays.drawn(memory, rows @ driven.T, int(mine.sum()), chance)
        return found

    def one(self, number: int) -> tuple[Delays, Float[np.ndarray, "width inputs"]]:
        """The recursion of one draw, and what drives it."""
        return Delays(self.taps[number], self.noise[number]), self.driven[number]


def mixed(
    means: Float[np.ndarray, "draws time width"], deviations: Float[np.ndarray, "draws time width"]
) -> Float[np.ndarray, "time width levels"]:
    """The quantiles of Normal distributions that are mixed, each being as likely.

    Each stands for a few points, and the points of all together are spread evenly: where all are
    the same distribution, no two of its points are.
    """
    normal = _points(len(means))[..., None, None]
    points = (means + normal * deviations).reshape(-1, *means.shape[1:])
    return np.moveaxis(np.quantile(points, LEVELS, axis=0, method="hazen"), 0, -1)


def log_mean(found: Float[np.ndarray, " draws"]) -> float:
    """The logarithm of the mean of what these are the logarithms of."""
    most = found.max()
    return float(most + np.log(np.exp(found - most).mean()))


@cache
def _points(draws: int) -> Float[np.ndarray, "points draws"]:
    """Numbers of N(0, 1), a few for each draw, no two of them the same."""
    turn = np.random.default_rng(0).permutation(draws)
    levels = (np.arange(POINTS)[:, None] + (turn + 0.5) / draws) / POINTS
    return np.vectorize(NormalDist().inv_cdf)(levels)


def _scales(
    count: int, width: int, freedom: float, chance: np.random.Generator
) -> Float[np.ndarray, "draws width width"]:
    """Roots of inverse Wishart matrices around the identity (Bartlett, 1933)."""
    lower = np.zeros((count, width, width))
    for i in range(width):
        left = max(freedom - i, 1.0)
        lower[:, i, i] = np.sqrt(chance.chisquare(left, count) / freedom)
        lower[:, i, :i] = chance.standard_normal((count, i)) / np.sqrt(freedom)
    found: np.ndarray = np.swapaxes(np.linalg.inv(lower), 1, 2)
    return found
