"""What models of series share: where the past ends, and what the future adds to it."""

import numpy as np
from jaxtyping import Float, Int

from ..batch import Batch, Sequences
from ..errors import ModelError
from ..model import Search
from ..signature import Series, Signature


def futures(signature: Signature, source: Sequences, search: Search) -> Int[np.ndarray, " batch"]:
    """How many rows of each source lie in the future: as many as were asked for, if there are."""
    if not isinstance(signature.target, Series):
        raise TypeError("series are forecast from series")
    return np.minimum(search.horizon or signature.target.horizon, source.lengths)


def past_of(source: Sequences, ahead: Int[np.ndarray, " batch"], width: int) -> Sequences:
    """The observed numbers before the future."""
    pasts = source.lengths - ahead
    return Sequences(source.values[:, : int(pasts.max(initial=0)), :width], pasts)


def whole_of(batch: Batch, width: int) -> list[Float[np.ndarray, "_ width"]]:
    """The observed numbers of each series, those of the future as the target has them."""
    return [rows[:, :width] for rows, _ in rows_of(batch)]


def log_normal(
    error: Float[np.ndarray, "*shape"], variance: Float[np.ndarray, "*shape"]
) -> Float[np.ndarray, "*shape"]:
    """The log density of N(0, variance)."""
    found: np.ndarray = -0.5 * (np.log(2 * np.pi * variance) + error**2 / variance)
    return found


def nothing_observed(place: int, width: int) -> ModelError:
    """For a column, counted from 1, without any number."""
    which = "" if width == 1 else f" of column {place}"
    return ModelError(
        "M440",
        f"no number{which} was observed in training",
        help=["give a series with numbers in it, or leave the column out"],
    )


def rows_of(batch: Batch) -> list[tuple[Float[np.ndarray, "time all"], int]]:
    """Each series with its inputs and its future filled in, and how many steps that is."""
    found = []
    lengths = zip(batch.source.lengths.tolist(), batch.target.lengths.tolist(), strict=True)
    for number, (length, ahead) in enumerate(lengths):
        rows = np.array(batch.source.values[number, :length], dtype=np.float64)
        width = batch.target.values.shape[-1]
        rows[length - ahead :, :width] = batch.target.values[number, :ahead]
        found.append((rows, ahead))
    return found
