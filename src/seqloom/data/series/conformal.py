"""Recalibration of prediction intervals on validation windows, similar to conformal prediction.

The normal score of an observation y is z = Q⁻¹(y), where Q maps quantiles of N(0, 1) to those of
the forecast, with linear interpolation between them. If intervals are calibrated, z is N(0, 1).
If z is larger or smaller at horizon k, intervals are widened or narrowed by a factor f_k: the
quantile at z becomes Q(f_k z). A normal distribution stays normal, with f_k times its standard
deviation.
"""

import math
from typing import Any

import numpy as np
from jaxtyping import Float

from ...prediction import NORMAL_QUANTILES, QuantileForecast

MAX_SCORE = 10.0  # larger normal scores are clipped, so that one outlier does not decide
PRIOR_WINDOWS = 4.0  # the weight of f = 1, in windows
POOLING_WINDOWS = 10.0  # the weight of the factor of all steps in that of one, in windows

Scores = Float[np.ndarray, "windows time width"]


class IntervalRecalibration:
    """Recalibration of prediction intervals: a width factor for each step of the horizon.

    f² = (4 + n m²) / (4 + n)             pooled over steps; n: windows that do not overlap
    f_k² = (10 f² + n m_k²) / (10 + n)    of step k; m: mean |z|, relative to that of N(0, 1)

    With few windows the factors are shrunk to 1, the intervals of the model. It is a codec.
    """

    def __init__(self) -> None:
        self.factors: Float[np.ndarray, " horizon"] = np.ones(0)

    def learn(self, scores: Scores, windows: float) -> None:
        """Fit the factors to normal scores, NaN where nothing was observed.

        `windows` is the effective number of windows, without overlap.
        """
        is_observed = ~np.isnan(scores)
        sums = np.where(is_observed, np.minimum(np.abs(scores), MAX_SCORE), 0).sum((0, 2))
        counts = is_observed.sum((0, 2))
        if not counts.any():
            return
        mean = _square(sums.sum() / counts.sum())
        pooled = (PRIOR_WINDOWS + windows * mean) / (PRIOR_WINDOWS + windows)
        each = np.where(counts > 0, _square(sums / np.maximum(counts, 1)), pooled)
        weight = POOLING_WINDOWS + windows
        self.factors = np.sqrt((POOLING_WINDOWS * pooled + windows * each) / weight)

    def reset(self) -> None:
        """Use the prediction intervals of the model as they are."""
        self.factors = np.ones(0)

    def apply(self, forecast: QuantileForecast) -> QuantileForecast:
        """A forecast with recalibrated intervals; later steps use the factor of the last one."""
        horizon = len(forecast.mean)
        if not len(self.factors) or not horizon:
            return forecast
        factors = self.factors[np.minimum(np.arange(horizon), len(self.factors) - 1)]
        q = forecast.quantiles
        scaled = np.stack([_at(q[k], f * NORMAL_QUANTILES) for k, f in enumerate(factors)])
        paths = forecast.paths
        if paths is not None:
            z = normal_scores(q, paths)
            steps = [_at(q[k], np.moveaxis(f * z[:, k], 0, -1)) for k, f in enumerate(factors)]
            paths = np.stack([np.moveaxis(step, -1, 0) for step in steps], axis=1)
        return QuantileForecast(forecast.mean, scaled, paths)

    def state(self) -> Any:
        return self.factors.tolist()

    def restore(self, state: Any) -> None:
        self.factors = np.array(state or [], dtype=np.float64)


def normal_scores(
    quantiles: Float[np.ndarray, "time width levels"], values: Float[np.ndarray, "*many time width"]
) -> Float[np.ndarray, "*many time width"]:
    """Normal scores z = Q⁻¹(y) of observed values under a forecast; NaN where a value is NaN."""
    below = (values[..., None] >= quantiles).sum(-1)
    # Beyond the outermost quantiles the line through the last two goes on.
    left = np.clip(below - 1, 0, len(NORMAL_QUANTILES) - 2)
    every = np.broadcast_to(quantiles, (*values.shape, len(NORMAL_QUANTILES)))
    low = np.take_along_axis(every, left[..., None], -1)[..., 0]
    high = np.take_along_axis(every, left[..., None] + 1, -1)[..., 0]
    # Equal quantiles are an interval of width 0: tiny and the clip keep the score finite.
    width = np.maximum(high - low, np.finfo(np.float64).tiny)
    fraction = np.clip((values - low) / width, -1e6, 1e6)
    z_low, z_high = NORMAL_QUANTILES[left], NORMAL_QUANTILES[left + 1]
    found: np.ndarray = z_low + fraction * (z_high - z_low)
    return np.where(np.isnan(values), np.nan, found)


def _at(
    quantiles: Float[np.ndarray, "width levels"], z: Float[np.ndarray, "..."]
) -> Float[np.ndarray, "..."]:
    """Q(z), by linear interpolation: z of each column, or the same z for all columns."""
    z = np.broadcast_to(z, (len(quantiles), z.shape[-1]))
    right = np.searchsorted(NORMAL_QUANTILES, z, side="right")
    left = np.clip(right - 1, 0, len(NORMAL_QUANTILES) - 2)
    low = np.take_along_axis(quantiles, left, -1)
    high = np.take_along_axis(quantiles, left + 1, -1)
    z_low, z_high = NORMAL_QUANTILES[left], NORMAL_QUANTILES[left + 1]
    found: np.ndarray = low + (z - z_low) / (z_high - z_low) * (high - low)
    return found


def _square(mean: Any) -> Any:
    """The square of a mean |z|, relative to that of N(0, 1), which is √(2/π)."""
    return mean**2 * math.pi / 2
