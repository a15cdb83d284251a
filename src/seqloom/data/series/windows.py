"""Series cut in time: what is learned from, and windows of a past and the future to be judged."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from .dates import continued
from .schema import Recorded


@dataclass(frozen=True, eq=False)
class Window:
    """Rows of a series: from `begin` on what is known, from `cut` to `end` what is asked.

    Nothing is known where both are the same: such a window is learned from as a whole. What comes
    before `base` was known when the window was put aside, and tells how hard the series is.
    """

    series: Recorded
    begin: int
    cut: int
    end: int
    base: int

    @property
    def line(self) -> int:
        """Where the series begins in its file."""
        return self.series.line

    @property
    def is_whole(self) -> bool:
        """Whether it is to be learned from, not judged."""
        return self.cut == self.begin

    @property
    def past(self) -> np.ndarray:
        """The numbers that are known."""
        return self.series.values[self.begin : self.cut]

    @property
    def future(self) -> np.ndarray:
        """The numbers that are asked for."""
        return self.series.values[self.cut : self.end]


@dataclass(frozen=True)
class Reach:
    """How far windows look: steps ahead, steps back (0 all), and steps between two of them."""

    horizon: int
    history: int
    stride: int

    def windows(self, series: Recorded, start: int, end: int, base: int) -> Iterator[Window]:
        """Windows whose futures lie between two rows, from the first on.

        Left out is what has nothing to go by, or nothing to be judged by.
        """
        seen = ~np.isnan(series.values).all(1)
        for cut in range(max(1, start), end - self.horizon + 1, self.stride or self.horizon):
            begin = max(0, cut - self.history) if self.history else 0
            if seen[begin:cut].any() and seen[cut : cut + self.horizon].any():
                yield Window(series, begin, cut, cut + self.horizon, base)

    def over(self, series: Recorded, least: int) -> list[Window]:
        """Windows over a whole series of its own, each with at least so many rows before it."""
        first = max(1, min(least, len(series) - self.horizon))
        found = list(self.windows(series, first, len(series), first))
        return [replace(window, base=window.cut) for window in found]


def whole(series: Recorded, end: int | None = None) -> Window:
    """A series to learn from, up to a row."""
    end = len(series) if end is None else end
    return Window(series, 0, 0, end, end)


def ahead(series: Recorded, horizon: int, history: int = 0) -> Window:
    """A question: what comes after the last row that has a number.

    Rows behind it, of which only inputs are known, are part of the answer's time.
    """
    seen = np.flatnonzero(~np.isnan(series.values).all(1))
    cut = int(seen[-1]) + 1 if len(seen) and series.known.shape[1] else len(series)
    series = lengthened(series, cut + horizon)
    begin = max(0, cut - history) if history else 0
    return Window(series, begin, cut, cut + horizon, cut)


def lengthened(series: Recorded, size: int) -> Recorded:
    """A series with further rows, all missing, and their steps named."""
    more = size - len(series)
    if more <= 0:
        return series
    rows = np.full((more, series.values.shape[1]), np.nan)
    values = np.concatenate([series.values, rows])
    times = (*series.times, *continued(series.times, more))
    known = np.concatenate([series.known, np.full((more, series.known.shape[1]), np.nan)])
    return replace(series, values=values, known=known, times=times, labels=())


def observed(series: Recorded) -> Recorded:
    """A series up to its last row that has a number: what comes behind is known of the future."""
    seen = np.flatnonzero(~np.isnan(series.values).all(1))
    end = int(seen[-1]) + 1 if len(seen) else len(series)
    if end == len(series):
        return series
    return replace(
        series,
        values=series.values[:end],
        known=series.known[:end],
        times=series.times[:end],
        labels=series.labels[:end],
    )


def joined(first: Recorded, then: Recorded) -> Recorded:
    """A series and what follows it."""
    has_dates = continued(first.times, 1) == [*then.times[:1]]
    times = then.times if has_dates else tuple(continued(first.times, len(then)))
    return replace(
        first,
        values=np.concatenate([first.values, then.values]),
        known=np.concatenate([first.known, then.known]),
        times=(*first.times, *times),
        labels=(),
    )


def follows(first: Recorded, then: Recorded, *, dated: bool) -> bool:
    """Whether a series goes on where another ends; without dates it does if it has its name."""
    if first.name != then.name:
        return False
    return not dated or continued(first.times, 1) == [*then.times[:1]]


def block(size: int, folds: int, fold: int) -> tuple[int, int]:
    """Where a fold of a series begins and ends: one of equal blocks, the first of which is none."""
    edges = [number * size // (folds + 1) for number in range(folds + 2)]
    return edges[fold], edges[fold + 1]


def columns_apart(series: Sequence[Recorded], names: Sequence[str]) -> list[Recorded]:
    """Each column of each series as a series of its own."""
    return [
        replace(
            one,
            name=" ".join(filter(None, [one.name, name if len(names) > 1 or not one.name else ""])),
            values=one.values[:, place : place + 1],
        )
        for one in series
        for place, name in enumerate(names)
    ]
