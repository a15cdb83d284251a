"""Linear-Gaussian state-space model: its equations and matrices.

    z_t = A_t z_{t-1} + B_t u_t + c + w_t      w_t ~ N(0, Q_t)      hidden state
    x_t = C_t z_t     + D_t u_t + d + v_t      v_t ~ N(0, R_t)      observation
    z_1 ~ N(m, P + κ P∞)                       κ → ∞                initial state

u_t are known inputs. States with a 1 in P∞ can have any value at first: their initial distribution
is exactly diffuse (Durbin and Koopman, 2012, who write T for A, Z for C and H for R). A_1, B_1 and
Q_1 are never used. In the code A is `transition`, B `input_matrix`, c `state_offset`, Q
`process_noise`, C `observation`, D `feedthrough`, d `observation_offset` and R `observation_noise`.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from ...errors import ModelError
from .layout import FilterInput

Matrices = Float[np.ndarray, "_ _ _"] | Float[np.ndarray, "_ _"]
Vectors = Float[np.ndarray, "_ _"] | Float[np.ndarray, " _"]
ROUNDING = 1e-9  # how far below 0 an eigenvalue may be, as a fraction of the largest entry


@dataclass(frozen=True)
class InitialDistribution:
    """Distribution of the first state: N(mean, covariance + κ diag(diffuse)), κ → ∞."""

    mean: Float[np.ndarray, " states"]
    covariance: Float[np.ndarray, "states states"]
    diffuse: Float[np.ndarray, " states"]  # 1 where a state is diffuse, else 0

    @classmethod
    def known(
        cls, mean: Float[np.ndarray, " states"], covariance: Float[np.ndarray, "states states"]
    ) -> "InitialDistribution":
        """A proper Gaussian, nothing of it diffuse."""
        return cls(np.asarray(mean, float), np.asarray(covariance, float), np.zeros(len(mean)))

    @classmethod
    def fully_diffuse(cls, states: int) -> "InitialDistribution":
        """All states exactly diffuse: nothing is known of them."""
        return cls(np.zeros(states), np.zeros((states, states)), np.ones(states))


@dataclass(frozen=True)
class StateSpace:
    """All matrices of a linear-Gaussian state-space model.

    Any of them may have one more dimension in front, for time.
    """

    transition: Matrices
    process_noise: Matrices
    observation: Matrices
    observation_noise: Matrices
    initial: InitialDistribution
    input_matrix: Matrices | None = None
    state_offset: Vectors | None = None
    feedthrough: Matrices | None = None
    observation_offset: Vectors | None = None

    @property
    def states(self) -> int:
        """The dimension of the hidden state."""
        return self.transition.shape[-1]

    @property
    def width(self) -> int:
        """The dimension of an observation."""
        return self.observation.shape[-2]

    def validated(self) -> "StateSpace":
        """Itself; raises a ModelError for the first matrix with a wrong shape or wrong values."""
        states, width = self.states, self.width
        shapes = {
            "transition": (states, states),
            "process_noise": (states, states),
            "observation": (width, states),
            "observation_noise": (width, width),
        }
        for name, shape in shapes.items():
            if (found := getattr(self, name).shape)[-2:] != shape:
                raise _wrong_shape(name, found[-2:], shape)
        initial = self.initial
        if initial.mean.shape != (states,) or initial.covariance.shape != (states, states):
            raise _wrong_shape("initial", initial.covariance.shape, (states, states))
        for name in ("process_noise", "observation_noise"):
            check_covariance(name, getattr(self, name))
        check_covariance("initial", initial.covariance)
        return self

    def filter_input(
        self, values: Float[np.ndarray, "time width"], inputs: Float[np.ndarray, "time known"]
    ) -> FilterInput:
        """The model and a series as the kernels expect them: contiguous, with inputs applied."""
        time = len(values)
        state_offset, offset = np.zeros((1, self.states)), np.zeros((1, self.width))
        if self.state_offset is not None:
            state_offset = state_offset + self.state_offset
        if self.observation_offset is not None:
            offset = offset + self.observation_offset
        if inputs.shape[1]:
            if self.input_matrix is not None:
                state_offset = state_offset + _applied(self.input_matrix, inputs)
            if self.feedthrough is not None:
                offset = offset + _applied(self.feedthrough, inputs)
        transition, process_noise = _in_time(self.transition), _in_time(self.process_noise)
        observation, noise = _in_time(self.observation), _in_time(self.observation_noise)
        parts = (transition, process_noise, observation, noise)
        for part in (*parts, state_offset):
            if len(part) not in (1, time):
                raise _too_short(len(part), time)
        off_diagonal = ~np.eye(self.width, dtype=bool)
        return FilterInput(
            transition,
            process_noise,
            observation,
            noise,
            np.ascontiguousarray(state_offset, dtype=np.float64),
            np.ascontiguousarray(values - offset, dtype=np.float64),
            np.ascontiguousarray(self.initial.mean, dtype=np.float64),
            np.ascontiguousarray(self.initial.covariance, dtype=np.float64),
            np.diag(np.asarray(self.initial.diffuse, dtype=np.float64)).copy(),
            not noise[:, off_diagonal].any(),
            all(len(part) == 1 for part in parts),
        )


def check_covariance(name: str, covariance: Matrices) -> None:
    """Raise a ModelError unless a matrix is symmetric and positive semi-definite."""
    is_finite = np.isfinite(covariance).all()
    transposed = np.swapaxes(covariance, -1, -2)
    largest = float(np.abs(covariance).max(initial=0.0)) if is_finite else 0.0
    is_symmetric = is_finite and np.allclose(
        covariance, transposed, rtol=0, atol=ROUNDING * max(largest, 1e-300)
    )
    least = float(np.linalg.eigvalsh(covariance).min(initial=0.0)) if is_symmetric else 0.0
    if is_symmetric and least >= -ROUNDING * largest:
        return
    problem = "has entries that are not finite"
    if is_finite:
        problem = f"has the eigenvalue {least:.3g}" if is_symmetric else "is not symmetric"
    raise ModelError(
        "M401",
        f"the covariance matrix `{name}` {problem}",
        help=["make it positive semi-definite: L Lᵀ is, for any matrix L"],
    )


def _in_time(matrices: Matrices) -> Float[np.ndarray, "_ _ _"]:
    """With time in front, in double precision and C order, as the kernels are compiled for."""
    exact = np.ascontiguousarray(matrices, dtype=np.float64)
    return exact if exact.ndim == 3 else exact[None]


def _applied(
    matrices: Matrices, inputs: Float[np.ndarray, "time known"]
) -> Float[np.ndarray, "time size"]:
    """B u or D u of each step."""
    found: np.ndarray = np.einsum("...ij,...j->...i", matrices, inputs)
    return found


def _wrong_shape(name: str, found: tuple[int, ...], right: tuple[int, ...]) -> ModelError:
    shown, expected = (" × ".join(map(str, shape)) for shape in (found, right))
    return ModelError("M400", f"`{name}` has the shape {shown}; expected {expected}")


def _too_short(found: int, time: int) -> ModelError:
    return ModelError(
        "M400",
        f"a time-varying matrix has {found:,} steps; the series has {time:,}",
        help=["give one matrix for each step, or one for all"],
    )
