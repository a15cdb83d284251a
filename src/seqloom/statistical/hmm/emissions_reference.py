"""How likely a row of numbers is in a state: one row at a time.

What is missing (NaN) is summed out, which for all of these is to leave it away:

    normal     log p(x) = -½ (d log 2π + log det C + (x - m)ᵀ C⁻¹ (x - m))     over observed numbers
    counted    log p(x) = Σ_d x_d log r_d - r_d - log x_d!                     over observed counts
    mixed      log p(x) = log Σ_k w_k p_k(x)

A row of which nothing is observed has log p = 0: it says nothing.

What a state is then learned from are weighted means, c being the chance that a row is of it:
m = Σ c x / Σ c, and C = Σ c (x - m)(x - m)ᵀ / Σ c, r as m. A normal with all its covariances puts
in place of a missing number what it expects, and adds to C how uncertain that is (Dempster, Laird
and Rubin, 1977); without covariances missing numbers are simply left away, which is as exact.
"""

import math

import numpy as np
from jaxtyping import Float

Row = Float[np.ndarray, " width"]


def normal(row: Row, mean: Row, covariance: Float[np.ndarray, "width width"]) -> float:
    """The log of the density of what was observed of a row."""
    seen = ~np.isnan(row)
    if not seen.any():
        return 0.0
    apart, inside = row[seen] - mean[seen], covariance[np.ix_(seen, seen)]
    distance = apart @ np.linalg.inv(inside) @ apart
    size = np.linalg.slogdet(inside)[1]
    return float(-0.5 * (seen.sum() * math.log(2 * math.pi) + size + distance))


def counted(row: Row, rates: Row) -> float:
    """The log of the probability of the counts that were observed."""
    pairs = ((x, rate) for x, rate in zip(row.tolist(), rates.tolist(), strict=True) if x == x)
    return sum(x * math.log(rate) - rate - math.lgamma(x + 1) for x, rate in pairs)


def mixed(
    row: Row,
    shares: Float[np.ndarray, " components"],
    means: Float[np.ndarray, "components width"],
    variances: Float[np.ndarray, "components width"],
) -> float:
    """The log of a weighted sum of densities, each with a variance for every number."""
    each = [
        math.log(share) + normal(row, mean, np.diag(variance))
        for share, mean, variance in zip(shares.tolist(), means, variances, strict=True)
        if share > 0
    ]
    top = max(each)
    return top + math.log(sum(math.exp(score - top) for score in each))


def learned_normal(
    rows: Float[np.ndarray, "rows width"],
    chances: Float[np.ndarray, " rows"],
    mean: Row,
    covariance: Float[np.ndarray, "width width"],
) -> tuple[Row, Float[np.ndarray, "width width"]]:
    """The mean and the covariance that fit rows with these chances, from what they were."""
    total, filled, unsure = chances.sum(), rows.copy(), np.zeros_like(covariance)
    for row, chance in zip(filled, chances, strict=True):
        lost = np.isnan(row)
        seen = ~lost
        across = covariance[np.ix_(lost, seen)] @ np.linalg.inv(covariance[np.ix_(seen, seen)])
        row[lost] = mean[lost] + across @ (row[seen] - mean[seen])
        rest = covariance[np.ix_(lost, lost)] - across @ covariance[np.ix_(seen, lost)]
        unsure[np.ix_(lost, lost)] += chance * rest
    middle = chances @ filled / total
    apart = filled - middle
    return middle, ((chances[:, None] * apart).T @ apart + unsure) / total
