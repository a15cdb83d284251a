"""Series drawn at random from a system."""

import numpy as np
from jaxtyping import Float

from .diffuse import at
from .quick import Inputs
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
