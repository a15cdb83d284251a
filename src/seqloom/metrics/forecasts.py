"""Forecast metrics: MAE, MSE, sMAPE, MASE, pinball loss, CRPS and interval coverage.

sMAPE     mean of 200 |a - f| / (|a| + |f|)                              (as in the M4 competition)
MASE      mean |a - f| / mean |y_t - y_{t-m}|, y: the training part      (Hyndman & Koehler, 2006)
pinball   ρ_τ(a - q_τ), ρ_τ(e) = τ e + (-e)₊, mean over the levels τ     (Koenker & Bassett, 1978)
CRPS      2 ∫ ρ_τ(a - q(τ)) dτ: of a single value it is |a - f|          (Gneiting & Raftery, 2007)

Missing values are not counted. All are sums over the values of an example and their number; sMAPE
and MASE are means over examples, each of which counts as one.
"""

import math
from collections.abc import Sequence

import numpy as np
from jaxtyping import Float

from ..prediction import LEVELS
from .tallies import Ratio, Tally

Rows = Float[np.ndarray, "time width"]
Quantiles = Float[np.ndarray, "time width levels"]


def absolute_error(actual: Rows, forecast: Rows) -> Tally:
    """The tally of the mean absolute error."""
    errors = np.abs(actual - forecast)
    return _sum_and_count(errors)


def squared_error(actual: Rows, forecast: Rows) -> Tally:
    """The tally of the mean squared error, or of its root."""
    errors = (actual - forecast) ** 2
    return _sum_and_count(errors)


def root_mean(sums: Sequence[float]) -> float:
    """The square root of a mean, as in the RMSE."""
    top, bottom = sums
    return math.sqrt(top / max(bottom, 1e-12))


def smape(actual: Rows, forecast: Rows) -> Ratio:
    """The symmetric mean absolute percentage error of one example; 0 where both are 0."""
    size = np.abs(actual) + np.abs(forecast)
    errors = 200 * np.abs(actual - forecast) / np.where(size == 0, 1, size)
    return _mean(errors)


def mase(actual: Rows, forecast: Rows, scale: Float[np.ndarray, " width"]) -> Ratio:
    """The mean absolute scaled error of one example; see `naive_scale`."""
    return _mean(np.abs(actual - forecast) / scale)


def naive_scale(known: Rows, period: int) -> Float[np.ndarray, " width"]:
    """The scale of MASE: mean absolute error of the seasonal naive forecast on the known part.

    Where that is 0 or unknown, because nothing changed or little was observed, it is that of the
    naive forecast; else the mean absolute value; else 1.
    """
    scales = [_change(known, period), _change(known, 1), _observed_mean(np.abs(known))]
    scale = np.ones(known.shape[1])
    for candidate in reversed(scales):
        scale = np.where(candidate > 0, candidate, scale)
    return scale


def pinball(actual: Rows, quantiles: Quantiles) -> Tally:
    """The tally of the pinball (quantile) loss, the mean over the quantiles at LEVELS."""
    errors = actual[..., None] - quantiles
    return _sum_and_count((np.array(LEVELS) * errors + np.maximum(-errors, 0)).mean(-1))


def crps(actual: Rows, quantiles: Quantiles) -> Tally:
    """The tally of the continuous ranked probability score.

    Quantiles between LEVELS are interpolated linearly; beyond the outermost they are constant.
    """
    levels = np.array([0.0, *LEVELS, 1.0])
    ends = [quantiles[..., :1], quantiles, quantiles[..., -1:]]
    errors = actual[..., None] - np.concatenate(ends, axis=-1)  # falling, as quantiles rise
    low, high = errors[..., :-1], errors[..., 1:]
    t0, t1 = levels[:-1], levels[1:]
    # On each interval of levels e(τ) is a line from low to high, so ∫ ρ_τ(e) dτ is exact:
    slope = (t0 * (2 * low + high) + t1 * (low + 2 * high)) / 6  # mean of τ e
    gap = np.where(low > high, low - high, 1.0)
    below = np.where(  # mean of (-e)₊: all of the line, its negative part, or nothing
        low <= 0, -(low + high) / 2, np.where(high < 0, high**2 / (2 * gap), 0.0)
    )
    return _sum_and_count(2 * ((slope + below) * (t1 - t0)).sum(-1))


def interval_coverage(actual: Rows, low: Rows, high: Rows) -> Ratio:
    """The fraction of values that lie in their prediction interval."""
    observed = ~np.isnan(actual)
    slack = 1e-9 * (1 + np.abs(actual))  # rounding errors of scaling and scaling back
    inside = observed & (actual >= low - slack) & (actual <= high + slack)
    return Ratio(float(inside.sum()), float(observed.sum()))


def _sum_and_count(errors: Rows) -> Tally:
    """Not a `Ratio`: in the units of the file there is no bound beyond which training diverged."""
    return float(np.nansum(errors)), float((~np.isnan(errors)).sum())


def _mean(errors: Rows) -> Ratio:
    """The mean of one example, whatever its length; no count where nothing was observed."""
    observed = ~np.isnan(errors)
    return Ratio(float(errors[observed].mean()), 1.0) if observed.any() else Ratio(0.0, 0.0)


def _change(known: Rows, lag: int) -> Float[np.ndarray, " width"]:
    return _observed_mean(np.abs(known[lag:] - known[:-lag]) if lag < len(known) else known[:0])


def _observed_mean(values: Rows) -> Float[np.ndarray, " width"]:
    """The mean of the observed values; 0 where there are none."""
    observed = ~np.isnan(values)
    mean: np.ndarray = np.where(observed, values, 0).sum(0) / np.maximum(observed.sum(0), 1)
    return mean
