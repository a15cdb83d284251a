"""A linear dynamical system with Gaussian noise: its equations, and the matrices in them.

    z_t = A_t z_{t-1} + B_t u_t + c + w_t      w_t ~ N(0, Q_t)      the hidden state
    x_t = C_t z_t     + D_t u_t + d + v_t      v_t ~ N(0, R_t)      what is observed
    z_1 ~ N(m, P + κ P∞)                       κ → ∞                the first state

u_t are inputs that are known. A state with a 1 in P∞ can be anything at first: its start is
diffuse (Durbin and Koopman, 2012). A_1, B_1 and Q_1 are never used. In the code A is `transition`,
B `drive`, c `drift`, Q `process`, C `observation`, D `direct`, d `offset` and R `error`.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from ...errors import ModelError
from .layout import Laid

Matrices = Float[np.ndarray, "_ _ _"] | Float[np.ndarray, "_ _"]
Vectors = Float[np.ndarray, "_ _"] | Float[np.ndarray, " _"]
ROUNDING = 1e-9  # what of a covariance may be below 0, as a share of its largest variance


@dataclass(frozen=True)
class Start:
    """What is known of the first state: N(mean, covariance + κ diag(diffuse)), κ → ∞."""

    mean: Float[np.ndarray, " states"]
    covariance: Float[np.ndarray, "states states"]
    diffuse: Float[np.ndarray, " states"]  # 1 where a state can be anything, else 0

    @classmethod
    def known(
        cls, mean: Float[np.ndarray, " states"], covariance: Float[np.ndarray, "states states"]
    ) -> "Start":
        """Of a first state that is known to be near its mean; a large covariance says little."""
        return cls(np.asarray(mean, float), np.asarray(covariance, float), np.zeros(len(mean)))

    @classmethod
    def unknown(cls, states: int) -> "Start":
        """Of a first state that can be anything: exactly diffuse."""
        return cls(np.zeros(states), np.zeros((states, states)), np.ones(states))


@dataclass(frozen=True)
class System:
    """All matrices of a system; any of them may have one more dimension in front, for time."""

    transition: Matrices
    process: Matrices
    observation: Matrices
    error: Matrices
    start: Start
    drive: Matrices | None = None
    drift: Vectors | None = None
    direct: Matrices | None = None
    offset: Vectors | None = None

    @property
    def states(self) -> int:
        """The size of the hidden state."""
        return self.transition.shape[-1]

    @property
    def width(self) -> int:
        """How many numbers are observed in a step."""
        return self.observation.shape[-2]

    def checked(self) -> "System":
        """Itself, or a sentence about the first matrix that cannot be."""
        states, width = self.states, self.width
        shapes = {
            "transition": (states, states),
            "process": (states, states),
            "observation": (width, states),
            "error": (width, width),
        }
        for name, shape in shapes.items():
            if (found := getattr(self, name).shape)[-2:] != shape:
                raise _misshapen(name, found[-2:], shape)
        if self.start.mean.shape != (states,) or self.start.covariance.shape != (states, states):
            raise _misshapen("start", self.start.covariance.shape, (states, states))
        for name in ("process", "error"):
            must_be_positive(name, getattr(self, name))
        must_be_positive("start", self.start.covariance)
        return self

    def laid(
        self, values: Float[np.ndarray, "time width"], inputs: Float[np.ndarray, "time known"]
    ) -> Laid:
        """The system and a series as compiled loops want them: without inputs, in order."""
        time = len(values)
        drift, offset = np.zeros((1, self.states)), np.zeros((1, self.width))
        if self.drift is not None:
            drift = drift + self.drift
        if self.offset is not None:
            offset = offset + self.offset
        if inputs.shape[1]:
            drift = drift if self.drive is None else drift + _driven(self.drive, inputs)
            offset = offset if self.direct is None else offset + _driven(self.direct, inputs)
        transition, process = _in_time(self.transition), _in_time(self.process)
        observation, error = _in_time(self.observation), _in_time(self.error)
        parts = (transition, process, observation, error)
        for part in (*parts, drift):
            if len(part) not in (1, time):
                raise _too_short(len(part), time)
        off = ~np.eye(self.width, dtype=bool)
        return Laid(
            transition,
            process,
            observation,
            error,
            np.ascontiguousarray(drift, dtype=np.float64),
            np.ascontiguousarray(values - offset, dtype=np.float64),
            np.ascontiguousarray(self.start.mean, dtype=np.float64),
            np.ascontiguousarray(self.start.covariance, dtype=np.float64),
            np.diag(np.asarray(self.start.diffuse, dtype=np.float64)).copy(),
            not error[:, off].any(),
            all(len(part) == 1 for part in parts),
        )


def must_be_positive(name: str, covariance: Matrices) -> None:
    """Refuse a covariance that has a negative variance in some direction, or is not symmetric."""
    finite = np.isfinite(covariance).all()
    turned = np.swapaxes(covariance, -1, -2)
    largest = float(np.abs(covariance).max(initial=0.0)) if finite else 0.0
    is_even = finite and np.allclose(
        covariance, turned, rtol=0, atol=ROUNDING * max(largest, 1e-300)
    )
    least = float(np.linalg.eigvalsh(covariance).min(initial=0.0)) if is_even else 0.0
    if is_even and least >= -ROUNDING * largest:
        return
    said = "has numbers that are not finite"
    if finite:
        said = f"has a variance of {least:.3g} in some direction" if is_even else "is not symmetric"
    raise ModelError(
        "M401",
        f"the covariance `{name}` {said}",
        help=["make it L Lᵀ of some matrix L, as every covariance can be"],
    )


def _in_time(matrices: Matrices) -> Float[np.ndarray, "_ _ _"]:
    """With time in front, in double precision and in order."""
    exact = np.ascontiguousarray(matrices, dtype=np.float64)
    return exact if exact.ndim == 3 else exact[None]


def _driven(
    matrices: Matrices, inputs: Float[np.ndarray, "time known"]
) -> Float[np.ndarray, "time size"]:
    """What inputs do in each step."""
    found: np.ndarray = np.einsum("...ij,...j->...i", matrices, inputs)
    return found


def _misshapen(name: str, found: tuple[int, ...], right: tuple[int, ...]) -> ModelError:
    shown, expected = (" × ".join(map(str, shape)) for shape in (found, right))
    return ModelError("M400", f"`{name}` is {shown}; expected {expected}")


def _too_short(found: int, time: int) -> ModelError:
    return ModelError(
        "M400",
        f"a matrix that changes in time is given for {found:,} steps; the series has {time:,}",
        help=["give one for each step, or one for all"],
    )
