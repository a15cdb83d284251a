"""How far forecasts are off, and how far what they say of their own error can be trusted.

sMAPE     mean of 200 |a - f| / (|a| + |f|)                              (as in the M4 competition)
MASE      mean |a - f| / mean |y_t - y_{t-m}|, y being what was known    (Hyndman & Koehler, 2006)
pinball   ρ_τ(a - q_τ), ρ_τ(e) = τ e + (-e)₊, mean over the levels τ     (Koenker & Bassett, 1978)
CRPS      2 ∫ ρ_τ(a - q(τ)) dτ: of a single value it is |a - f|          (Gneiting & Raftery, 2007)

What is missing is not counted. All are sums over the values of an example and how many there are;
sMAPE and MASE are means over examples, of which each counts as one.
"""

import math
from collections.abc import Sequence

import numpy as np
from jaxtyping import Float

from ..prediction import LEVELS
from .bootstrap import Ratio, Tally

Rows = Float[np.ndarray, "time width"]
Quantiles = Float[np.ndarray, "time width levels"]


def absolute(actual: Rows, forecast: Rows) -> Tally:
    """The tally of the mean absolute error."""
    errors = np.abs(actual - forecast)
    return _plain(errors)


def squared(actual: Rows, forecast: Rows) -> Tally:
    """The tally of the mean squared error, or of its root."""
    errors = (actual - forecast) ** 2
    return _plain(errors)


def root(sums: Sequence[float]) -> float:
    """The root of a mean."""
    top, bottom = sums
    return math.sqrt(top / max(bottom, 1e-12))


def smape(actual: Rows, forecast: Rows) -> Ratio:
    """The symmetric percentage error of one example; 0 where both are 0."""
    size = np.abs(actual) + np.abs(forecast)
    off = 200 * np.abs(actual - forecast) / np.where(size == 0, 1, size)
    return _mean(off)


def mase(actual: Rows, forecast: Rows, scale: Float[np.ndarray, " width"]) -> Ratio:
    """The absolute error of one example, in units of what the naive forecast was off before."""
    return _mean(np.abs(actual - forecast) / scale)


def naive_scale(known: Rows, period: int) -> Float[np.ndarray, " width"]:
    """The mean change over a season in what was known, for each number.

    Where there is none, because nothing changed or little was known, it is that from step to step;
    else the mean size of the numbers; else 1.
    """
    ways = [_change(known, period), _change(known, 1), _mean_of(np.abs(known))]
    found = np.ones(known.shape[1])
    for way in reversed(ways):
        found = np.where(way > 0, way, found)
    return found


def pinball(actual: Rows, quantiles: Quantiles) -> Tally:
    """The tally of the mean loss of the quantiles at LEVELS."""
    errors = actual[..., None] - quantiles
    return _plain((np.array(LEVELS) * errors + np.maximum(-errors, 0)).mean(-1))


def crps(actual: Rows, quantiles: Quantiles) -> Tally:
    """The tally of the continuous ranked probability score.

    The quantiles in between lie on lines, and beyond the outermost they stay as they are.
    """
    levels = np.array([0.0, *LEVELS, 1.0])
    ends = [quantiles[..., :1], quantiles, quantiles[..., -1:]]
    errors = actual[..., None] - np.concatenate(ends, axis=-1)  # falling, as quantiles rise
    low, high = errors[..., :-1], errors[..., 1:]
    t0, t1 = levels[:-1], levels[1:]
    slope = (t0 * (2 * low + high) + t1 * (low + 2 * high)) / 6  # ∫ τ e dτ over a piece
    gap = np.where(low > high, low - high, 1.0)
    below = np.where(low <= 0, -(low + high) / 2, np.where(high < 0, high**2 / (2 * gap), 0.0))
    return _plain(2 * ((slope + below) * (t1 - t0)).sum(-1))


def covered(actual: Rows, low: Rows, high: Rows) -> Ratio:
    """How many values lie in their band."""
    seen = ~np.isnan(actual)
    slack = 1e-9 * (1 + np.abs(actual))  # what scaling there and back may move
    inside = seen & (actual >= low - slack) & (actual <= high + slack)
    return Ratio(float(inside.sum()), float(seen.sum()))


def _plain(found: Rows) -> Tally:
    """Sums in the units of the file: no bound tells which of them would be beyond reason."""
    return float(np.nansum(found)), float((~np.isnan(found)).sum())


def _mean(found: Rows) -> Ratio:
    """One example, whatever its length; nothing where nothing was observed."""
    seen = ~np.isnan(found)
    return Ratio(float(found[seen].mean()), 1.0) if seen.any() else Ratio(0.0, 0.0)


def _change(known: Rows, lag: int) -> Float[np.ndarray, " width"]:
    return _mean_of(np.abs(known[lag:] - known[:-lag]) if lag < len(known) else known[:0])


def _mean_of(found: Rows) -> Float[np.ndarray, " width"]:
    """The mean of what was observed; 0 where nothing was."""
    seen = ~np.isnan(found)
    total: np.ndarray = np.where(seen, found, 0).sum(0) / np.maximum(seen.sum(0), 1)
    return total
