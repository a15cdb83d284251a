"""Look-back windows of time series and their horizons, normalised, as tensors; patches."""

from dataclasses import dataclass, replace

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from ...batch import Sequences, length_mask
from ...signature import Series, Space
from .distributions import Distribution
from .options import CenterName


def patched_space(space: Space, steps: int) -> Space:
    """The input space where `steps` adjacent rows of a series are one input vector."""
    if steps == 1 or not isinstance(space, Series):
        return space
    return replace(space, width=steps * space.width, known=steps * space.known)


def patches(
    rows: Float[Tensor, "batch time features"],
    lengths: Int[Tensor, " batch"],
    width: int,
    steps: int,
) -> tuple[Float[Tensor, "batch patch joined"], Int[Tensor, " batch"]]:
    """Patches of a series: `steps` rows concatenated, and their number (Nie et al., 2023).

    The last patch of every series ends with its last row, which matters most. Values before the
    first row are missing, their covariates 0. The values of all steps of a patch come first, then
    the covariates.
    """
    counts = -(-lengths // steps)
    time = steps * int(counts.max())
    positions = torch.arange(time) - (steps * counts - lengths)[:, None]
    inside = (positions >= 0) & (positions < lengths[:, None])
    positions = positions.clamp(0, rows.shape[1] - 1)
    chosen = rows[torch.arange(len(rows))[:, None], positions]
    values = chosen[..., :width].masked_fill(~inside[..., None], torch.nan)
    covariates = chosen[..., width:].masked_fill(~inside[..., None], 0.0)
    parts = [part.unflatten(1, (-1, steps)).flatten(2) for part in (values, covariates)]
    return torch.cat(parts, dim=-1), counts


MIN_VARIANCE = 1e-3  # added to that of a window, so that a constant one can be divided by it


@dataclass(frozen=True)
class ForecastBatch:
    """The look-back windows of a batch, each followed by its horizon; padded on the right.

    Values are normalised: y = shift + scale · value. NaN stands for missing values, and for those
    of the horizon where they are not known. A past without rows gets one in which all is missing.
    """

    values: Float[Tensor, "batch time width"]
    covariates: Float[Tensor, "batch time inputs"]  # known in advance, also for the horizon
    pasts: Int[Tensor, " batch"]  # rows of each look-back window
    horizons: Int[Tensor, " batch"]
    shift: Float[np.ndarray, "batch 1 width"]
    scale: Float[np.ndarray, "batch 1 width"]

    @property
    def lengths(self) -> Int[Tensor, " batch"]:
        """Number of rows, of past and horizon."""
        return self.pasts + self.horizons

    def inputs(self) -> Float[Tensor, "batch before features"]:
        """The inputs that predict the row after each: its values, and the next covariates."""
        return torch.cat([self.values[:, :-1], self.covariates[:, 1:]], dim=-1)

    def future(self, rows: Float[Tensor, "batch time *rest"]) -> Float[Tensor, "batch ahead *rest"]:
        """The rows of the horizon, of an array aligned with this window."""
        ahead = int(self.horizons.max())
        first = int(self.pasts[0])
        if bool((self.pasts == first).all()):  # a slice costs no copy
            return rows[:, first : first + ahead]
        positions = self.pasts[:, None] + torch.arange(ahead)
        return rows[torch.arange(len(rows))[:, None], positions.clamp(max=rows.shape[1] - 1)]

    def normalised(self, target: Sequences) -> Float[Tensor, "batch ahead width"]:
        """Observed values of the horizon, normalised like the window."""
        rows = target.values[:, : int(self.horizons.max())]
        values = torch.from_numpy((rows - self.shift) / self.scale)
        return values.to(self.values.dtype)

    def mask(self) -> Bool[Tensor, "batch ahead"]:
        """True at the real rows of the horizon."""
        return torch.arange(int(self.horizons.max())) < self.horizons[:, None]


def forecast_batch(
    source: Sequences,
    horizons: Int[np.ndarray, " batch"],
    width: int,
    *,
    look_back: int,
    center: CenterName,
    dtype: torch.dtype,
    target: Sequences | None = None,
) -> ForecastBatch:
    """The last `look_back` rows of every past, and its horizon; with a target, its values too."""
    before = source.lengths - horizons
    pasts = np.clip(before, 1, look_back)
    time = int((pasts + horizons).max())
    starts = before - pasts
    rows = source.values
    if starts.any() or time != rows.shape[1]:
        positions = np.clip(starts[:, None] + np.arange(time), 0, rows.shape[1] - 1)
        rows = rows[np.arange(len(rows))[:, None], positions]
    values = rows[..., :width]
    if (starts < 0).any():  # a past without rows
        values = np.where((starts < 0)[:, None, None], np.nan, values)
    inside = length_mask(pasts, time)
    # From the past alone: the horizon may not leak into what normalises it.
    shift, scale = _normalisation(values, inside, center)
    if target is not None:
        values = np.array(values)
        values[length_mask(pasts + horizons, time) & ~inside] = target.values[target.mask]
    if center != "none":
        values = (values - shift) / scale
    return ForecastBatch(
        torch.from_numpy(values).to(dtype),
        torch.from_numpy(rows[..., width:]).to(dtype),
        torch.from_numpy(pasts),
        torch.from_numpy(np.asarray(horizons)),
        shift,
        scale,
    )


def observed_loss(
    distribution: Distribution,
    p: Float[Tensor, "*shape width count"],
    y: Float[Tensor, "*shape width"],
    counted: Bool[Tensor, "*shape"],
) -> tuple[Float[Tensor, "*shape width"], Bool[Tensor, "*shape width"]]:
    """The loss of each observed value that counts, 0 at others; and the mask of these."""
    observed = ~y.isnan() & counted[..., None]
    # Filled before the loss: a NaN would get into the gradient even where it is multiplied by 0.
    return distribution.loss(p, y.masked_fill(~observed, 0.0)) * observed, observed


def observed_log_density(
    distribution: Distribution,
    p: Float[Tensor, "*shape width count"],
    y: Float[Tensor, "*shape width"],
    counted: Bool[Tensor, "*shape"],
) -> Float[Tensor, "*shape width"]:
    """The log-density of each observed value that counts; 0 at others."""
    observed = ~y.isnan() & counted[..., None]
    return distribution.log_density(p, y.masked_fill(~observed, 0.0)) * observed


def _normalisation(
    values: Float[np.ndarray, "batch time width"], inside: Bool[np.ndarray, "batch time"], by: str
) -> tuple[Float[np.ndarray, "batch 1 width"], Float[np.ndarray, "batch 1 width"]]:
    """Shift and scale of each window."""
    one = np.ones((len(values), 1, values.shape[-1]))
    if by == "none":
        return 0 * one, one
    observed = inside[..., None] & ~np.isnan(values)
    if by == "last":
        last = values.shape[1] - 1 - observed[:, ::-1].argmax(1, keepdims=True)
        shift = np.take_along_axis(values, last, 1).astype(np.float64)
        return np.where(observed.any(1, keepdims=True), shift, 0.0), one
    count = np.maximum(1, observed.sum(1, keepdims=True))
    filled = np.where(observed, values, 0.0).astype(np.float64)
    mean = filled.sum(1, keepdims=True) / count
    if by == "mean":
        return mean, one
    variance = (np.where(observed, filled - mean, 0.0) ** 2).sum(1, keepdims=True) / count
    return mean, np.sqrt(variance + MIN_VARIANCE)
