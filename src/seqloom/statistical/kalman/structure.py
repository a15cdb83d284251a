"""Structural time series models and free state-space models, as functions of real parameters.

Unobserved components (local level, local linear trend, season), a latent autoregression, and a
model whose matrices are all free. Optimisers see a vector of unconstrained parameters; each
structure maps it to a state-space model, covariances by their Cholesky factors.
"""

from abc import ABC, abstractmethod
from dataclasses import replace

import numpy as np
from jaxtyping import Float, Int

from .em import ExpectedMoments, m_step, stacked
from .system import InitialDistribution, StateSpace

Parameters = Float[np.ndarray, " _"]
Square = Float[np.ndarray, "_ _"]
LEAST = 1e-5  # the least deviation of any noise: covariances stay positive definite
STEP = 1e-5  # of central differences


class Structure(ABC):
    """How a state-space model depends on unconstrained parameters, and the names of its parts.

    Covariances are L Lᵀ with a lower triangular L, the diagonal of which is the exponential of
    parameters: any vector of parameters gives a valid covariance.
    """

    def __init__(self, width: int, known: int, states: int) -> None:
        self.width, self.known, self.states = width, known, states

    @property
    @abstractmethod
    def noises(self) -> dict[str, Int[np.ndarray, " rows"]]:
        """The states that each noise moves, by its name."""

    @property
    @abstractmethod
    def components(self) -> dict[str, Float[np.ndarray, "_ states"]]:
        """The matrix that extracts each component from the state, by its name."""

    @abstractmethod
    def state_space(self, parameters: Parameters) -> StateSpace:
        """The state-space model with these parameters."""

    @abstractmethod
    def parameters(self, model: StateSpace) -> Parameters:
        """The parameters of a state-space model: the inverse of `state_space`."""

    @abstractmethod
    def initial_parameters(self, rng: np.random.Generator) -> list[Parameters]:
        """Where training may start, for observations of variance 1."""

    @abstractmethod
    def m_step(self, moments: ExpectedMoments, model: StateSpace) -> StateSpace:
        """M-step of EM."""

    def expected_loss(self, moments: ExpectedMoments, parameters: Parameters) -> float:
        """The expected -log p(x, z) (-Q of EM), from the moments of an E-step.

        By Fisher's identity its gradient is that of -log p(x), at the parameters of that E-step.
        """
        model = self.state_space(parameters)
        transition, observation = stacked(model)
        noise, total = moments.transition.residual_squares(transition), 0.0
        for rows in self.noises.values():
            block = np.ix_(rows, rows)
            total += _gaussian_loss(
                moments.transition.count, noise[block], model.process_noise[block]
            )
        squares = moments.observation.residual_squares(observation)
        total += _gaussian_loss(moments.observation.count, squares, model.observation_noise)
        proper = np.flatnonzero(model.initial.diffuse == 0)
        if len(proper):
            mean = model.initial.mean
            mixed = np.outer(moments.initial, mean)
            squares = moments.initial_squares - mixed - mixed.T
            squares = squares + moments.series * np.outer(mean, mean)
            block = np.ix_(proper, proper)
            total += _gaussian_loss(moments.series, squares[block], model.initial.covariance[block])
        return total

    def gradient(self, moments: ExpectedMoments, parameters: Parameters) -> Parameters:
        """The gradient of -log p(x), from an E-step with these parameters.

        Central differences of the expected loss are cheap, as it is made of a few small matrices:
        the pass over the series was made once, by the E-step.
        """
        gradient = np.empty(len(parameters))
        for place in range(len(parameters)):
            more, less = parameters.copy(), parameters.copy()
            more[place] += STEP
            less[place] -= STEP
            difference = self.expected_loss(moments, more) - self.expected_loss(moments, less)
            gradient[place] = difference / (2 * STEP)
        return gradient


def _gaussian_loss(count: float, squares: Square, covariance: Square) -> float:
    """½ (n log |2πΣ| + tr Σ⁻¹ S): -log N of n residuals with the sum of products S."""
    sign, log = np.linalg.slogdet(2 * np.pi * covariance)
    if sign <= 0:
        return float("inf")
    return 0.5 * float(count * log + np.trace(np.linalg.solve(covariance, squares)))


class ParameterReader:
    """Reads a vector of parameters, one group after another."""

    def __init__(self, parameters: Parameters) -> None:
        self._parameters, self._at = parameters, 0

    def next(self, *shape: int) -> np.ndarray:
        """The next group, in this shape."""
        size = int(np.prod(shape))
        self._at += size
        return self._parameters[self._at - size : self._at].reshape(shape)

    def covariance(self, size: int) -> Square:
        """The next group as a covariance."""
        lower = np.zeros((size, size))
        lower[np.tril_indices(size)] = self.next(size * (size + 1) // 2)
        # Clipped, because a line search may try parameters whose exponential overflows.
        diagonal = np.exp(np.clip(lower.diagonal(), -40, 40)) + LEAST
        lower[np.diag_indices(size)] = diagonal
        return lower @ lower.T


def covariance_parameters(covariance: Square) -> Parameters:
    """The parameters of a covariance, or of the nearest one that has parameters."""
    size = len(covariance)
    values, vectors = np.linalg.eigh(covariance)
    # The diagonal of L is exp(p) + LEAST: with eigenvalues below (2 LEAST)² there would be no p.
    raised = vectors * np.maximum(values, (2 * LEAST) ** 2) @ vectors.T
    lower = np.linalg.cholesky(raised)
    diagonal = np.diag_indices(size)
    lower[diagonal] = np.log(np.maximum(lower[diagonal] - LEAST, LEAST))
    return lower[np.tril_indices(size)]


def noise_parameters(size: int, deviation: float) -> Parameters:
    """The parameters of independent noise with this standard deviation."""
    return covariance_parameters(np.eye(size) * deviation**2)


class UnobservedComponents(Structure):
    """Structural time series model (Harvey, 1989): level, trend and season, each a random walk.

    level_t  = level_{t-1} + trend_{t-1} + noise
    trend_t  = trend_{t-1} + noise
    season_t = -(season_{t-1} + … + season_{t-s+1}) + noise        over s steps it sums to about 0
    x_t      = level_t + season_t + D u_t + noise

    Local level model without a trend, local linear trend model with one. The noise of several
    columns may be correlated. All states are diffuse at first.
    """

    def __init__(self, width: int, known: int, *, trend: bool = False, period: int = 1) -> None:
        self.names = ["level"] + ["trend"] * trend + ["season"] * (period > 1)
        self.period = period
        each = 1 + trend + max(0, period - 1)
        super().__init__(width, known, each * width)
        self._transition, self._observation = self._fixed_matrices(trend, each)

    def _fixed_matrices(self, trend: bool, each: int) -> tuple[np.ndarray, np.ndarray]:
        """A and C, which have no parameters."""
        one, transition, observation = np.eye(self.width), np.eye(each), np.zeros((1, each))
        observation[0, 0] = 1
        if trend:
            transition[0, 1] = 1
        if self.period > 1:
            first = 1 + trend
            transition[first:, first:] = np.eye(self.period - 1, k=-1)
            transition[first, first:] = -1
            observation[0, first] = 1
        # Component by component, and within each column by column: state p · width + w.
        return np.kron(transition, one), np.kron(observation, one)

    @property
    def noises(self) -> dict[str, Int[np.ndarray, " rows"]]:
        places = {name: place for place, name in enumerate(self.names)}
        return {n: np.arange(self.width) + p * self.width for n, p in places.items()}

    @property
    def components(self) -> dict[str, Float[np.ndarray, "_ states"]]:
        return {name: np.eye(self.states)[rows] for name, rows in self.noises.items()}

    def state_space(self, parameters: Parameters) -> StateSpace:
        reader = ParameterReader(parameters)
        noise = reader.covariance(self.width)
        process_noise = np.zeros((self.states, self.states))
        for rows in self.noises.values():
            process_noise[np.ix_(rows, rows)] = reader.covariance(self.width)
        feedthrough = reader.next(self.width, self.known)
        initial = InitialDistribution.fully_diffuse(self.states)
        return StateSpace(
            self._transition,
            process_noise,
            self._observation,
            noise,
            initial,
            feedthrough=feedthrough,
        )

    def parameters(self, model: StateSpace) -> Parameters:
        blocks = [model.process_noise[np.ix_(rows, rows)] for rows in self.noises.values()]
        noise = [covariance_parameters(block) for block in blocks]
        feedthrough = np.zeros((self.width, self.known))
        if model.feedthrough is not None:
            feedthrough = model.feedthrough
        return np.concatenate(
            [covariance_parameters(model.observation_noise), *noise, feedthrough.ravel()]
        )

    def initial_parameters(self, rng: np.random.Generator) -> list[Parameters]:
        usual = {"level": 0.3, "trend": 0.03, "season": 0.1}
        found = []
        # The likelihood can have a second maximum where a component does not move at all: three
        # starts, from lively to nearly still.
        for factor in (1.0, 0.2, 0.03):
            noise = [noise_parameters(self.width, usual[name] * factor) for name in self.names]
            feedthrough = np.zeros(self.width * self.known)
            found.append(np.concatenate([noise_parameters(self.width, 0.5), *noise, feedthrough]))
        return found

    def m_step(self, moments: ExpectedMoments, model: StateSpace) -> StateSpace:
        transition, observation = stacked(model)
        noise = moments.transition.residual_squares(transition)
        process_noise = np.zeros_like(model.process_noise)
        for rows in self.noises.values():
            block = np.ix_(rows, rows)
            process_noise[block] = noise[block] / max(1.0, moments.transition.count)
        if self.known:
            # D alone is free in [C D d]: it is regressed on what C leaves over.
            squares, k = moments.observation.regressors, self.states
            left = moments.observation.cross[:, k:-1] - model.observation @ squares[:k, k:-1]
            slopes = np.linalg.lstsq(squares[k:-1, k:-1], left.T, rcond=1e-12)[0].T
            observation[:, k:-1] = slopes
        error = moments.observation.residual_squares(observation) / moments.observation.count
        return replace(
            model,
            process_noise=process_noise,
            observation_noise=error,
            feedthrough=observation[:, self.states : -1],
        )


class LatentAutoregression(Structure):
    """A stationary AR(p) process for each column, observed with noise.

    f_t = φ₁ f_{t-1} + … + φ_p f_{t-p} + noise,   x_t = d + f_t + D u_t + noise

    The parameters are partial autocorrelations (Monahan, 1984), as hyperbolic tangents of real
    numbers: every vector gives a stationary process. The initial state has its stationary
    distribution.
    """

    def __init__(self, width: int, known: int, order: int) -> None:
        super().__init__(width, known, order * width)
        self.order = order

    @property
    def noises(self) -> dict[str, Int[np.ndarray, " rows"]]:
        return {"autoregression": np.arange(self.width)}

    @property
    def components(self) -> dict[str, Float[np.ndarray, "_ states"]]:
        return {"autoregression": np.eye(self.states)[: self.width]}

    def state_space(self, parameters: Parameters) -> StateSpace:
        reader, width = ParameterReader(parameters), self.width
        partial = np.tanh(reader.next(width, self.order))
        coefficients = np.stack([ar_coefficients(row) for row in partial])
        transition = np.eye(self.states, k=-width)  # companion form: older values move down
        for lag in range(self.order):
            transition[:width, lag * width : (lag + 1) * width] = np.diag(coefficients[:, lag])
        noise, process_noise = reader.covariance(width), np.zeros((self.states, self.states))
        process_noise[:width, :width] = reader.covariance(width)
        covariance = stationary_covariance(transition, process_noise)
        initial = InitialDistribution.known(np.zeros(self.states), covariance)
        observation = np.eye(self.states)[:width]
        offset, feedthrough = reader.next(width), reader.next(width, self.known)
        return StateSpace(
            transition,
            process_noise,
            observation,
            noise,
            initial,
            feedthrough=feedthrough,
            observation_offset=offset,
        )

    def parameters(self, model: StateSpace) -> Parameters:
        width = self.width
        top = model.transition[:width]
        lags = [top[:, lag * width : (lag + 1) * width].diagonal() for lag in range(self.order)]
        partial = [partial_autocorrelations(row) for row in np.stack(lags, axis=1)]
        offset = np.zeros(width)
        if model.observation_offset is not None:
            offset = model.observation_offset
        feedthrough = np.zeros((width, self.known))
        if model.feedthrough is not None:
            feedthrough = model.feedthrough
        covariances = model.observation_noise, model.process_noise[:width, :width]
        noise = [covariance_parameters(covariance) for covariance in covariances]
        tangents = np.arctanh(np.clip(partial, -1 + 1e-9, 1 - 1e-9)).ravel()
        return np.concatenate([tangents, *noise, offset, feedthrough.ravel()])

    def initial_parameters(self, rng: np.random.Generator) -> list[Parameters]:
        found = []
        for first in (1.0, 0.3, 2.0):
            partial = np.zeros((self.width, self.order))
            partial[:, 0] = first
            # AR(1) with the coefficient tanh(first) has variance 1 with noise of this deviation.
            size = np.sqrt(1 - np.tanh(first) ** 2)
            noise = [noise_parameters(self.width, 0.3), noise_parameters(self.width, float(size))]
            rest = np.zeros(self.width * (1 + self.known))
            found.append(np.concatenate([partial.ravel(), *noise, rest]))
        return found

    def m_step(self, moments: ExpectedMoments, model: StateSpace) -> StateSpace:
        # The initial covariance depends on the coefficients, so their maximum has no formula.
        raise TypeError("EM has no closed-form M-step for a stationary autoregression")


class FreeMatrices(Structure):
    """A linear dynamical system in which all matrices are parameters; states have no meaning."""

    def __init__(self, width: int, known: int, states: int) -> None:
        super().__init__(width, known, states)

    @property
    def noises(self) -> dict[str, Int[np.ndarray, " rows"]]:
        return {"state": np.arange(self.states)}

    @property
    def components(self) -> dict[str, Float[np.ndarray, "_ states"]]:
        return {f"state {k + 1}": np.eye(self.states)[k : k + 1] for k in range(self.states)}

    def state_space(self, parameters: Parameters) -> StateSpace:
        reader, width, known = ParameterReader(parameters), self.width, self.known
        states = self.states
        return StateSpace(
            transition=reader.next(states, states),
            input_matrix=reader.next(states, known),
            state_offset=reader.next(states),
            observation=reader.next(width, states),
            feedthrough=reader.next(width, known),
            observation_offset=reader.next(width),
            process_noise=reader.covariance(states),
            observation_noise=reader.covariance(width),
            initial=InitialDistribution.known(reader.next(states), reader.covariance(states)),
        )

    def parameters(self, model: StateSpace) -> Parameters:
        transition, observation = stacked(model)
        k = self.states
        linear = [transition[:, :k], transition[:, k:-1], transition[:, -1]]
        linear += [observation[:, :k], observation[:, k:-1], observation[:, -1]]
        covariances = model.process_noise, model.observation_noise
        noise = [covariance_parameters(covariance) for covariance in covariances]
        initial = [model.initial.mean, covariance_parameters(model.initial.covariance)]
        return np.concatenate([*(m.ravel() for m in linear), *noise, *initial])

    def initial_parameters(self, rng: np.random.Generator) -> list[Parameters]:
        states, width, known = self.states, self.width, self.known
        rotation = np.linalg.qr(rng.normal(size=(states, states)))[0]
        model = StateSpace(
            # Eigenvalues between 0.2 and 0.8 in size: stable, and with some memory.
            transition=0.5 * np.eye(states) + 0.3 * rotation,
            input_matrix=np.zeros((states, known)),
            state_offset=np.zeros(states),
            observation=rng.normal(size=(width, states)) / np.sqrt(states),
            feedthrough=np.zeros((width, known)),
            observation_offset=np.zeros(width),
            process_noise=0.3 * np.eye(states),
            observation_noise=0.3 * np.eye(width),
            initial=InitialDistribution.known(np.zeros(states), np.eye(states)),
        )
        return [self.parameters(model)]

    def m_step(self, moments: ExpectedMoments, model: StateSpace) -> StateSpace:
        return m_step(moments, model)


def ar_coefficients(partial: Float[np.ndarray, " order"]) -> Float[np.ndarray, " order"]:
    """AR coefficients from partial autocorrelations, by the Durbin-Levinson recursion."""
    found = np.zeros(0)
    for number in partial:
        found = np.append(found - number * found[::-1], number)
    return found


def partial_autocorrelations(
    coefficients: Float[np.ndarray, " order"],
) -> Float[np.ndarray, " order"]:
    """Partial autocorrelations from AR coefficients: the Durbin-Levinson recursion backwards."""
    partial = []
    while len(coefficients):
        number, coefficients = coefficients[-1], coefficients[:-1]
        partial.append(number)
        coefficients = (coefficients + number * coefficients[::-1]) / (1 - number**2)
    return np.array(partial[::-1])


def stationary_covariance(transition: Square, process_noise: Square) -> Square:
    """The covariance P = A P Aᵀ + Q of a stationary state (discrete Lyapunov equation).

    P = Σ_j Aʲ Q (Aʲ)ᵀ; each round doubles the number of terms, so roots near 1 take few rounds.
    """
    found, power = process_noise.copy(), transition.copy()
    for _ in range(60):
        more = power @ found @ power.T
        found, power = found + more, power @ power
        if np.abs(more).max() <= 1e-15 * np.abs(found).max():
            break
    return (found + found.T) / 2
