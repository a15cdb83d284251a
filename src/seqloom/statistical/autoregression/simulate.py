"""A linear recursion with delay taps and Normal noise: what is known of its next steps.

x_t = s_t + A₁ x_{t-1} + … + A_p x_{t-p} + e_t,   e_t ~ N(0, Σ)

Its memory z is the last p rows, the newest first, of which some numbers may not have been observed:
z ~ N(m, P). They are conditioned on all that was, as Kalman (1960) does it, which is exact.

Changes of series over some steps, and the recursion of a series from that of its changes.

y_t = x_t - x_{t-d}. Where y has the taps of A(B) = 1 - A₁ B - … - A_p Bᵖ, B being one step back, x
has those of A(B) (1 - B^d).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Bool, Float

DOUBLINGS = 60  # of the time over which noise is summed up
STEADY = 1 - 1e-6  # from this size of roots on, noise adds up without end

Row = Float[np.ndarray, " width"]
Steps = Float[np.ndarray, "time width"]
Square = Float[np.ndarray, "width width"]


@dataclass(frozen=True)
class Memory:
    """What is known of the last p rows: mean and covariance, None where all are known for sure."""

    mean: Float[np.ndarray, " memory"]
    spread: Float[np.ndarray, "memory memory"] | None


@dataclass(frozen=True)
class Delays:
    """The taps A₁ … A_p and the covariance Σ of the noise."""

    taps: Float[np.ndarray, "order width width"]
    noise: Square

    @property
    def order(self) -> int:
        """How many steps back it looks."""
        return len(self.taps)

    @property
    def width(self) -> int:
        """How many numbers a row has."""
        return len(self.noise)

    @cached_property
    def flat(self) -> Float[np.ndarray, "width memory"]:
        """All taps side by side: x_t = s_t + flat z + e_t."""
        return np.concatenate([*self.taps], axis=1)

    def radius(self) -> float:
        """The largest root: what is remembered fades where it is below 1, and grows above."""
        return float(np.abs(np.linalg.eigvals(self._moves())).max())

    def first(self, mean: Row, spread: Row) -> Memory:
        """The memory before the first step: what such a series does in the long run.

        Where it grows without end, the numbers of the memory have nothing to do with each other.
        """
        every = np.tile(mean, self.order)
        if self.radius() >= STEADY:
            return Memory(every, np.diag(np.tile(spread, self.order)))
        moves, total = self._moves(), np.zeros((len(every), len(every)))
        total[: self.width, : self.width] = self.noise
        for _ in range(DOUBLINGS):  # Σ_j Fʲ Q (Fʲ)ᵀ, of twice as many j each time
            total = total + moves @ total @ moves.T
            moves = moves @ moves
            if np.abs(moves).max(initial=0) < 1e-12:
                break
        return Memory(every, total)

    def known(self, rows: Steps) -> Memory:
        """The memory after these rows, of which there are p, and all of which were observed."""
        return Memory(rows[::-1].ravel(), None)

    def next(self, memory: Memory, shift: Row) -> tuple[Row, Square, Memory]:
        """Mean and covariance of the next row, and the memory with it, as it is not observed."""
        width = self.width
        mean = shift + self.flat @ memory.mean
        after = np.concatenate([mean, memory.mean[:-width]])
        spread = np.zeros((len(after), len(after)))
        if memory.spread is None:
            spread[:width, :width] = self.noise
            return mean, self.noise, Memory(after, spread)
        shared = self.flat @ memory.spread
        spread[:width, :width] = shared @ self.flat.T + self.noise
        spread[:width, width:] = shared[:, :-width]
        spread[width:, :width] = spread[:width, width:].T
        spread[width:, width:] = memory.spread[:-width, :-width]
        return mean, spread[:width, :width], Memory(after, spread)

    def told(self, memory: Memory, row: Row) -> Memory:
        """The memory once what was observed of its newest row is known; NaN was not."""
        (seen,) = np.nonzero(~np.isnan(row))
        if memory.spread is None or not len(seen):
            return memory
        shared = memory.spread[:, seen]
        gain = np.linalg.solve(shared[seen], shared.T).T
        mean = memory.mean + gain @ (row[seen] - memory.mean[seen])
        spread = memory.spread - gain @ shared.T
        mean[seen], spread[seen], spread[:, seen] = row[seen], 0, 0  # without any rounding
        return Memory(mean, (spread + spread.T) / 2 if spread.any() else None)

    def ahead(self, memory: Memory, shifts: Steps) -> tuple[Steps, Steps]:
        """Means and variances of the steps that follow."""
        means, variances = np.zeros_like(shifts), np.zeros_like(shifts)
        for t, shift in enumerate(shifts):
            means[t], spread, memory = self.next(memory, shift)
            variances[t] = np.diag(spread)
        return means, variances

    def drawn(
        self, memory: Memory, shifts: Steps, samples: int, chance: np.random.Generator
    ) -> Float[np.ndarray, "samples time width"]:
        """Futures: what is not known of the past is drawn, then step after step."""
        recent = np.tile(memory.mean, (samples, 1))
        if memory.spread is not None:
            values, vectors = np.linalg.eigh(memory.spread)
            root = vectors * np.sqrt(np.maximum(values, 0))
            recent = recent + chance.standard_normal(recent.shape) @ root.T
        noise = chance.standard_normal((samples, *shifts.shape)) @ np.linalg.cholesky(self.noise).T
        found = np.zeros_like(noise)
        for t, shift in enumerate(shifts):
            found[:, t] = shift + recent @ self.flat.T + noise[:, t]
            recent = np.concatenate([found[:, t], recent], axis=1)[:, : recent.shape[1]]
        return found

    def read(self, rows: Steps, shifts: Steps, start: int, first: Memory) -> tuple[float, Memory]:
        """The log density of the rows from `start` on given those before, and the memory after all.

        Rows whose taps are all known need no memory. Only where something is missing it is
        filtered, from the last place where nothing was.
        """
        full = ~np.isnan(rows).any(1)
        is_ready = _in_a_row(full) >= self.order  # before each row, and after the last
        easy = is_ready[:-1] & full
        total = self._of_easy(rows, shifts, np.flatnonzero(easy & (np.arange(len(rows)) >= start)))
        memory = first
        for begin, end in _stretches(~easy):
            if end <= start and end < len(rows):
                continue  # what follows does not ask for it
            memory = self._before(rows, begin, first)
            for t in range(begin, end):
                mean, spread, memory = self.next(memory, shifts[t])
                if t >= start:
                    total += log_density(rows[t] - mean, spread)
                memory = self.told(memory, rows[t])
        if is_ready[-1] and len(rows):
            memory = self._before(rows, len(rows), first)
        return total, memory

    def _before(self, rows: Steps, place: int, first: Memory) -> Memory:
        """The memory at a place before which everything is known, or nothing is."""
        return first if place == 0 else self.known(rows[place - self.order : place])

    def _of_easy(self, rows: Steps, shifts: Steps, places: np.ndarray) -> float:
        """The log density of rows that have all their taps."""
        if not len(places):
            return 0.0
        errors = rows[places] - shifts[places]
        for k, tap in enumerate(self.taps, start=1):
            errors = errors - rows[places - k] @ tap.T
        root = np.linalg.cholesky(self.noise)
        scaled = np.linalg.solve(root, errors.T)
        size = 2 * np.log(np.diag(root)).sum() + self.width * np.log(2 * np.pi)
        return float(-0.5 * (len(places) * size + (scaled**2).sum()))

    def _moves(self) -> Float[np.ndarray, "memory memory"]:
        """F, by which the memory moves on: z' = F z."""
        size = self.order * self.width
        found = np.eye(size, k=-self.width)
        found[: self.width] = self.flat
        return found


def log_density(error: Row, spread: Square) -> float:
    """The log density of N(0, spread), of what was observed; NaN was not."""
    (seen,) = np.nonzero(~np.isnan(error))
    if not len(seen):
        return 0.0
    root = np.linalg.cholesky(spread[np.ix_(seen, seen)])
    scaled = np.linalg.solve(root, error[seen])
    sizes = np.log(np.diag(root)).sum() + len(seen) / 2 * np.log(2 * np.pi)
    return float(-sizes - 0.5 * (scaled**2).sum())


def _in_a_row(full: Bool[np.ndarray, " time"]) -> np.ndarray:
    """Before each place and after the last, how many places next to it were full."""
    places = np.arange(1, len(full) + 1)
    last_gap = np.maximum.accumulate(np.where(full, 0, places)) if len(full) else places
    return np.concatenate([[0], places - last_gap])


def _stretches(chosen: Bool[np.ndarray, " time"]) -> list[tuple[int, int]]:
    """Where places that are chosen begin and end."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], chosen, [False]]).astype(int)))
    return [(int(a), int(b)) for a, b in edges.reshape(-1, 2)]


def differenced(
    values: Float[np.ndarray, "time width"], over: Sequence[int]
) -> Float[np.ndarray, "time width"]:
    """The changes over so many steps, one after the other; missing where there was nothing yet."""
    for steps in over:
        before = np.full_like(values, np.nan)
        before[steps:] = values[:-steps]
        values = values - before
    return values


def summed(
    taps: Float[np.ndarray, "order width width"], over: Sequence[int]
) -> Float[np.ndarray, "longer width width"]:
    """The taps of a series whose changes have these."""
    whole = np.concatenate([np.eye(taps.shape[1])[None], -taps])
    for steps in over:
        longer = np.zeros((len(whole) + steps, *whole.shape[1:]))
        longer[: len(whole)] += whole
        longer[steps:] -= whole
        whole = longer
    return -whole[1:]
