"""Least squares of series on their own past: rows are gathered batch by batch, and can be added.

A table of rows has what drives a step, then its taps, the newest first, then the step itself. Of
many rows only the triangle R of their QR decomposition is kept: it has all that least squares asks
for, as the normal equations have, without squaring how nearly columns are alike.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float

AT_ONCE = 8192  # rows that are decomposed together

Table = Float[np.ndarray, "_ _"]  # rows and columns, of any number


@dataclass(frozen=True)
class Rows:
    """The rows of some orders: for each order those that have all its taps, and the step itself.

    Beside them, for each number: how many were observed, their sum and that of their squares.
    """

    orders: tuple[int, ...]  # rising
    triangles: tuple[Table, ...]
    counts: tuple[int, ...]
    sums: Float[np.ndarray, "3 width"]

    def __add__(self, other: "Rows") -> "Rows":
        both = zip(self.triangles, other.triangles, strict=True)
        counts = zip(self.counts, other.counts, strict=True)
        return Rows(
            self.orders,
            tuple(triangle(np.concatenate(pair)) for pair in both),
            tuple(sum(pair) for pair in counts),
            self.sums + other.sums,
        )

    def of(self, order: int) -> tuple[Table, int]:
        """The triangle of an order, and of how many rows it is."""
        place = self.orders.index(order)
        return self.triangles[place], self.counts[place]


@dataclass(frozen=True)
class Fit:
    """What least squares found: y = x @ coefficients + e.

    `squares` is Σ e eᵀ over all rows, and `freedom` how many coefficients a number has; where a
    penalty keeps them small, as many as they are worth.
    """

    coefficients: Float[np.ndarray, "columns width"]
    squares: Float[np.ndarray, "width width"]
    count: int
    freedom: float

    def noise(self) -> Float[np.ndarray, "width width"]:
        """The covariance of e, without what the coefficients took away from it."""
        return self.squares / max(self.count - self.freedom, 1.0)

    def criterion(self, weight: float) -> float:
        """log |Σ e eᵀ / n| + weight · coefficients / n: AIC with weight 2, BIC with log n."""
        return self._log_size() + weight * self.coefficients.size / self.count

    def corrected(self) -> float:
        """AIC for few rows (Hurvich & Tsai, 1993): log |Σ e eᵀ / n| + w (n + k) / (n - k - w - 1).

        k is the number of columns and w that of numbers. Without rows to spare it is infinite.
        """
        columns, width = self.coefficients.shape
        left = self.count - columns - width - 1
        if left < 1:
            return float("inf")
        return self._log_size() + width * (self.count + columns) / left

    def _log_size(self) -> float:
        return float(np.linalg.slogdet(self.squares / self.count)[1])


def gather(
    series: Sequence[Float[np.ndarray, "_ width"]],
    driven: Sequence[Float[np.ndarray, "_ inputs"]],
    orders: Sequence[int],
    sums: Float[np.ndarray, "3 width"],
) -> Rows:
    """The rows of whole series; those where a tap or the step itself is missing are left out."""
    highest, width = orders[-1], series[0].shape[1]
    tables, missing = [], []
    for values, inputs in zip(series, driven, strict=True):
        delayed = [_delayed(values, k) for k in range(1, highest + 1)]
        tables.append(np.concatenate([inputs, *delayed, values], axis=1))
        missing.append(_missing(values, delayed))
    table, is_missing = np.concatenate(tables), np.concatenate(missing)
    inside = table.shape[1] - width
    kept = ~is_missing[:, highest]
    found = [triangle(table[kept])]
    counts = [int(kept.sum())]
    for order in reversed(orders[:-1]):
        # The rows of a higher order are among them: what was found for those is decomposed further.
        columns = [*range(inside - (highest - order) * width), *range(inside, inside + width)]
        before = [*range(len(columns) - width), *range(found[-1].shape[1])[-width:]]
        more = ~is_missing[:, order] & ~kept
        kept = kept | more
        rows = np.concatenate([found[-1][:, before], table[more][:, columns]])
        found.append(triangle(rows))
        counts.append(int(kept.sum()))
    return Rows(tuple(orders), tuple(found[::-1]), tuple(counts[::-1]), sums)


def sums_of(series: Sequence[Float[np.ndarray, "_ width"]]) -> Float[np.ndarray, "3 width"]:
    """For each number how many were observed, their sum and that of their squares."""
    every = np.concatenate(series)
    seen = ~np.isnan(every)
    real = np.where(seen, every, 0)
    return np.stack([seen.sum(0).astype(float), real.sum(0), (real**2).sum(0)])


def narrowed(rows: Table, order: int, highest: int, width: int) -> Table:
    """Of the triangle of the highest order, the one with the taps of a lower order alone."""
    inside = rows.shape[1] - width
    kept = [*range(inside - (highest - order) * width), *range(inside, inside + width)]
    return triangle(rows[:, kept])


def fitted(rows: Table, count: int, width: int, penalties: Float[np.ndarray, " columns"]) -> Fit:
    """The coefficients with the least squares, each square of a coefficient at its penalty."""
    x, y = rows[:, :-width], rows[:, -width:]
    ridge = np.diag(np.sqrt(penalties))[penalties > 0]
    sizes = np.sqrt((x**2).sum(0) + penalties)
    sizes[sizes == 0] = 1  # a column of zeros has a coefficient of zero
    full = np.concatenate([x, ridge]) / sizes
    right = np.concatenate([y, np.zeros((len(ridge), width))])
    coefficients = np.linalg.lstsq(full, right, rcond=None)[0] / sizes[:, None]
    errors = y - x @ coefficients
    freedom = float(x.shape[1])
    if penalties.any():
        seen = x.T @ x
        freedom = float(np.trace(np.linalg.pinv(seen + np.diag(penalties), hermitian=True) @ seen))
    return Fit(coefficients, errors.T @ errors, count, freedom)


def triangle(rows: Table) -> Table:
    """R of the QR decomposition: rows with the same sums of squares and products."""
    found = rows[:0]
    for start in range(0, len(rows), AT_ONCE):
        some = np.concatenate([found, rows[start : start + AT_ONCE]])
        found = np.asarray(np.linalg.qr(some, mode="r"))
    return found


def _delayed(
    values: Float[np.ndarray, "time width"], steps: int
) -> Float[np.ndarray, "time width"]:
    """The values of so many steps before; missing where there was nothing yet."""
    found = np.full_like(values, np.nan)
    found[steps:] = values[:-steps]
    return found


def _missing(
    values: Float[np.ndarray, "time width"], delayed: list[Float[np.ndarray, "time width"]]
) -> Bool[np.ndarray, "time orders"]:
    """For each order from 0 on whether a row lacks any of its numbers."""
    found = np.stack([np.isnan(part).any(1) for part in [values, *delayed]], axis=1)
    return np.logical_or.accumulate(found, axis=1)
