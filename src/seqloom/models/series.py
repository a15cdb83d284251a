"""Shared by forecasting models: splitting sources into past and future, filling in targets."""

import numpy as np
from jaxtyping import Float, Int

from ..batch import Batch, Sequences
from ..errors import ModelError
from ..model import Search
from ..signature import Series, Signature


def horizons(signature: Signature, source: Sequences, search: Search) -> Int[np.ndarray, " batch"]:
    """Forecast horizon of each source: the number of its last rows that lie in the future."""
    if not isinstance(signature.target, Series):
        raise TypeError("forecasts need time series as source and target")
    return np.minimum(search.horizon or signature.target.horizon, source.lengths)


def past_of(source: Sequences, horizon: Int[np.ndarray, " batch"], width: int) -> Sequences:
    """The observed variables before the future."""
    pasts = source.lengths - horizon
    return Sequences(source.values[:, : int(pasts.max(initial=0)), :width], pasts)


def observed_series(batch: Batch, width: int) -> list[Float[np.ndarray, "_ width"]]:
    """The observed variables of each whole series, its future filled in from the target."""
    return [rows[:, :width] for rows, _ in whole_series(batch)]


def whole_series(batch: Batch) -> list[tuple[Float[np.ndarray, "time all"], int]]:
    """Each series with its inputs and its future filled in from the target, and its horizon."""
    series = []
    lengths = zip(batch.source.lengths.tolist(), batch.target.lengths.tolist(), strict=True)
    for number, (length, horizon) in enumerate(lengths):
        rows = np.array(batch.source.values[number, :length], dtype=np.float64)
        width = batch.target.values.shape[-1]
        rows[length - horizon :, :width] = batch.target.values[number, :horizon]
        series.append((rows, horizon))
    return series


def log_normal(
    error: Float[np.ndarray, "*shape"], variance: Float[np.ndarray, "*shape"]
) -> Float[np.ndarray, "*shape"]:
    """Log-density of N(0, variance)."""
    density: np.ndarray = -0.5 * (np.log(2 * np.pi * variance) + error**2 / variance)
    return density


def nothing_observed(column: int, width: int) -> ModelError:
    """For a column, counted from 1, without a single value."""
    which = "" if width == 1 else f" of column {column}"
    return ModelError(
        "M440",
        f"no value{which} was observed in training",
        help=["give a series with numbers in it, or leave the column out"],
    )
