"""Steps one number at a time, and the smoother where part of the state is diffuse.

Such steps come first and are few, so the smoother is not compiled there. The covariance ahead of
them is P + κ P∞ with κ → ∞, and what the future says is, in powers of 1/κ, r = r₀ + r₁/κ and
N = N₀ + N₁/κ + N₂/κ² (Koopman and Durbin, 2003).
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from .layout import Back, Kept, Laid

Square = Float[np.ndarray, "states states"]
Vector = Float[np.ndarray, " states"]
DIFFUSE = 1e-10  # a diffuse variance so small is none
NOTHING = 1e-13  # a variance that is so small a share of what it is the difference of is 0


@dataclass(frozen=True)
class Seen:
    """What one number did: c, M = P c, F = cᵀ M + r, M∞ = P∞ c, F∞ = cᵀ M∞, and v."""

    show: Vector
    gain: Vector
    size: float
    far: Vector
    spread: float
    residual: float


@dataclass
class Later:
    """What the future says of a state: its slope r and its bend N, in powers of 1/κ."""

    slopes: list[Vector]  # r₀, r₁
    bends: list[Square]  # N₀, N₁, N₂

    def before_move(self, transition: Square) -> None:
        """R = Aᵀ r, N = Aᵀ N A."""
        self.slopes = [transition.T @ slope for slope in self.slopes]
        self.bends = [transition.T @ bend @ transition for bend in self.bends]

    def before(self, seen: Seen) -> None:
        """One number back.

        F∞ > 0:  L = L₀ + L₁/κ,  L₀ = 1 - M∞ cᵀ / F∞,  L₁ = (M∞ F / F∞ - M) cᵀ / F∞
                 r = c v / (κ F∞) + Lᵀ r,  N = c cᵀ (1/(κ F∞) - F/(κ F∞)²) + Lᵀ N L
        F∞ = 0:  L = 1 - M cᵀ / F,  r = c v / F + Lᵀ r,  N = c cᵀ / F + Lᵀ N L
        """
        show, size, spread = seen.show, seen.size, seen.spread
        (r0, r1), (n0, n1, n2) = self.slopes, self.bends
        square, one = np.outer(show, show), np.eye(len(show))
        if spread > 0:
            near = one - np.outer(seen.far, show) / spread
            off = np.outer(seen.far * size / spread - seen.gain, show) / spread
            self.slopes = [near.T @ r0, near.T @ r1 + off.T @ r0 + show * seen.residual / spread]
            crossed, twice = near.T @ n0 @ off, near.T @ n1 @ off
            self.bends = [
                near.T @ n0 @ near,
                near.T @ n1 @ near + crossed + crossed.T + square / spread,
                near.T @ n2 @ near + twice + twice.T + off.T @ n0 @ off - square * size / spread**2,
            ]
        elif size > 0:
            near = one - np.outer(seen.gain, show) / size
            self.slopes = [near.T @ r0 + show * seen.residual / size, near.T @ r1]
            self.bends = [near.T @ bend @ near for bend in self.bends]
            self.bends[0] += square / size


def observe(
    show: Vector, error: float, value: float, state: tuple[Vector, Square, Square]
) -> tuple[Seen, tuple[Vector, Square, Square]]:
    """See one number; what it did, and the state after it: a, P, P∞.

    F∞ > 0:  a += M∞ v / F∞,  P += M∞ M∞ᵀ F / F∞² - (M M∞ᵀ + M∞ Mᵀ) / F∞,  P∞ -= M∞ M∞ᵀ / F∞
    F∞ = 0:  a += M v / F,    P -= M Mᵀ / F
    """
    mean, covariance, diffuse = state
    gain, far, residual = covariance @ show, diffuse @ show, float(value - show @ mean)
    size, spread = float(show @ gain + error), float(show @ far)
    if spread > DIFFUSE * (show @ show):
        mean = mean + far * residual / spread
        mixed = np.outer(gain, far) / spread
        covariance = covariance + np.outer(far, far) * size / spread**2 - mixed - mixed.T
        diffuse = diffuse - np.outer(far, far) / spread
        return Seen(show, gain, size, far, spread, residual), (mean, covariance, diffuse)
    if size <= NOTHING * (error + show**2 @ covariance.diagonal()):
        return Seen(show, gain, 0.0, far, 0.0, residual), state
    mean = mean + gain * residual / size
    covariance = covariance - np.outer(gain, gain) / size
    return Seen(show, gain, size, far, 0.0, residual), (mean, covariance, diffuse)


def numbers_of(laid: Laid, t: int) -> list[tuple[Vector, float, float]]:
    """What step t has observed, one number at a time: c, r and x, with independent errors.

    R = L D Lᵀ, and L⁻¹ x, whose errors are D, is shown by L⁻¹ C.
    """
    row, show, error = (
        laid.values[t],
        at(laid.observation, t),
        at(laid.error, t),
    )
    there = ~np.isnan(row)
    row, show, error = row[there], show[there].copy(), error[np.ix_(there, there)]
    sizes, lower = error.diagonal().copy(), np.eye(len(row))
    for j in range(len(row)):
        sizes[j] -= lower[j, :j] ** 2 @ sizes[:j]
        sizes[j] = sizes[j] if sizes[j] > NOTHING * error[j, j] else 0.0
        rest = error[j + 1 :, j] - lower[j + 1 :, :j] * sizes[:j] @ lower[j, :j]
        lower[j + 1 :, j] = rest / sizes[j] if sizes[j] > 0 else 0.0
    row, show = np.linalg.solve(lower, row), np.linalg.solve(lower, show)
    return list(zip(show, sizes.tolist(), row.tolist(), strict=True))


def at(matrices: Float[np.ndarray, "_ ..."], t: int) -> Float[np.ndarray, "..."]:
    """The matrix of a step: of this one, or the only one there is."""
    found: np.ndarray = matrices[t if len(matrices) > 1 else 0]
    return found


def smooth_back(laid: Laid, kept: Kept, back: Back) -> int:
    """The steps that begin with a diffuse part, from the last to the first.

    They are filled in where the compiled smoother ended; how many covariances there are then.

    ẑ = a + P r₀ + P∞ r₁
    V = P - P N₀ P - P∞ N₁ P - P N₁ P∞ - P∞ N₂ P∞
    Cov(z_t, z_{t+1}) = P_t Aᵀ (1 - N₀ P - N₁ P∞) - P∞_t Aᵀ (N₁ P + N₂ P∞), P and N being of t + 1
    """
    nothing, count = np.zeros_like(back.bend), back.kept
    later = Later([back.slope, np.zeros_like(back.slope)], [back.bend, nothing, nothing])
    for t in range(kept.spread - 1, -1, -1):
        ahead, far = kept.ahead_covariances[t], kept.ahead_diffuse[t]
        state, seen = (kept.ahead[t], ahead, far), []
        for show, error, value in numbers_of(laid, t):
            found, state = observe(show, error, value, state)
            seen.append(found)
        if t + 1 < len(laid.values):
            moves = at(laid.transition, t + 1)
            if len(back.lags):
                back.lags[count] = _lag(kept, t, moves, state, later)
            later.before_move(moves)
        for found in reversed(seen):
            later.before(found)
        n0, n1, n2 = later.bends
        back.means[t] = kept.ahead[t] + ahead @ later.slopes[0] + far @ later.slopes[1]
        mixed = far @ n1 @ ahead
        covariance = ahead - ahead @ n0 @ ahead - mixed - mixed.T - far @ n2 @ far
        back.covariances[count] = (covariance + covariance.T) / 2
        back.which[t] = count
        count += 1
    return count


def _lag(
    kept: Kept, t: int, moves: Square, state: tuple[Vector, Square, Square], later: Later
) -> Square:
    """Cov(z_{t+1}, z_t) given the whole series; `state` is what is known after step t."""
    _, covariance, diffuse = state
    ahead = kept.ahead_covariances[kept.which[t + 1]]
    far = kept.ahead_diffuse[t + 1] if t + 1 < kept.spread else np.zeros_like(ahead)
    n0, n1, n2 = later.bends
    near = np.eye(len(ahead)) - n0 @ ahead - n1 @ far
    found: Square = (covariance @ moves.T @ near - diffuse @ moves.T @ (n1 @ ahead + n2 @ far)).T
    return found
