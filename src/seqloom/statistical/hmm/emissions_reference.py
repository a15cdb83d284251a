"""Emission densities of Gaussian, Poisson and mixture HMMs: reference implementation, row by row.

Missing values (NaN) are marginalised, which for all of these means leaving them out:

    Gaussian   log p(x) = -½ (d log 2π + log det C + (x - m)ᵀ C⁻¹ (x - m))     over observed values
    Poisson    log p(x) = Σ_d x_d log r_d - r_d - log x_d!                     over observed counts
    mixture    log p(x) = log Σ_k w_k p_k(x)

A row of which nothing is observed has log p = 0.

M-step: with c the posterior probability of the state at each row, m = Σ c x / Σ c,
C = Σ c (x - m)(x - m)ᵀ / Σ c, and r as m. A Gaussian with a full covariance puts the conditional
mean in place of a missing value, and adds the conditional covariance to C (Dempster, Laird and
Rubin, 1977). Without covariances missing values are left out, which is just as exact.
"""

import math

import numpy as np
from jaxtyping import Float

Row = Float[np.ndarray, " width"]


def normal(row: Row, mean: Row, covariance: Float[np.ndarray, "width width"]) -> float:
    """Log-density of the observed values of a row under a multivariate Gaussian."""
    observed = ~np.isnan(row)
    if not observed.any():
        return 0.0
    error, inside = row[observed] - mean[observed], covariance[np.ix_(observed, observed)]
    distance = error @ np.linalg.inv(inside) @ error
    log_det = np.linalg.slogdet(inside)[1]
    return float(-0.5 * (observed.sum() * math.log(2 * math.pi) + log_det + distance))


def poisson(row: Row, rates: Row) -> float:
    """Log-probability of the observed counts of a row under independent Poisson distributions."""
    pairs = ((x, rate) for x, rate in zip(row.tolist(), rates.tolist(), strict=True) if x == x)
    return sum(x * math.log(rate) - rate - math.lgamma(x + 1) for x, rate in pairs)


def mixture(
    row: Row,
    weights: Float[np.ndarray, " components"],
    means: Float[np.ndarray, "components width"],
    variances: Float[np.ndarray, "components width"],
) -> float:
    """Log-density under a mixture of Gaussians with diagonal covariances."""
    each = [
        math.log(weight) + normal(row, mean, np.diag(variance))
        for weight, mean, variance in zip(weights.tolist(), means, variances, strict=True)
        if weight > 0
    ]
    top = max(each)
    return top + math.log(sum(math.exp(score - top) for score in each))


def fit_normal(
    rows: Float[np.ndarray, "rows width"],
    probabilities: Float[np.ndarray, " rows"],
    mean: Row,
    covariance: Float[np.ndarray, "width width"],
) -> tuple[Row, Float[np.ndarray, "width width"]]:
    """M-step of one Gaussian: the new mean and covariance, from posterior and old parameters."""
    total, filled, uncertain = probabilities.sum(), rows.copy(), np.zeros_like(covariance)
    for row, probability in zip(filled, probabilities, strict=True):
        missing = np.isnan(row)
        observed = ~missing
        inside = covariance[np.ix_(observed, observed)]
        slope = covariance[np.ix_(missing, observed)] @ np.linalg.inv(inside)
        row[missing] = mean[missing] + slope @ (row[observed] - mean[observed])
        rest = covariance[np.ix_(missing, missing)] - slope @ covariance[np.ix_(observed, missing)]
        uncertain[np.ix_(missing, missing)] += probability * rest
    new_mean = probabilities @ filled / total
    errors = filled - new_mean
    return new_mean, ((probabilities[:, None] * errors).T @ errors + uncertain) / total
