"""Training windows of time series: a history, and the horizon to forecast after it.

As with `BucketLoader`, the windows of an epoch depend on the seed and the epoch number alone.
"""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float, Int

from ...batch import Batch, Item, Sequences, length_mask
from ...errors import DataError
from .batching import digest_of


class WindowLoader:
    """Data loader for forecasting: a window at every forecast origin of every series, shuffled.

    A window has `history` steps of input before its origin, or fewer if the whole series is
    shorter, and `horizon` steps to forecast after it. Origins after which nothing was observed are
    left out. The items are whole training series: known inputs in the source, all values in the
    target.
    """

    def __init__(
        self, items: Sequence[Item], history: int, horizon: int, *, batch_size: int, seed: int
    ) -> None:
        self.history, self.horizon, self.batch_size, self.seed = history, horizon, batch_size, seed
        lengths = np.array([len(item.target) for item in items])
        # All series lie one after the other in one array, so that a batch is a single gather.
        self._ends = np.cumsum(lengths)
        width = items[0].target.shape[1]
        known = [np.asarray(item.source, dtype=np.float32)[:, width:] for item in items]
        self._known = np.concatenate(known)
        self._values = np.concatenate([np.asarray(item.target, dtype=np.float32) for item in items])
        self._starts, self._histories = self._origins(lengths)
        self._cached: tuple[int, list[Int[np.ndarray, " batch"]]] = (-1, [])
        if not len(self._starts):
            raise _too_short(int(lengths.max(initial=0)), horizon)

    def digest(self) -> str:
        """A digest of the windows and the options that determine the batches of every epoch."""
        return digest_of((self.horizon, self.batch_size, self.seed), self._starts, self._histories)

    def epoch(self, number: int) -> list[Int[np.ndarray, " batch"]]:
        """The indices of the windows of each batch of an epoch."""
        if self._cached[0] != number:
            order = np.random.default_rng([self.seed, number]).permutation(len(self._starts))
            bounds = np.arange(self.batch_size, len(order), self.batch_size)
            self._cached = (number, np.split(order, bounds))
        return self._cached[1]

    def batch(self, which: Int[np.ndarray, " batch"]) -> Batch:
        """A batch of windows; the values to forecast are NaN in the source."""
        starts, histories = self._starts[which], self._histories[which]
        lengths = histories + self.horizon
        rows = (starts - histories)[:, None] + np.arange(int(lengths.max()))
        real = length_mask(lengths, rows.shape[1])
        rows = np.where(real, rows, 0)  # padding must not reach beyond the last series
        future = np.arange(rows.shape[1]) >= histories[:, None]
        values = np.where(future[..., None], np.float32(np.nan), self._values[rows])
        source = np.concatenate([values, self._known[rows]], axis=-1)
        source[~real] = 0
        target = self._values[starts[:, None] + np.arange(self.horizon)]
        horizons = np.full(len(which), self.horizon)
        return Batch(Sequences(source, lengths), Sequences(target, horizons))

    def _origins(
        self, lengths: Int[np.ndarray, " series"]
    ) -> tuple[Int[np.ndarray, " windows"], Int[np.ndarray, " windows"]]:
        """The forecast origins, and the number of input steps before each."""
        starts, histories = [], []
        for end, length in zip(self._ends.tolist(), lengths.tolist(), strict=True):
            latest = length - self.horizon
            if latest < 1:
                continue
            origins = np.arange(min(self.history, latest), latest + 1)
            origins = origins[_has_targets(self._values[end - length : end], self.horizon)[origins]]
            starts.append(origins + end - length)
            histories.append(np.minimum(origins, self.history))
        none = np.zeros(0, dtype=np.int64)
        return np.concatenate([none, *starts]), np.concatenate([none, *histories])


def _has_targets(values: Float[np.ndarray, "time width"], horizon: int) -> np.ndarray:
    """For each step whether anything was observed in the `horizon` steps from it on."""
    # Cumulative counts: a window has an observation if the count differs between its ends.
    count = np.concatenate([[0], np.cumsum(~np.isnan(values).all(1))])
    steps = np.arange(len(values))
    found: np.ndarray = count[np.minimum(steps + horizon, len(values))] > count[steps]
    return found


def _too_short(longest: int, horizon: int) -> DataError:
    return DataError(
        "D200",
        f"the longest training series has {longest:,} steps; a forecast horizon of {horizon:,}"
        f" needs at least {horizon + 1:,}",
        help=[f"--set task.horizon={max(1, longest // 4)}", "give longer series"],
    )
