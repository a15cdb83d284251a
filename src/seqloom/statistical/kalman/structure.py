"""Systems that are made of few numbers: free ones, and those of which the structure is known."""

from abc import ABC, abstractmethod
from dataclasses import replace

import numpy as np
from jaxtyping import Float, Int

from .em import Expected, joined, maximised
from .system import Start, System

Numbers = Float[np.ndarray, " _"]
Square = Float[np.ndarray, "_ _"]
LEAST = 1e-5  # the least deviation of any noise: covariances stay positive
SMALL = 1e-5  # by how much numbers are moved to find a slope


class Structure(ABC):
    """How a system is made of numbers that can be anything, and what to call its parts.

    Covariances are L Lᵀ with a lower triangle L, whose diagonal is the exponential of such numbers.
    """

    def __init__(self, width: int, known: int, states: int) -> None:
        self.width, self.known, self.states = width, known, states

    @property
    @abstractmethod
    def noisy(self) -> dict[str, Int[np.ndarray, " rows"]]:
        """By the name of each noise of the state, the states it moves."""

    @property
    @abstractmethod
    def parts(self) -> dict[str, Float[np.ndarray, "_ states"]]:
        """By name, what is to be shown of the state: so many numbers as a matrix has rows."""

    @abstractmethod
    def system(self, numbers: Numbers) -> System:
        """The system that these numbers make."""

    @abstractmethod
    def numbers(self, system: System) -> Numbers:
        """The numbers that make this system."""

    @abstractmethod
    def begin(self, chance: np.random.Generator) -> list[Numbers]:
        """Where learning may start, where all that is observed has variance 1."""

    @abstractmethod
    def maximised(self, found: Expected, system: System) -> System:
        """One pass of expectation-maximisation."""

    def surprise(self, found: Expected, numbers: Numbers) -> float:
        """-log p(x, z) that is expected: its slope is that of -log p(x), where it was expected."""
        system = self.system(numbers)
        moves, shows = joined(system)
        noise, total = found.moved.noise(moves), 0.0
        for rows in self.noisy.values():
            block = np.ix_(rows, rows)
            total += _surprise(found.moved.count, noise[block], system.process[block])
        total += _surprise(found.shown.count, found.shown.noise(shows), system.error)
        sure = np.flatnonzero(system.start.diffuse == 0)
        if len(sure):
            mean = system.start.mean
            crossed = np.outer(found.first, mean)
            off = found.first_squares - crossed - crossed.T + found.series * np.outer(mean, mean)
            block = np.ix_(sure, sure)
            total += _surprise(found.series, off[block], system.start.covariance[block])
        return total

    def slope(self, found: Expected, numbers: Numbers) -> Numbers:
        """How -log p(x) changes with each number, from what is expected with these numbers."""
        slope = np.empty(len(numbers))
        for place in range(len(numbers)):
            more, less = numbers.copy(), numbers.copy()
            more[place] += SMALL
            less[place] -= SMALL
            slope[place] = (self.surprise(found, more) - self.surprise(found, less)) / (2 * SMALL)
        return slope


def _surprise(count: float, squares: Square, covariance: Square) -> float:
    """½ (n log |2πΣ| + tr Σ⁻¹ S)."""
    sign, log = np.linalg.slogdet(2 * np.pi * covariance)
    if sign <= 0:
        return float("inf")
    return 0.5 * float(count * log + np.trace(np.linalg.solve(covariance, squares)))


class Taken:
    """Numbers that are taken one group after another."""

    def __init__(self, numbers: Numbers) -> None:
        self._numbers, self._at = numbers, 0

    def next(self, *shape: int) -> np.ndarray:
        """The next group, in this shape."""
        size = int(np.prod(shape))
        self._at += size
        return self._numbers[self._at - size : self._at].reshape(shape)

    def covariance(self, size: int) -> Square:
        """The next group as a covariance."""
        lower = np.zeros((size, size))
        lower[np.tril_indices(size)] = self.next(size * (size + 1) // 2)
        diagonal = np.exp(np.clip(lower.diagonal(), -40, 40)) + LEAST
        lower[np.diag_indices(size)] = diagonal
        return lower @ lower.T


def numbers_of(covariance: Square) -> Numbers:
    """The numbers that make a covariance, or the next that can be made."""
    size = len(covariance)
    values, vectors = np.linalg.eigh(covariance)
    raised = vectors * np.maximum(values, (2 * LEAST) ** 2) @ vectors.T
    lower = np.linalg.cholesky(raised)
    places = np.diag_indices(size)
    lower[places] = np.log(np.maximum(lower[places] - LEAST, LEAST))
    return lower[np.tril_indices(size)]


def deviation(size: int, value: float) -> Numbers:
    """The numbers of independent noise with this deviation."""
    return numbers_of(np.eye(size) * value**2)


class Components(Structure):
    """A level, perhaps with a trend and a season, each walking at random; all numbers alike.

    level_t  = level_{t-1} + trend_{t-1} + noise
    trend_t  = trend_{t-1} + noise
    season_t = -(season_{t-1} + … + season_{t-s+1}) + noise        over s steps it sums to about 0
    x_t      = level_t + season_t + D u_t + noise

    What moves several numbers may move them together. All states are diffuse at first.
    """

    def __init__(self, width: int, known: int, *, trend: bool = False, period: int = 1) -> None:
        self.names = ["level"] + ["trend"] * trend + ["season"] * (period > 1)
        self.period = period
        pieces = 1 + trend + max(0, period - 1)
        super().__init__(width, known, pieces * width)
        self._transition, self._observation = self._fixed(trend, pieces)

    def _fixed(self, trend: bool, pieces: int) -> tuple[np.ndarray, np.ndarray]:
        """A and C, which are known."""
        one, move, show = np.eye(self.width), np.eye(pieces), np.zeros((1, pieces))
        show[0, 0] = 1
        if trend:
            move[0, 1] = 1
        if self.period > 1:
            first = 1 + trend
            move[first:, first:] = np.eye(self.period - 1, k=-1)
            move[first, first:] = -1
            show[0, first] = 1
        return np.kron(move, one), np.kron(show, one)

    @property
    def noisy(self) -> dict[str, Int[np.ndarray, " rows"]]:
        places = {name: place for place, name in enumerate(self.names)}
        return {n: np.arange(self.width) + p * self.width for n, p in places.items()}

    @property
    def parts(self) -> dict[str, Float[np.ndarray, "_ states"]]:
        return {name: np.eye(self.states)[rows] for name, rows in self.noisy.items()}

    def system(self, numbers: Numbers) -> System:
        taken = Taken(numbers)
        error, process = taken.covariance(self.width), np.zeros((self.states, self.states))
        for rows in self.noisy.values():
            process[np.ix_(rows, rows)] = taken.covariance(self.width)
        direct = taken.next(self.width, self.known)
        start = Start.unknown(self.states)
        return System(self._transition, process, self._observation, error, start, direct=direct)

    def numbers(self, system: System) -> Numbers:
        noise = [numbers_of(system.process[np.ix_(rows, rows)]) for rows in self.noisy.values()]
        direct = np.zeros((self.width, self.known)) if system.direct is None else system.direct
        return np.concatenate([numbers_of(system.error), *noise, direct.ravel()])

    def begin(self, chance: np.random.Generator) -> list[Numbers]:
        usual = {"level": 0.3, "trend": 0.03, "season": 0.1}
        found = []
        for share in (1.0, 0.2, 0.03):
            noise = [deviation(self.width, usual[name] * share) for name in self.names]
            direct = np.zeros(self.width * self.known)
            found.append(np.concatenate([deviation(self.width, 0.5), *noise, direct]))
        return found

    def maximised(self, found: Expected, system: System) -> System:
        moves, shows = joined(system)
        noise, process = found.moved.noise(moves), np.zeros_like(system.process)
        for rows in self.noisy.values():
            block = np.ix_(rows, rows)
            process[block] = noise[block] / max(1.0, found.moved.count)
        if self.known:
            given, k = found.shown.given, self.states
            left = found.shown.crossed[:, k:-1] - system.observation @ given[:k, k:-1]
            shows[:, k:-1] = np.linalg.lstsq(given[k:-1, k:-1], left.T, rcond=1e-12)[0].T
        error = found.shown.noise(shows) / found.shown.count
        return replace(system, process=process, error=error, direct=shows[:, self.states : -1])


class Autoregression(Structure):
    """Each number returns to its mean, by its own last values; it is seen with noise.

    f_t = φ₁ f_{t-1} + … + φ_p f_{t-p} + noise,   x_t = d + f_t + D u_t + noise

    It is always stationary: numbers are partial autocorrelations (Monahan, 1984), each the
    hyperbolic tangent of any number; the start is the distribution that the walk ends in.
    """

    def __init__(self, width: int, known: int, order: int) -> None:
        super().__init__(width, known, order * width)
        self.order = order

    @property
    def noisy(self) -> dict[str, Int[np.ndarray, " rows"]]:
        return {"autoregression": np.arange(self.width)}

    @property
    def parts(self) -> dict[str, Float[np.ndarray, "_ states"]]:
        return {"autoregression": np.eye(self.states)[: self.width]}

    def system(self, numbers: Numbers) -> System:
        taken = Taken(numbers)
        partial = np.tanh(taken.next(self.width, self.order))
        factors = np.stack([coefficients(row) for row in partial])
        transition, width = np.eye(self.states, k=-self.width), self.width
        for lag in range(self.order):
            transition[:width, lag * width : (lag + 1) * width] = np.diag(factors[:, lag])
        error, process = taken.covariance(width), np.zeros((self.states, self.states))
        process[:width, :width] = taken.covariance(width)
        start = Start.known(np.zeros(self.states), settled(transition, process))
        observation = np.eye(self.states)[:width]
        offset, direct = taken.next(width), taken.next(width, self.known)
        return System(transition, process, observation, error, start, direct=direct, offset=offset)

    def numbers(self, system: System) -> Numbers:
        width = self.width
        top = system.transition[:width]
        lags = [top[:, lag * width : (lag + 1) * width].diagonal() for lag in range(self.order)]
        partial = [partials(row) for row in np.stack(lags, axis=1)]
        offset = np.zeros(width) if system.offset is None else system.offset
        direct = np.zeros((width, self.known)) if system.direct is None else system.direct
        noise = [numbers_of(system.error), numbers_of(system.process[:width, :width])]
        tangents = np.arctanh(np.clip(partial, -1 + 1e-9, 1 - 1e-9)).ravel()
        return np.concatenate([tangents, *noise, offset, direct.ravel()])

    def begin(self, chance: np.random.Generator) -> list[Numbers]:
        found = []
        for first in (1.0, 0.3, 2.0):
            partial = np.zeros((self.width, self.order))
            partial[:, 0] = first
            size = np.sqrt(1 - np.tanh(first) ** 2)
            noise = [deviation(self.width, 0.3), deviation(self.width, float(size))]
            rest = np.zeros(self.width * (1 + self.known))
            found.append(np.concatenate([partial.ravel(), *noise, rest]))
        return found

    def maximised(self, found: Expected, system: System) -> System:
        raise TypeError("a stationary start has no best matrix in closed form")


class Free(Structure):
    """All matrices are free; what the states mean is for the data to say."""

    def __init__(self, width: int, known: int, states: int) -> None:
        super().__init__(width, known, states)

    @property
    def noisy(self) -> dict[str, Int[np.ndarray, " rows"]]:
        return {"state": np.arange(self.states)}

    @property
    def parts(self) -> dict[str, Float[np.ndarray, "_ states"]]:
        return {f"state {k + 1}": np.eye(self.states)[k : k + 1] for k in range(self.states)}

    def system(self, numbers: Numbers) -> System:
        taken, states, width, known = Taken(numbers), self.states, self.width, self.known
        return System(
            transition=taken.next(states, states),
            drive=taken.next(states, known),
            drift=taken.next(states),
            observation=taken.next(width, states),
            direct=taken.next(width, known),
            offset=taken.next(width),
            process=taken.covariance(states),
            error=taken.covariance(width),
            start=Start.known(taken.next(states), taken.covariance(states)),
        )

    def numbers(self, system: System) -> Numbers:
        moves, shows = joined(system)
        k = self.states
        linear = [moves[:, :k], moves[:, k:-1], moves[:, -1], shows[:, :k], shows[:, k:-1]]
        noise = [numbers_of(system.process), numbers_of(system.error)]
        start = [system.start.mean, numbers_of(system.start.covariance)]
        return np.concatenate([*(m.ravel() for m in linear), shows[:, -1], *noise, *start])

    def begin(self, chance: np.random.Generator) -> list[Numbers]:
        states, width, known = self.states, self.width, self.known
        turns = np.linalg.qr(chance.normal(size=(states, states)))[0]
        system = System(
            transition=0.5 * np.eye(states) + 0.3 * turns,
            drive=np.zeros((states, known)),
            drift=np.zeros(states),
            observation=chance.normal(size=(width, states)) / np.sqrt(states),
            direct=np.zeros((width, known)),
            offset=np.zeros(width),
            process=0.3 * np.eye(states),
            error=0.3 * np.eye(width),
            start=Start.known(np.zeros(states), np.eye(states)),
        )
        return [self.numbers(system)]

    def maximised(self, found: Expected, system: System) -> System:
        return maximised(found, system)


def coefficients(partial: Float[np.ndarray, " order"]) -> Float[np.ndarray, " order"]:
    """The coefficients of a stationary autoregression with these partial autocorrelations."""
    found = np.zeros(0)
    for number in partial:
        found = np.append(found - number * found[::-1], number)
    return found


def partials(found: Float[np.ndarray, " order"]) -> Float[np.ndarray, " order"]:
    """The way back."""
    numbers = []
    while len(found):
        number, found = found[-1], found[:-1]
        numbers.append(number)
        found = (found + number * found[::-1]) / (1 - number**2)
    return np.array(numbers[::-1])


def settled(transition: Square, process: Square) -> Square:
    """P = A P Aᵀ + Q: what a stationary state is spread like, by doubling the steps."""
    found, power = process.copy(), transition.copy()
    for _ in range(60):
        more = power @ found @ power.T
        found, power = found + more, power @ power
        if np.abs(more).max() <= 1e-15 * np.abs(found).max():
            break
    return (found + found.T) / 2
