"""Online Kalman filter for streaming series, and simulation of series from a state-space model."""

from typing import Any

import numpy as np
from jaxtyping import Float

from .compiled import Inputs
from .kernels_diffuse import at_step, independent_values, update_value
from .system import InitialDistribution, StateSpace


def simulate(
    model: StateSpace,
    initial: InitialDistribution,
    inputs: Inputs,
    samples: int,
    rng: np.random.Generator,
) -> Float[np.ndarray, "samples time width"]:
    """Sample series of the length of the inputs; the first state is sampled from `initial`."""
    time = len(inputs)
    data = model.filter_input(np.zeros((time, model.width)), inputs)
    found = np.empty((samples, time, model.width))
    states = initial.mean + _noise(initial.covariance, samples, rng)
    for t in range(time):
        if t:
            noise = _noise(at_step(data.process_noise, t), samples, rng)
            offset = at_step(data.state_offset, t)
            states = states @ at_step(data.transition, t).T + offset + noise
        # `values` are 0 - D u - d here: to subtract them adds the inputs and the offset.
        observed = states @ at_step(data.observation, t).T - data.values[t]
        found[:, t] = observed + _noise(at_step(data.observation_noise, t), samples, rng)
    return found


def _noise(
    covariance: Float[np.ndarray, "size size"], samples: int, rng: np.random.Generator
) -> Float[np.ndarray, "samples size"]:
    """Gaussian noise; by eigenvalues, as Cholesky would fail for a singular covariance."""
    values, vectors = np.linalg.eigh(covariance)
    root = vectors * np.sqrt(np.maximum(values, 0))
    found: np.ndarray = rng.normal(size=(samples, len(covariance))) @ root.T
    return found


State = tuple[Any, ...]
Vector = Float[np.ndarray, " _"]
Square = Float[np.ndarray, "_ _"]


class OnlineFilter:
    """Kalman filter of a constant model, one step at a time.

    While part of the initial state is diffuse there is no finite forecast. A second filter runs
    beside the first, from the proper distribution `fallback`, and forecasts until the observations
    have identified the whole state.
    """

    def __init__(self, model: StateSpace, fallback: InitialDistribution) -> None:
        self._model, self._fallback = model, fallback

    def begin(self) -> State:
        """Before the first step: mean, covariance, P∞, moments of the fallback, and the step."""
        initial, other = self._model.initial, self._fallback
        own = (initial.mean, initial.covariance, np.diag(initial.diffuse))
        return (*own, other.mean, other.covariance, np.zeros(1))

    def step(self, values: Vector, inputs: Vector, state: State) -> tuple[Vector, Square, State]:
        """Observe a step; the mean and covariance of the next one, assuming the same inputs."""
        model, (*known, steps) = self._model, state
        data = model.filter_input(values[None], inputs[None])
        rows, is_identified = independent_values(data, 0), not known[2].any()
        own, other = tuple(known[:3]), (known[3], known[4], np.zeros_like(known[2]))
        if steps[0]:
            own = self._predicted(own, data.state_offset[0])
            other = self._predicted(other, data.state_offset[0])
        for row in rows:
            own = update_value(*row, own)[1]
            if not is_identified:
                other = update_value(*row, other)[1]
        if np.abs(own[2]).max(initial=0.0) < 1e-8:  # nothing of P∞ is left but rounding
            own = (own[0], own[1], np.zeros_like(own[2]))
        state = (*own, other[0], other[1], steps + 1)
        filtered = (*self.filtered(state), other[2])
        mean, covariance, _ = self._predicted(filtered, data.state_offset[0])
        offset = self._offset(inputs)
        design, noise = model.observation, model.observation_noise
        return design @ mean + offset, design @ covariance @ design.T + noise, state

    def filtered(self, state: State) -> tuple[Vector, Square]:
        """The mean and covariance of the hidden state after the last observed step."""
        is_identified = not state[2].any()
        return (state[0], state[1]) if is_identified else (state[3], state[4])

    def _predicted(
        self, known: tuple[Any, ...], state_offset: Vector
    ) -> tuple[Vector, Square, Square]:
        mean, covariance, diffuse = known
        transition = self._model.transition
        return (
            transition @ mean + state_offset,
            transition @ covariance @ transition.T + self._model.process_noise,
            transition @ diffuse @ transition.T,
        )

    def _offset(self, inputs: Vector) -> Vector:
        """D u + d."""
        return -self._model.filter_input(np.zeros((1, self._model.width)), inputs[None]).values[0]
