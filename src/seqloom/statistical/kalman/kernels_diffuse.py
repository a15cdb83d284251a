"""Exact diffuse initialisation: Kalman updates value by value, and the smoother of diffuse steps.

Diffuse steps come first and are few, so their smoother is plain NumPy. Their predicted covariance
is P + κ P∞ with κ → ∞, and the smoothing recursion is expanded in powers of 1/κ: r = r₀ + r₁/κ and
N = N₀ + N₁/κ + N₂/κ² (Koopman and Durbin, 2003). The names are those of `kernels_filter` and
`kernels_smoother`. `update_value` is also the update of the reference filter in `inference`.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from .layout import FilterInput, FilterOutput, SmootherOutput

Square = Float[np.ndarray, "states states"]
Vector = Float[np.ndarray, " states"]
DIFFUSE = 1e-10  # F∞ below this fraction of cᵀ c counts as 0: the value sees nothing diffuse
NOTHING = 1e-13  # F below this fraction of its largest term is rounding and counts as 0


@dataclass(frozen=True)
class ValueUpdate:
    """The Kalman update by one value: c, M = P c, F = cᵀ M + r, M∞ = P∞ c, F∞ = cᵀ M∞, and v."""

    design: Vector
    cross: Vector
    variance: float
    cross_diffuse: Vector
    variance_diffuse: float
    innovation: float


@dataclass
class SmoothingState:
    """The smoothing recursion in powers of 1/κ: the scores r₀, r₁, the informations N₀, N₁, N₂."""

    scores: list[Vector]
    informations: list[Square]

    def before_transition(self, transition: Square) -> None:
        """r = Aᵀ r, N = Aᵀ N A."""
        self.scores = [transition.T @ score for score in self.scores]
        self.informations = [transition.T @ n @ transition for n in self.informations]

    def before_update(self, update: ValueUpdate) -> None:
        """Go back over one value.

        F∞ > 0:  L = L₀ + L₁/κ,  L₀ = 1 - M∞ cᵀ / F∞,  L₁ = (M∞ F / F∞ - M) cᵀ / F∞
                 r = c v / (κ F∞) + Lᵀ r,  N = c cᵀ (1/(κ F∞) - F/(κ F∞)²) + Lᵀ N L
        F∞ = 0:  L = 1 - M cᵀ / F,  r = c v / F + Lᵀ r,  N = c cᵀ / F + Lᵀ N L
        """
        design, variance, diffuse = update.design, update.variance, update.variance_diffuse
        (r0, r1), (n0, n1, n2) = self.scores, self.informations
        square, one = np.outer(design, design), np.eye(len(design))
        if diffuse > 0:
            l0 = one - np.outer(update.cross_diffuse, design) / diffuse
            slope = update.cross_diffuse * variance / diffuse - update.cross
            l1 = np.outer(slope, design) / diffuse
            # Higher powers of 1/κ vanish in the limit: r is multiplied by κ P∞ once, N twice.
            self.scores = [l0.T @ r0, l0.T @ r1 + l1.T @ r0 + design * update.innovation / diffuse]
            mixed0, mixed1 = l0.T @ n0 @ l1, l0.T @ n1 @ l1
            last = l1.T @ n0 @ l1
            self.informations = [
                l0.T @ n0 @ l0,
                l0.T @ n1 @ l0 + mixed0 + mixed0.T + square / diffuse,
                l0.T @ n2 @ l0 + mixed1 + mixed1.T + last - square * variance / diffuse**2,
            ]
        elif variance > 0:
            l0 = one - np.outer(update.cross, design) / variance
            self.scores = [l0.T @ r0 + design * update.innovation / variance, l0.T @ r1]
            self.informations = [l0.T @ n @ l0 for n in self.informations]
            self.informations[0] += square / variance


def update_value(
    design: Vector, noise: float, value: float, state: tuple[Vector, Square, Square]
) -> tuple[ValueUpdate, tuple[Vector, Square, Square]]:
    """Kalman update by one value: what it did, and the state after it: a, P, P∞.

    F∞ > 0:  a += M∞ v / F∞,  P += M∞ M∞ᵀ F / F∞² - (M M∞ᵀ + M∞ Mᵀ) / F∞,  P∞ -= M∞ M∞ᵀ / F∞
    F∞ = 0:  a += M v / F,    P -= M Mᵀ / F
    """
    mean, covariance, diffuse = state
    cross, cross_diffuse = covariance @ design, diffuse @ design
    innovation = float(value - design @ mean)
    variance, variance_diffuse = float(design @ cross + noise), float(design @ cross_diffuse)
    if variance_diffuse > DIFFUSE * (design @ design):
        mean = mean + cross_diffuse * innovation / variance_diffuse
        mixed = np.outer(cross, cross_diffuse) / variance_diffuse
        square = np.outer(cross_diffuse, cross_diffuse)
        covariance = covariance + square * variance / variance_diffuse**2 - mixed - mixed.T
        diffuse = diffuse - square / variance_diffuse
        update = ValueUpdate(design, cross, variance, cross_diffuse, variance_diffuse, innovation)
        return update, (mean, covariance, diffuse)
    if variance <= NOTHING * (noise + design**2 @ covariance.diagonal()):
        # The value was known beforehand: an update would divide rounding by rounding.
        return ValueUpdate(design, cross, 0.0, cross_diffuse, 0.0, innovation), state
    mean = mean + cross * innovation / variance
    covariance = covariance - np.outer(cross, cross) / variance
    update = ValueUpdate(design, cross, variance, cross_diffuse, 0.0, innovation)
    return update, (mean, covariance, diffuse)


def independent_values(model: FilterInput, t: int) -> list[tuple[Vector, float, float]]:
    """The observed values of step t, one at a time: c, r and x, with independent noise.

    R = L D Lᵀ; the noise of L⁻¹ x is D, and its observation matrix L⁻¹ C.
    """
    row, design, noise = (
        model.values[t],
        at_step(model.observation, t),
        at_step(model.observation_noise, t),
    )
    observed = ~np.isnan(row)
    row, design, noise = row[observed], design[observed].copy(), noise[np.ix_(observed, observed)]
    noises, lower = noise.diagonal().copy(), np.eye(len(row))
    for j in range(len(row)):
        noises[j] -= lower[j, :j] ** 2 @ noises[:j]
        noises[j] = noises[j] if noises[j] > NOTHING * noise[j, j] else 0.0
        rest = noise[j + 1 :, j] - lower[j + 1 :, :j] * noises[:j] @ lower[j, :j]
        lower[j + 1 :, j] = rest / noises[j] if noises[j] > 0 else 0.0
    row, design = np.linalg.solve(lower, row), np.linalg.solve(lower, design)
    return list(zip(design, noises.tolist(), row.tolist(), strict=True))


def at_step(matrices: Float[np.ndarray, "_ ..."], t: int) -> Float[np.ndarray, "..."]:
    """The matrix of a step: its own, or the only one there is."""
    found: np.ndarray = matrices[t if len(matrices) > 1 else 0]
    return found


def smooth_diffuse(model: FilterInput, filtered: FilterOutput, smoothed: SmootherOutput) -> int:
    """Exact initial smoother: the steps that begin with a diffuse part, from the last to the first.

    It continues where the compiled smoother ended, fills in its arrays, and returns how many
    covariances they hold then.

    ẑ = a + P r₀ + P∞ r₁
    V = P - P N₀ P - P∞ N₁ P - P N₁ P∞ - P∞ N₂ P∞
    Cov(z_t, z_{t+1}) = P_t Aᵀ (1 - N₀ P - N₁ P∞) - P∞_t Aᵀ (N₁ P + N₂ P∞), P and N being of t + 1
    """
    nothing, count = np.zeros_like(smoothed.information), smoothed.stored
    later = SmoothingState(
        [smoothed.score, np.zeros_like(smoothed.score)], [smoothed.information, nothing, nothing]
    )
    for t in range(filtered.diffuse_steps - 1, -1, -1):
        # Diffuse steps never share a covariance, so step t has number t.
        predicted, diffuse = filtered.predicted_covariances[t], filtered.predicted_diffuse[t]
        state, updates = (filtered.predicted[t], predicted, diffuse), []
        for design, noise, value in independent_values(model, t):
            update, state = update_value(design, noise, value, state)
            updates.append(update)
        if t + 1 < len(model.values):
            transition = at_step(model.transition, t + 1)
            if len(smoothed.lag_covariances):
                lag = _lag_covariance(filtered, t, transition, state, later)
                smoothed.lag_covariances[count] = lag
            later.before_transition(transition)
        for update in reversed(updates):
            later.before_update(update)
        n0, n1, n2 = later.informations
        smoothed.means[t] = (
            filtered.predicted[t] + predicted @ later.scores[0] + diffuse @ later.scores[1]
        )
        mixed = diffuse @ n1 @ predicted
        covariance = predicted - predicted @ n0 @ predicted - mixed - mixed.T
        covariance = covariance - diffuse @ n2 @ diffuse
        smoothed.covariances[count] = (covariance + covariance.T) / 2
        smoothed.which[t] = count
        count += 1
    return count


def _lag_covariance(
    filtered: FilterOutput,
    t: int,
    transition: Square,
    state: tuple[Vector, Square, Square],
    later: SmoothingState,
) -> Square:
    """Cov(z_{t+1}, z_t) given the whole series; `state` is the filtered one of step t."""
    _, covariance, diffuse = state
    predicted = filtered.predicted_covariances[filtered.which[t + 1]]
    after = np.zeros_like(predicted)
    if t + 1 < filtered.diffuse_steps:
        after = filtered.predicted_diffuse[t + 1]
    n0, n1, n2 = later.informations
    near = np.eye(len(predicted)) - n0 @ predicted - n1 @ after
    far = n1 @ predicted + n2 @ after
    found: Square = (covariance @ transition.T @ near - diffuse @ transition.T @ far).T
    return found
