"""What a model says of what is to come: what to expect, and how far it may be off."""

from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
from jaxtyping import Float

# The shares of chance below which the given quantiles lie. 50, 80 and 95 % are bands of them.
LEVELS = (
    *(0.025, 0.05, 0.1, 0.2, 0.25, 0.3, 0.4),
    0.5,
    *(0.6, 0.7, 0.75, 0.8, 0.9, 0.95, 0.975),
)
NORMAL = np.array([NormalDist().inv_cdf(level) for level in LEVELS])  # quantiles of N(0, 1)


@dataclass(frozen=True)
class Odds:
    """What a model expects of rows of bits: the log of the odds of each yes.

    log p(row) = Σ_k -log(1 + e^{-s_k}) where the k-th is yes, and -log(1 + e^{s_k}) where it is no
    """

    values: Float[np.ndarray, "time size"]

    def log_probs(self, rows: Float[np.ndarray, "time size"]) -> Float[np.ndarray, " time"]:
        """The natural log-probability of each of these rows."""
        found: np.ndarray = -np.logaddexp(0.0, np.where(rows > 0, -self.values, self.values))
        return found.sum(-1)

    def likelier(self) -> Float[np.ndarray, "time size"]:
        """The likelier of yes and no, each by itself."""
        return (self.values > 0).astype(np.float32)


@dataclass(frozen=True)
class Foreseen:
    """A forecast of one series: the mean at each step, its quantiles at LEVELS, rising.

    Where they were asked for, there are futures drawn at random, whole paths each.
    """

    mean: Float[np.ndarray, "time width"]
    quantiles: Float[np.ndarray, "time width levels"]
    paths: Float[np.ndarray, "samples time width"] | None = None

    @classmethod
    def normal(
        cls,
        mean: Float[np.ndarray, "time width"],
        deviation: Float[np.ndarray, "time width"],
        paths: Float[np.ndarray, "samples time width"] | None = None,
    ) -> "Foreseen":
        """Of a Normal distribution at each step, with this standard deviation."""
        return cls(mean, mean[..., None] + deviation[..., None] * NORMAL, paths)

    @classmethod
    def drawn(cls, paths: Float[np.ndarray, "samples time width"], *, keep: int = 0) -> "Foreseen":
        """Of futures drawn at random, the first few of which are kept as paths."""
        quantiles = np.moveaxis(np.quantile(paths, LEVELS, axis=0), 0, -1)
        return cls(paths.mean(0), quantiles, paths[:keep] if keep else None)

    def band(
        self, share: float
    ) -> tuple[Float[np.ndarray, "time width"], Float[np.ndarray, "time width"]]:
        """Where the middle share of chance begins and ends, as 0.8 between 0.1 and 0.9."""
        low, high = round((1 - share) / 2, 6), round((1 + share) / 2, 6)
        return self.quantiles[..., LEVELS.index(low)], self.quantiles[..., LEVELS.index(high)]
