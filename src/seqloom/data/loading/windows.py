"""Pieces of series to learn forecasting from: some steps, and those that follow them.

As with `Batches`, an epoch's pieces depend on the seed and the number of the epoch alone.
"""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float, Int

from ...batch import Batch, Item, Sequences, mask_of
from ...errors import DataError


class Pieces:
    """Every place of every series where a forecast could begin, in any order.

    Before it are as many steps as are read, or fewer where the series begins later and is too short
    for more; after it are as many as are forecast. Places after which nothing was observed are left
    out. Series are items to be learned from as a whole: inputs known, all numbers in the target.
    """

    def __init__(
        self, items: Sequence[Item], before: int, after: int, *, rows: int, seed: int
    ) -> None:
        self.before, self.after, self.rows, self.seed = before, after, rows, seed
        lengths = np.array([len(item.target) for item in items])
        self._ends = np.cumsum(lengths)
        width = items[0].target.shape[1]
        known = [np.asarray(item.source, dtype=np.float32)[:, width:] for item in items]
        self._known = np.concatenate(known)
        self._seen = np.concatenate([np.asarray(item.target, dtype=np.float32) for item in items])
        self._starts, self._pasts = self._places(lengths)
        self._made: tuple[int, list[Int[np.ndarray, " batch"]]] = (-1, [])
        if not len(self._starts):
            raise _too_short(int(lengths.max(initial=0)), after)

    def epoch(self, number: int) -> list[Int[np.ndarray, " batch"]]:
        """Which pieces stand together in each batch of an epoch."""
        if self._made[0] != number:
            order = np.random.default_rng([self.seed, number]).permutation(len(self._starts))
            cuts = np.arange(self.rows, len(order), self.rows)
            self._made = (number, np.split(order, cuts))
        return self._made[1]

    def batch(self, which: Int[np.ndarray, " batch"]) -> Batch:
        """These pieces side by side, what follows being hidden in the source."""
        starts, pasts = self._starts[which], self._pasts[which]
        lengths = pasts + self.after
        places = (starts - pasts)[:, None] + np.arange(int(lengths.max()))
        real = mask_of(lengths, places.shape[1])
        places = np.where(real, places, 0)
        hidden = np.arange(places.shape[1]) >= pasts[:, None]
        seen = np.where(hidden[..., None], np.float32(np.nan), self._seen[places])
        source = np.concatenate([seen, self._known[places]], axis=-1)
        source[~real] = 0
        target = self._seen[starts[:, None] + np.arange(self.after)]
        ahead = np.full(len(which), self.after)
        return Batch(Sequences(source, lengths), Sequences(target, ahead))

    def _places(
        self, lengths: Int[np.ndarray, " series"]
    ) -> tuple[Int[np.ndarray, " pieces"], Int[np.ndarray, " pieces"]]:
        """Where what is forecast begins, and how many steps come before it."""
        starts, pasts = [], []
        for end, length in zip(self._ends.tolist(), lengths.tolist(), strict=True):
            latest = length - self.after
            if latest < 1:
                continue
            at = np.arange(min(self.before, latest), latest + 1)
            told = _told(self._seen[end - length : end], self.after)[at]
            starts.append(at[told] + end - length)
            pasts.append(np.minimum(at[told], self.before))
        none = np.zeros(0, dtype=np.int64)
        return np.concatenate([none, *starts]), np.concatenate([none, *pasts])


def _told(seen: Float[np.ndarray, "time width"], after: int) -> np.ndarray:
    """For each place whether anything was observed in the steps that follow it."""
    count = np.concatenate([[0], np.cumsum(~np.isnan(seen).all(1))])
    places = np.arange(len(seen))
    told: np.ndarray = count[np.minimum(places + after, len(seen))] > count[places]
    return told


def _too_short(longest: int, after: int) -> DataError:
    return DataError(
        "D200",
        f"the longest series to learn from has {longest:,} steps; a forecast of {after:,} needs at"
        f" least {after + 1:,}",
        help=[f"--set task.horizon={max(1, longest // 4)}", "give longer series"],
    )
