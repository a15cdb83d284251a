"""Backpropagation through time: Jacobians of recurrent layers, and what truncated BPTT keeps.

Of one layer on one sequence, and the median over several sequences.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor
from torch.func import vjp

from ...cancellation import check_cancelled
from ...nn.cells import State
from ...nn.rnn import RNNLayer
from ...views import GradientFlow, TruncatedGradient

Inputs = Float[Tensor, "time inputs"]
EXACT = 512  # rows up to which a spectral norm is exact; above, it is found by iteration
_ITERATIONS = 24


def states_of(layer: RNNLayer, x: Inputs, first: State | None = None) -> list[State]:
    """The states s_0 … s_T of one sequence, each as a batch of one."""
    states = [layer.initial(1) if first is None else first]
    with torch.no_grad():
        for step in x:
            check_cancelled()
            states.append(layer.step(step[None], states[-1]))
    return states


def jacobians(layer: RNNLayer, x: Inputs, first: State | None = None) -> Iterator[Tensor]:
    """∂z_T/∂z_k for k = T, T-1, …, 1: by the chain rule the product J_T J_{T-1} ⋯ J_{k+1}.

    z is what the cell carries from step to step: h; h and c side by side for an LSTM; the context
    alone for `context`. J_i = ∂s_i/∂s_{i-1} is of the whole state of the layer, which with skip
    connections through time also holds earlier outputs: a change of z_k is then a change of h_k
    there too. Every factor is exact. The product is taken from the left, row by row by
    vector-Jacobian products, so that no J_i is ever computed.
    """
    states = states_of(layer, x, first)
    rows = _identity(layer, states[-1])
    for step in range(len(x), 0, -1):
        check_cancelled()
        yield _carried_columns(layer, rows)
        rows = _times_jacobian(layer, x[step - 1 : step], states[step - 1], rows)


def state_norms(layer: RNNLayer, x: Inputs, first: State | None = None) -> list[float]:
    """‖∂z_T/∂z_{T-n}‖₂ by the lag n = 0, 1, …: the largest effect of a change n steps ago."""
    return [spectral_norm(jacobian) for jacobian in jacobians(layer, x, first)]


def spectral_norm(matrix: Float[Tensor, "rows columns"]) -> float:
    """The largest singular value; infinite where the matrix has overflowed."""
    largest = float(matrix.abs().max())
    if not math.isfinite(largest) or not largest:
        return math.inf if largest else 0.0
    matrix = matrix / largest  # so that the square neither overflows nor underflows
    if len(matrix) <= EXACT:  # eigenvalues of M Mᵀ are much faster than singular values of M
        return largest * float(torch.linalg.eigvalsh(matrix @ matrix.t())[-1].clamp(min=0).sqrt())
    return largest * _krylov_norm(matrix)


def truncated_gradient(
    layer: RNNLayer,
    x: Inputs,
    output_gradients: Float[Tensor, "time hidden"],
    length: int,
    first: State | None = None,
) -> Float[Tensor, " weights"]:
    """∂L/∂θ of a layer's weights by truncated BPTT with segments of `length` steps.

    `output_gradients` are ∂L/∂h_t. The state is carried from segment to segment, without its
    gradient. Segments are counted from the end, so that the last one is whole.
    """
    states = states_of(layer, x, first)
    weights = list(layer.parameters())
    total = torch.zeros(sum(weight.numel() for weight in weights), dtype=x.dtype)
    for end in range(len(x), 0, -length):
        check_cancelled()
        begin = max(0, end - length)
        if not bool(output_gradients[begin:end].any()):
            continue
        # Σ_t h_t · ∂L/∂h_t has the gradient of L, with ∂L/∂h_t held constant.
        state, loss = states[begin], x.new_zeros(())
        for step in range(begin, end):
            check_cancelled()
            state = layer.step(x[step : step + 1], state)
            loss = loss + state[0][0] @ output_gradients[step]
        gradients = torch.autograd.grad(loss, weights, materialize_grads=True)
        total += torch.cat([gradient.flatten() for gradient in gradients])
    return total


def _krylov_norm(matrix: Tensor) -> float:
    """The largest singular value in the Krylov space of v, MᵀM v, (MᵀM)² v, … for a random v.

    Golub-Kahan-Lanczos: a few products give it to several digits, where an SVD would be slow.
    """
    generator = torch.Generator().manual_seed(0)
    vector = torch.randn(matrix.shape[1], generator=generator).to(matrix.dtype)
    basis = vector.new_zeros(matrix.shape[1], 0)
    for _ in range(_ITERATIONS):
        for _ in range(2):  # Gram-Schmidt twice: once leaves rounding errors that grow
            vector = vector - basis @ (basis.t() @ vector)
        if not (size := float(vector.norm())):
            break
        basis = torch.cat([basis, vector[:, None] / size], dim=1)
        vector = matrix.t() @ (matrix @ basis[:, -1])
    return float(torch.linalg.matrix_norm(matrix @ basis, 2))


def _identity(layer: RNNLayer, state: State) -> State:
    """A row for every component of z: 1 in its own component of the state, 0 elsewhere."""
    skipped, tensors, hidden = layer.cell.output_only, layer.cell.tensors, layer.cell.hidden
    count = (tensors - skipped) * hidden
    rows = [part.new_zeros(count, *part.shape) for part in state]
    for number in range(skipped, tensors):
        start = (number - skipped) * hidden
        rows[number][start : start + hidden, 0] = torch.eye(hidden, dtype=rows[number].dtype)
    return tuple(rows)


def _times_jacobian(
    layer: RNNLayer, x: Float[Tensor, "1 inputs"], before: State, rows: State
) -> State:
    """The rows times the Jacobian of one step: a vector-Jacobian product for each, batched."""
    back = vjp(lambda *state: layer.step(x, state), *before)[1]
    products: State = torch.vmap(back)(rows)
    return products


def _carried_columns(layer: RNNLayer, rows: State) -> Float[Tensor, "rows carried"]:
    """The columns of z: its own components of the state, and the copy of h for skip connections."""
    skipped, tensors = layer.cell.output_only, layer.cell.tensors
    columns = [part[:, 0] for part in rows[skipped:tensors]]
    if layer.shortcut is not None and not skipped:
        columns[0] = columns[0] + rows[-1][:, 0, -1]
    return torch.cat(columns, dim=1).detach()


LENGTHS = (1, 2, 5, 10, 20, 50, 100, 200, 500)  # of truncated BPTT


@dataclass(frozen=True)
class SequenceGradientFlow:
    """The gradient flow of one sequence; see `GradientFlow` for what the numbers are."""

    state: list[float]
    loss: list[float]
    gradient: float
    truncations: dict[int, tuple[float, float]]  # share and cosine, by the length


def precision(layer: RNNLayer) -> torch.dtype:
    """Double precision where it is fast: in single precision long products underflow at 1e-38."""
    carried = (layer.cell.tensors - layer.cell.output_only) * layer.cell.hidden
    return torch.float64 if carried <= EXACT else torch.float32


def sequence_gradient_flow(  # noqa: PLR0913, PLR0917 - a sequence with all gradients on it
    layer: RNNLayer,
    x: Tensor,
    first: State,
    output_gradients: Tensor,
    loss: list[float],
    gradient: float,
) -> SequenceGradientFlow:
    """The gradient flow of a layer that has read x, with ∂L/∂h_t as `output_gradients`."""
    full = truncated_gradient(layer, x, output_gradients, len(x), first)
    truncations = {}
    for length in (n for n in LENGTHS if n < len(x)):
        part = truncated_gradient(layer, x, output_gradients, length, first)
        truncations[length] = _share_and_cosine(part, full)
    return SequenceGradientFlow(state_norms(layer, x, first), loss, gradient, truncations)


def norms_by_lag(gradients: Tensor) -> list[float]:
    """‖∂L/∂x_k‖ of each step of (time, features), the last step first."""
    norms: list[float] = gradients.norm(dim=-1).flip(0).tolist()
    return norms


def total_norm(gradients: Sequence[Tensor | None]) -> float:
    """The norm of several gradients taken as one vector."""
    return math.sqrt(
        sum(float(one.double().square().sum()) for one in gradients if one is not None)
    )


def median_flow(
    flows: Sequence[SequenceGradientFlow], name: str, bound: float | None, clip: float
) -> GradientFlow:
    """The medians over several sequences, for the lags that at least half of them have."""
    truncations = []
    for length in LENGTHS:
        kept = [one.truncations[length] for one in flows if length in one.truncations]
        if 2 * len(kept) >= len(flows):
            share, cosine = (float(np.median(column)) for column in zip(*kept, strict=True))
            truncations.append(TruncatedGradient(length, share, cosine))
    return GradientFlow(
        name,
        _medians([one.state for one in flows]),
        _medians([one.loss for one in flows]),
        bound,
        float(np.median([one.gradient for one in flows])),
        clip,
        tuple(truncations),
    )


def _medians(curves: Sequence[Sequence[float]]) -> list[float]:
    longest = max(map(len, curves))
    columns = [[c[lag] for c in curves if lag < len(c)] for lag in range(longest)]
    return [float(np.median(one)) for one in columns if 2 * len(one) >= len(curves)]


def _share_and_cosine(part: Tensor, full: Tensor) -> tuple[float, float]:
    """‖g_n‖ / ‖g‖ and the cosine between the two; 0 where there is no gradient at all."""
    part_norm, full_norm = float(part.norm()), float(full.norm())
    if not part_norm or not full_norm:
        return 0.0, 0.0
    return part_norm / full_norm, float(part / part_norm @ (full / full_norm))
