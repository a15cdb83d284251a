"""One layer over one sequence, and the median of several."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from ..nn.cells import State
from ..nn.layer import Layer
from ..nn.through_time import EXACT, state_norms, truncated_gradient
from ..views import Memory, Window

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
