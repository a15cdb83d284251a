"""Expected calibration error without its bias, with an interval that holds the truth.

ECE  Σ_b n_b/n · |accuracy of b - mean confidence of b|      (Naeini et al., 2015)

Of a perfectly calibrated model this sum is not 0: bins of few predictions miss their confidence by
chance, by 7 points in a hundred predictions. So it is compared with what it would be if bins missed
by δ_b and hits were binomial:

μ(θ) = Σ_b n_b/n · E|X_b/n_b - c_b|    X_b ~ Binomial(n_b, c_b ± δ_b)    Σ_b n_b/n δ_b = θ

The error is the θ with μ(θ) = ECE, or 0; its interval are all θ for which the ECE is not surprising
(5 %), where δ_b is the same in all bins, or as they were seen to be beyond chance.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from .intervals import Z_95, MetricValue
from .tallies import Tally, as_matrix

_GRID = np.concatenate([np.linspace(0, 0.1, 81), np.linspace(0.1, 0.7, 121)[1:]])
_BINOMIAL = 200  # predictions in a bin; beyond, its hits are taken as normally distributed
_PSEUDO = 2  # predictions that are as good as they should be, added to an estimate of variance


class _Bin(NamedTuple):
    """The predictions of about the same confidence."""

    weight: float
    size: int  # their effective number
    confidence: float
    gap: float  # accuracy - confidence


def debiased_calibration_error(tallies: Sequence[Tally]) -> MetricValue:
    """The expected calibration error without bias, with its 95 % interval.

    Args:
        tallies: Of `labels.calibration_bins`, one for each example, which may hold several
            predictions; those of one example may depend on each other.
    """
    bins = _bins(as_matrix(tallies))
    seen = sum(one.weight * abs(one.gap) for one in bins)
    equal, beyond = [1.0] * len(bins), [_beyond_chance(one) for one in bins]
    patterns = (equal, beyond if any(beyond) else equal)
    found = [_by_pattern(bins, pattern, seen) for pattern in patterns]
    ends = [end for one in found for end in (one.low, one.high)]
    return MetricValue(found[1].value, min(ends), max(ends))


def _bins(rows: Float[np.ndarray, "examples sums"]) -> list[_Bin]:
    confidence, right, count = rows.reshape(len(rows), 3, -1).transpose(1, 0, 2)
    sizes = count.sum(0)
    filled = sizes > 0
    sizes, means = sizes[filled], confidence.sum(0)[filled] / sizes[filled]
    gaps = (right - confidence).sum(0)[filled] / sizes
    shares = (right.sum(0)[filled] + _PSEUDO * means) / (sizes + _PSEUDO)
    missed = (right - confidence)[:, filled] - count[:, filled] * gaps
    # Predictions of one example that depend on each other tell less: the design effect.
    effect = 1.0
    if count.sum(1).max() > 1:
        expected = float((sizes * shares * (1 - shares)).sum())
        effect = max(1.0, float((missed**2).sum()) / max(1e-12, expected))
    numbers = zip(sizes / sizes.sum(), sizes / effect, means, gaps, strict=True)
    return [_Bin(float(w), max(1, round(n)), float(c), float(g)) for w, n, c, g in numbers]


def _beyond_chance(one: _Bin) -> float:
    """The part of a gap that sampling does not explain."""
    variance = one.confidence * (1 - one.confidence) / one.size
    return math.sqrt(max(0.0, one.gap**2 - variance))


def _by_pattern(bins: Sequence[_Bin], pattern: Sequence[float], seen: float) -> MetricValue:
    """The error and its interval if the gaps of bins are proportional to a pattern."""
    total = sum(one.weight * size for one, size in zip(bins, pattern, strict=True))
    mean, variance, truth = (np.zeros(len(_GRID)) for _ in range(3))
    for one, size in zip(bins, pattern, strict=True):
        shifts = _feasible(one, _GRID * size / total)
        expected, spread = _distance(one, shifts)
        mean += one.weight * expected
        variance += one.weight**2 * spread
        truth += one.weight * np.abs(shifts)
    away = np.abs(seen - mean)
    likely = away <= Z_95 * np.sqrt(variance)
    nearest = float(truth[away.argmin()]) if seen > mean[0] else 0.0
    ends = [nearest, *truth[likely].tolist(), *([0.0] if seen <= mean[0] else [])]
    return MetricValue(nearest, min(ends), max(ends))


def _feasible(one: _Bin, shifts: Float[np.ndarray, " grid"]) -> Float[np.ndarray, " grid"]:
    """Shifts of an accuracy in the direction that was seen, or the other, where it is beyond 1."""
    above, below = 1 - one.confidence, one.confidence
    sign = 1.0 if one.gap > 0 else -1.0
    room, behind = (above, below) if one.gap > 0 else (below, above)
    furthest = sign * room if room >= behind else -sign * behind
    turned = np.where(shifts <= behind, -sign * shifts, furthest)
    return np.where(shifts <= room, sign * shifts, turned)


def _distance(
    one: _Bin, shifts: Float[np.ndarray, " grid"]
) -> tuple[Float[np.ndarray, " grid"], Float[np.ndarray, " grid"]]:
    """Mean and variance of |X/n - c|, X ~ Binomial(n, c + shift)."""
    share = np.clip(one.confidence + shifts, 1e-12, 1 - 1e-12)
    if one.size > _BINOMIAL:
        return _folded_normal(shifts, np.sqrt(share * (1 - share) / one.size))
    hits = np.arange(one.size + 1)
    ways = [
        math.lgamma(one.size + 1) - math.lgamma(k + 1) - math.lgamma(one.size - k + 1)
        for k in hits.tolist()
    ]
    logs = np.log(share)[:, None] * hits + np.log1p(-share)[:, None] * (one.size - hits)
    chances, away = np.exp(np.array(ways) + logs), np.abs(hits / one.size - one.confidence)
    mean = chances @ away
    return mean, np.maximum(chances @ away**2 - mean**2, 0.0)


def _folded_normal(
    mean: Float[np.ndarray, " grid"], deviation: Float[np.ndarray, " grid"]
) -> tuple[Float[np.ndarray, " grid"], Float[np.ndarray, " grid"]]:
    """Mean and variance of |N(mean, deviation²)|."""
    inner = np.array([math.erf(x) for x in (mean / (deviation * math.sqrt(2))).tolist()])
    peak = deviation * math.sqrt(2 / math.pi) * np.exp(-(mean**2) / (2 * deviation**2))
    expected = peak + mean * inner
    return expected, np.maximum(mean**2 + deviation**2 - expected**2, 0.0)
