"""What a series says of the matrices of a constant system, on average over its hidden states.

Expectation-maximisation (Shumway and Stoffer, 1982): sums of products that are expected given the
whole series and the system so far. From them come the best matrices, and, by Fisher's identity, the
gradient of the likelihood: that of the expected log p(x, z) is the same.
"""

from dataclasses import dataclass, fields, replace

import numpy as np
from jaxtyping import Float

from .compiled import Inputs, Smoothed, Values, smoothed
from .system import Start, System

Square = Float[np.ndarray, "_ _"]


@dataclass(frozen=True)
class Regression:
    """Sums over steps of products of rows y that follow rows g: y = G g + noise."""

    count: float
    own: Square  # Σ E[y yᵀ]
    crossed: Square  # Σ E[y gᵀ]
    given: Square  # Σ E[g gᵀ]

    def __add__(self, other: "Regression") -> "Regression":
        return Regression(
            self.count + other.count,
            self.own + other.own,
            self.crossed + other.crossed,
            self.given + other.given,
        )

    def best(self) -> Square:
        """The matrix G with the least noise."""
        found: Square = np.linalg.lstsq(self.given, self.crossed.T, rcond=1e-12)[0].T
        return found

    def noise(self, matrix: Square) -> Square:
        """Σ E[(y - G g)(y - G g)ᵀ]."""
        mixed = matrix @ self.crossed.T
        found: Square = self.own - mixed - mixed.T + matrix @ self.given @ matrix.T
        return (found + found.T) / 2


@dataclass(frozen=True)
class Expected:
    """What is expected of one series, or of several together.

    States follow [the state before; inputs; 1], and numbers [the state; inputs; 1].
    """

    log_likelihood: float
    series: float
    first: Float[np.ndarray, " states"]  # Σ E[z_1]
    first_squares: Square  # Σ E[z_1 z_1ᵀ]
    moved: Regression
    shown: Regression

    def __add__(self, other: "Expected") -> "Expected":
        pairs = {f.name: (getattr(self, f.name), getattr(other, f.name)) for f in fields(self)}
        return Expected(**{name: one + two for name, (one, two) in pairs.items()})


def expected(system: System, values: Values, inputs: Inputs) -> Expected:
    """What one series says."""
    smooth = smoothed(system, values, inputs, lagged=True)
    states = system.states
    second = smooth.covariance[0] + np.outer(smooth.mean[0], smooth.mean[0])
    return Expected(
        float(smooth.log_likelihood.sum()),
        1.0,
        smooth.mean[0],
        second,
        _moved(smooth, inputs),
        _shown(smooth, system, values, inputs) if states else _moved(smooth, inputs),
    )


def joined(system: System) -> tuple[Square, Square]:
    """[A B c] and [C D d]."""
    states, width = system.states, system.width
    known = 0 if system.direct is None else system.direct.shape[-1]
    drive = np.zeros((states, known)) if system.drive is None else system.drive
    drift = np.zeros(states) if system.drift is None else system.drift
    direct = np.zeros((width, known)) if system.direct is None else system.direct
    offset = np.zeros(width) if system.offset is None else system.offset
    moves = np.concatenate([system.transition, drive, drift[:, None]], axis=1)
    return moves, np.concatenate([system.observation, direct, offset[:, None]], axis=1)


def maximised(found: Expected, system: System) -> System:
    """The system with the best of all matrices: one pass of expectation-maximisation."""
    states = system.states
    moves, shows = found.moved.best(), found.shown.best()
    mean = found.first / found.series
    first = found.first_squares / found.series - np.outer(mean, mean)
    return replace(
        system,
        transition=moves[:, :states],
        drive=moves[:, states:-1],
        drift=moves[:, -1],
        process=found.moved.noise(moves) / found.moved.count,
        observation=shows[:, :states],
        direct=shows[:, states:-1],
        offset=shows[:, -1],
        error=found.shown.noise(shows) / found.shown.count,
        start=Start.known(mean, (first + first.T) / 2),
    )


def _with_inputs(
    means: Float[np.ndarray, "time states"], covariance: Square, inputs: Inputs
) -> Square:
    """Σ E[g gᵀ] of g = [state; inputs; 1]."""
    rows = np.concatenate([means, inputs, np.ones((len(means), 1))], axis=1)
    found: Square = rows.T @ rows
    found[: len(covariance), : len(covariance)] += covariance
    return found


def _moved(smooth: Smoothed, inputs: Inputs) -> Regression:
    mean, covariance, lag = smooth.mean, smooth.covariance, smooth.lag
    time, states = mean.shape
    ones = np.ones(time)
    early, late = ones.copy(), ones.copy()
    early[-1:], late[:1] = 0, 0
    rows = np.concatenate([mean[:-1], inputs[1:], np.ones((time - 1, 1))], axis=1)
    crossed = mean[1:].T @ rows
    if lag is not None and time > 1:
        crossed[:, :states] += lag.total(np.ones(time - 1))
    own = mean[1:].T @ mean[1:] + covariance.total(late)
    given = _with_inputs(mean[:-1], covariance.total(early), inputs[1:])
    return Regression(time - 1.0, own, crossed, given)


def _shown(smooth: Smoothed, system: System, values: Values, inputs: Inputs) -> Regression:
    """Numbers that are missing are expected, too: given the state and the others of their step."""
    there = ~np.isnan(values)
    _, shows = joined(system)
    if system.direct is None and inputs.shape[1]:
        raise ValueError("inputs need a matrix that shows them")
    patterns, place = np.unique(there, axis=0, return_inverse=True)
    total: Regression | None = None
    for number, seen in enumerate(patterns):
        steps = (place.reshape(-1) == number).astype(np.float64)
        chosen = steps > 0
        covariance = smooth.covariance.total(steps)
        given = _with_inputs(smooth.mean[chosen], covariance, inputs[chosen])
        rows = np.concatenate(
            [smooth.mean[chosen], inputs[chosen], np.ones((int(steps.sum()), 1))], axis=1
        )
        found = _filled(values[chosen][:, seen], rows, given, seen, (shows, system.error))
        total = found if total is None else total + found
    if total is None:
        raise ValueError("a series without steps")
    return total


def _filled(
    values: Values, rows: Square, given: Square, seen: np.ndarray, system: tuple[Square, Square]
) -> Regression:
    """Steps that miss the same numbers: x = E x_seen + W g + e, where e has what is left of R.

    x_missing = H_m g + R_ms R_ss⁻¹ (x_s - H_s g) + e
    """
    shows, error = system
    fill = np.zeros((len(seen), int(seen.sum())))
    fill[seen] = np.eye(fill.shape[1])
    rest, left = np.zeros_like(shows), np.zeros_like(error)
    if not seen.all():
        gone = ~seen
        share = error[np.ix_(gone, seen)] @ np.linalg.pinv(error[np.ix_(seen, seen)])
        fill[gone] = share
        rest[gone] = shows[gone] - share @ shows[seen]
        known = share @ error[np.ix_(seen, gone)]
        left[np.ix_(gone, gone)] = error[np.ix_(gone, gone)] - known
    whole = values @ fill.T
    crossed = whole.T @ rows
    mixed = crossed @ rest.T
    own = whole.T @ whole + mixed + mixed.T + rest @ given @ rest.T + len(values) * left
    return Regression(float(len(values)), own, crossed + rest @ given, given)
