"""How a change of a layer's state lives on: exact Jacobians, and what truncation keeps.

One layer over one sequence, and the median of several.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor
from torch.func import vjp

from ...nn.cells import State
from ...nn.rnn import Layer
from ...views import Memory, Window

Steps = Float[Tensor, "time inputs"]
EXACT = 512  # up to so many rows a norm is exact; beyond, it is found by iteration
_ROUNDS = 24


def states_of(layer: Layer, x: Steps, first: State | None = None) -> list[State]:
    """The states s_0 … s_T of one sequence, each as a batch of one."""
    states = [layer.initial(1) if first is None else first]
    with torch.no_grad():
        for step in x:
            states.append(layer.step(step[None], states[-1]))
    return states


def jacobians(layer: Layer, x: Steps, first: State | None = None) -> Iterator[Tensor]:
    """∂z_T/∂z_k for k = T, T-1, …, 1: by the chain rule the product J_T J_{T-1} ⋯ J_{k+1}.

    z is what the cell carries from step to step: h; h and c side by side for an LSTM; the context
    alone for `context`. J_i = ∂s_i/∂s_{i-1} is of the whole state of the layer, which with a
    shortcut through time also holds the outputs it will still need: a change of z_k is then a
    change of h_k there too. Every factor is exact; the product is taken from the left, row by row,
    so that no J_i is ever written out.
    """
    states = states_of(layer, x, first)
    rows = _identity(layer, states[-1])
    for place in range(len(x), 0, -1):
        yield _of_carried(layer, rows)
        rows = _pulled(layer, x[place - 1 : place], states[place - 1], rows)


def state_norms(layer: Layer, x: Steps, first: State | None = None) -> list[float]:
    """‖∂z_T/∂z_{T-n}‖₂ by the lag n = 0, 1, …: the most a change n steps ago can matter now."""
    return [spectral_norm(jacobian) for jacobian in jacobians(layer, x, first)]


def spectral_norm(matrix: Float[Tensor, "rows columns"]) -> float:
    """The largest singular value; infinite where the matrix has left the range of numbers."""
    largest = float(matrix.abs().max())
    if not math.isfinite(largest) or not largest:
        return math.inf if largest else 0.0
    matrix = matrix / largest  # or its square could leave the range of numbers
    if len(matrix) <= EXACT:  # the square's eigenvalues come much sooner than singular values
        return largest * float(torch.linalg.eigvalsh(matrix @ matrix.t())[-1].clamp(min=0).sqrt())
    return largest * _by_krylov(matrix)


def truncated_gradient(
    layer: Layer,
    x: Steps,
    pull: Float[Tensor, "time hidden"],
    window: int,
    first: State | None = None,
) -> Float[Tensor, " weights"]:
    """∂L/∂θ of a layer's weights when the gradient is cut after every `window` steps.

    `pull` is ∂L/∂h_t, what the loss asks of each output. The state is carried on; only its
    gradient is cut. Windows are counted from the end, so that the last is a whole one.
    """
    states = states_of(layer, x, first)
    weights = list(layer.parameters())
    total = torch.zeros(sum(weight.numel() for weight in weights), dtype=x.dtype)
    for end in range(len(x), 0, -window):
        begin = max(0, end - window)
        if not bool(pull[begin:end].any()):
            continue
        state, reached = states[begin], x.new_zeros(())
        for place in range(begin, end):
            state = layer.step(x[place : place + 1], state)
            reached = reached + state[0][0] @ pull[place]
        found = torch.autograd.grad(reached, weights, materialize_grads=True)
        total += torch.cat([one.flatten() for one in found])
    return total


def _by_krylov(matrix: Tensor) -> float:
    """The largest singular value within the span of v, MᵀM v, (MᵀM)² v, … for a random v."""
    chance = torch.Generator().manual_seed(0)
    vector = torch.randn(matrix.shape[1], generator=chance).to(matrix.dtype)
    basis = vector.new_zeros(matrix.shape[1], 0)
    for _ in range(_ROUNDS):
        for _ in range(2):  # once leaves rounding errors that grow
            vector = vector - basis @ (basis.t() @ vector)
        if not (size := float(vector.norm())):
            break
        basis = torch.cat([basis, vector[:, None] / size], dim=1)
        vector = matrix.t() @ (matrix @ basis[:, -1])
    return float(torch.linalg.matrix_norm(matrix @ basis, 2))


def _identity(layer: Layer, state: State) -> State:
    """A row for every number of z, 1 at its own place in the state and 0 elsewhere."""
    idle, tensors, hidden = layer.cell.idle, layer.cell.tensors, layer.cell.hidden
    count = (tensors - idle) * hidden
    rows = [part.new_zeros(count, *part.shape) for part in state]
    for number in range(idle, tensors):
        start = (number - idle) * hidden
        rows[number][start : start + hidden, 0] = torch.eye(hidden, dtype=rows[number].dtype)
    return tuple(rows)


def _pulled(layer: Layer, x: Float[Tensor, "1 inputs"], before: State, rows: State) -> State:
    """The rows times the Jacobian of one step."""
    back = vjp(lambda *state: layer.step(x, state), *before)[1]
    found: State = torch.vmap(back)(rows)
    return found


def _of_carried(layer: Layer, rows: State) -> Float[Tensor, "rows carried"]:
    """The columns of z: its own place in the state, and where the shortcut keeps h."""
    idle, tensors = layer.cell.idle, layer.cell.tensors
    columns = [part[:, 0] for part in rows[idle:tensors]]
    if layer.shortcut is not None and not idle:
        columns[0] = columns[0] + rows[-1][:, 0, -1]
    return torch.cat(columns, dim=1).detach()


WINDOWS = (1, 2, 5, 10, 20, 50, 100, 200, 500)


@dataclass(frozen=True)
class Measured:
    """What was measured on one sequence; see `Memory` for what the numbers are."""

    state: list[float]
    loss: list[float]
    gradient: float
    windows: dict[int, tuple[float, float]]  # by their steps: share and cosine


def precision(layer: Layer) -> torch.dtype:
    """Double where that is quick: single numbers end at 1e-38, which a long product soon passes."""
    carried = (layer.cell.tensors - layer.cell.idle) * layer.cell.hidden
    return torch.float64 if carried <= EXACT else torch.float32


def measured(
    layer: Layer, x: Tensor, first: State, pull: Tensor, loss: list[float], gradient: float
) -> Measured:
    """The gradients through time of a layer that has read x, `pull` being ∂L/∂h_t."""
    full = truncated_gradient(layer, x, pull, len(x), first)
    windows = {}
    for steps in (n for n in WINDOWS if n < len(x)):
        windows[steps] = _kept(truncated_gradient(layer, x, pull, steps, first), full)
    return Measured(state_norms(layer, x, first), loss, gradient, windows)


def by_lag(gradients: Tensor) -> list[float]:
    """‖∂L/∂x_k‖ for each place of (time, width), the last place first."""
    sizes: list[float] = gradients.norm(dim=-1).flip(0).tolist()
    return sizes


def size_of(gradients: Sequence[Tensor | None]) -> float:
    """The norm of several gradients taken as one vector."""
    return math.sqrt(
        sum(float(one.double().square().sum()) for one in gradients if one is not None)
    )


def median(found: Sequence[Measured], name: str, stretch: float | None, clip: float) -> Memory:
    """The medians over several sequences, for the lags that at least half of them have."""
    windows = []
    for steps in WINDOWS:
        kept = [one.windows[steps] for one in found if steps in one.windows]
        if 2 * len(kept) >= len(found):
            share, cosine = (float(np.median(column)) for column in zip(*kept, strict=True))
            windows.append(Window(steps, share, cosine))
    return Memory(
        name,
        _medians([one.state for one in found]),
        _medians([one.loss for one in found]),
        stretch,
        float(np.median([one.gradient for one in found])),
        clip,
        tuple(windows),
    )


def _medians(curves: Sequence[Sequence[float]]) -> list[float]:
    longest = max(map(len, curves))
    columns = [[c[lag] for c in curves if lag < len(c)] for lag in range(longest)]
    return [float(np.median(one)) for one in columns if 2 * len(one) >= len(curves)]


def _kept(part: Tensor, full: Tensor) -> tuple[float, float]:
    """‖g_n‖ / ‖g‖ and the cosine between the two; 0 where there is no gradient at all."""
    of_part, of_full = float(part.norm()), float(full.norm())
    if not of_part or not of_full:
        return 0.0, 0.0
    return of_part / of_full, float(part / of_part @ (full / of_full))
