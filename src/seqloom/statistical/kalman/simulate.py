"""The filter one step at a time, for a series that is still coming in.

Series drawn at random from a system.
"""

from typing import Any

import numpy as np
from jaxtyping import Float

from .compiled import Inputs
from .kernels_diffuse import at, numbers_of, observe
from .system import Start, System


def drawn(
    system: System, start: Start, inputs: Inputs, samples: int, chance: np.random.Generator
) -> Float[np.ndarray, "samples time width"]:
    """So many series, as long as there are inputs; the first state is drawn from `start`."""
    time = len(inputs)
    laid = system.laid(np.zeros((time, system.width)), inputs)
    found = np.empty((samples, time, system.width))
    states = start.mean + _noise(start.covariance, samples, chance)
    for t in range(time):
        if t:
            noise = _noise(at(laid.process, t), samples, chance)
            states = states @ at(laid.transition, t).T + at(laid.drift, t) + noise
        shown = states @ at(laid.observation, t).T - laid.values[t]
        found[:, t] = shown + _noise(at(laid.error, t), samples, chance)
    return found


def _noise(
    covariance: Float[np.ndarray, "size size"], samples: int, chance: np.random.Generator
) -> Float[np.ndarray, "samples size"]:
    """Noise of a covariance that may be singular."""
    values, vectors = np.linalg.eigh(covariance)
    root = vectors * np.sqrt(np.maximum(values, 0))
    found: np.ndarray = chance.normal(size=(samples, len(covariance))) @ root.T
    return found


State = tuple[Any, ...]
Vector = Float[np.ndarray, " _"]
Square = Float[np.ndarray, "_ _"]


class Steps:
    """Steps of a system that never changes.

    While part of the start is diffuse, a second filter runs beside the first, from `instead`: it
    answers until the series has told all.
    """

    def __init__(self, system: System, instead: Start) -> None:
        self._system, self._instead = system, instead

    def begin(self) -> State:
        """Before the first step: mean, covariance and P∞ of both filters, and how many steps."""
        start, other = self._system.start, self._instead
        own = (start.mean, start.covariance, np.diag(start.diffuse))
        return (*own, other.mean, other.covariance, np.zeros(1))

    def step(self, values: Vector, inputs: Vector, state: State) -> tuple[Vector, Square, State]:
        """See a step; the mean and the covariance of what comes next, with the same inputs."""
        system, (*known, steps) = self._system, state
        laid = system.laid(values[None], inputs[None])
        numbers, is_told = numbers_of(laid, 0), not known[2].any()
        own, other = tuple(known[:3]), (known[3], known[4], np.zeros_like(known[2]))
        if steps[0]:
            own, other = self._moved(own, laid.drift[0]), self._moved(other, laid.drift[0])
        for number in numbers:
            own = observe(*number, own)[1]
            if not is_told:
                other = observe(*number, other)[1]
        if np.abs(own[2]).max(initial=0.0) < 1e-8:  # nothing but rounding
            own = (own[0], own[1], np.zeros_like(own[2]))
        state = (*own, other[0], other[1], steps + 1)
        mean, covariance, _ = self._moved((*self.known(state), other[2]), laid.drift[0])
        offset = self._offset(inputs)
        show, error = system.observation, system.error
        return show @ mean + offset, show @ covariance @ show.T + error, state

    def known(self, state: State) -> tuple[Vector, Square]:
        """The mean and the covariance of the hidden state once a step is seen."""
        is_told = not state[2].any()
        return (state[0], state[1]) if is_told else (state[3], state[4])

    def _moved(self, known: tuple[Any, ...], drift: Vector) -> tuple[Vector, Square, Square]:
        mean, covariance, diffuse = known
        moves = self._system.transition
        return (
            moves @ mean + drift,
            moves @ covariance @ moves.T + self._system.process,
            moves @ diffuse @ moves.T,
        )

    def _offset(self, inputs: Vector) -> Vector:
        return -self._system.laid(np.zeros((1, self._system.width)), inputs[None]).values[0]
