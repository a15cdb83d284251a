"""Least squares of series on their own lags: QR decomposition batch by batch, ridge, AIC and BIC.

A row of a regression has the exogenous columns of a step, then its lags, the newest first, then the
step itself. Of many rows only the triangle R of their QR decomposition is kept. It has all that
least squares needs, as the normal equations XᵀX have, but without squaring the condition number.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float

AT_ONCE = 8192  # rows that are decomposed together

Table = Float[np.ndarray, "_ _"]  # rows and columns, of any number


@dataclass(frozen=True)
class LagRegressions:
    """The regressions of several orders as QR triangles; two of them can be added.

    Of each order it has the rows with all lags of it and the step itself. `sums` are, for each
    column of the series, how many values were observed, their sum and the sum of their squares.
    """

    orders: tuple[int, ...]  # rising
    triangles: tuple[Table, ...]
    counts: tuple[int, ...]
    sums: Float[np.ndarray, "3 width"]

    def __add__(self, other: "LagRegressions") -> "LagRegressions":
        both = zip(self.triangles, other.triangles, strict=True)
        counts = zip(self.counts, other.counts, strict=True)
        return LagRegressions(
            self.orders,
            tuple(qr_triangle(np.concatenate(pair)) for pair in both),
            tuple(sum(pair) for pair in counts),
            self.sums + other.sums,
        )

    def of(self, order: int) -> tuple[Table, int]:
        """The triangle of an order, and the number of its rows."""
        place = self.orders.index(order)
        return self.triangles[place], self.counts[place]


@dataclass(frozen=True)
class LeastSquaresFit:
    """A least squares fit y = x @ coefficients + e.

    `squares` is Σ e eᵀ over all rows, and `freedom` the coefficients of each equation; with a ridge
    penalty their effective number, tr((XᵀX + Λ)⁻¹ XᵀX).
    """

    coefficients: Float[np.ndarray, "columns width"]
    squares: Float[np.ndarray, "width width"]
    count: int
    freedom: float

    def noise(self) -> Float[np.ndarray, "width width"]:
        """Unbiased estimate of the covariance of e."""
        return self.squares / max(self.count - self.freedom, 1.0)

    def criterion(self, weight: float) -> float:
        """log |Σ e eᵀ / n| + weight · coefficients / n: AIC with weight 2, BIC with log n."""
        return self._log_determinant() + weight * self.coefficients.size / self.count

    def corrected(self) -> float:
        """AICc (Hurvich & Tsai, 1993): log |Σ e eᵀ / n| + w (n + k) / (n - k - w - 1).

        k is the number of columns and w that of equations. Without rows to spare it is infinite.
        """
        columns, width = self.coefficients.shape
        left = self.count - columns - width - 1
        if left < 1:
            return float("inf")
        return self._log_determinant() + width * (self.count + columns) / left

    def _log_determinant(self) -> float:
        return float(np.linalg.slogdet(self.squares / self.count)[1])


def gather(
    series: Sequence[Float[np.ndarray, "_ width"]],
    exogenous: Sequence[Float[np.ndarray, "_ inputs"]],
    orders: Sequence[int],
    sums: Float[np.ndarray, "3 width"],
) -> LagRegressions:
    """The rows of whole series; those where a lag or the step itself is missing are left out."""
    highest, width = orders[-1], series[0].shape[1]
    tables, missing = [], []
    for values, inputs in zip(series, exogenous, strict=True):
        lags = [_lagged(values, k) for k in range(1, highest + 1)]
        tables.append(np.concatenate([inputs, *lags, values], axis=1))
        missing.append(_missing(values, lags))
    table, is_missing = np.concatenate(tables), np.concatenate(missing)
    inside = table.shape[1] - width
    kept = ~is_missing[:, highest]
    found = [qr_triangle(table[kept])]
    counts = [int(kept.sum())]
    for order in reversed(orders[:-1]):
        # The rows of a higher order are rows of this one: their triangle, without the columns of
        # the longest lags, is decomposed again together with the few rows that are new.
        columns = [*range(inside - (highest - order) * width), *range(inside, inside + width)]
        before = [*range(len(columns) - width), *range(found[-1].shape[1])[-width:]]
        more = ~is_missing[:, order] & ~kept
        kept = kept | more
        rows = np.concatenate([found[-1][:, before], table[more][:, columns]])
        found.append(qr_triangle(rows))
        counts.append(int(kept.sum()))
    return LagRegressions(tuple(orders), tuple(found[::-1]), tuple(counts[::-1]), sums)


def sums_of(series: Sequence[Float[np.ndarray, "_ width"]]) -> Float[np.ndarray, "3 width"]:
    """The count, the sum and the sum of squares of the observed values of each column."""
    every = np.concatenate(series)
    observed = ~np.isnan(every)
    real = np.where(observed, every, 0)
    return np.stack([observed.sum(0).astype(float), real.sum(0), (real**2).sum(0)])


def restrict_order(rows: Table, order: int, highest: int, width: int) -> Table:
    """Of the triangle of the highest order, the one with the lags of a lower order alone."""
    inside = rows.shape[1] - width
    kept = [*range(inside - (highest - order) * width), *range(inside, inside + width)]
    return qr_triangle(rows[:, kept])


def solve(
    rows: Table, count: int, width: int, penalties: Float[np.ndarray, " columns"]
) -> LeastSquaresFit:
    """Ridge regression: minimise Σ |y - x β|² + Σ penalty β²; penalties of 0 are least squares.

    A penalty is a row √penalty of zeros and one column in X, with 0 in y. Columns are scaled to
    norm 1 first, so that the cut-off of singular values does not depend on their units.
    """
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
        products = x.T @ x
        inverse = np.linalg.pinv(products + np.diag(penalties), hermitian=True)
        freedom = float(np.trace(inverse @ products))
    return LeastSquaresFit(coefficients, errors.T @ errors, count, freedom)


def qr_triangle(rows: Table) -> Table:
    """R of the QR decomposition: fewer rows with the same sums of squares and products."""
    found = rows[:0]
    for start in range(0, len(rows), AT_ONCE):
        some = np.concatenate([found, rows[start : start + AT_ONCE]])
        found = np.asarray(np.linalg.qr(some, mode="r"))
    return found


def _lagged(values: Float[np.ndarray, "time width"], steps: int) -> Float[np.ndarray, "time width"]:
    """The values of so many steps before; missing where there was nothing yet."""
    found = np.full_like(values, np.nan)
    found[steps:] = values[:-steps]
    return found


def _missing(
    values: Float[np.ndarray, "time width"], lags: list[Float[np.ndarray, "time width"]]
) -> Bool[np.ndarray, "time orders"]:
    """For each order from 0 on whether a row lacks any of its values."""
    found = np.stack([np.isnan(part).any(1) for part in [values, *lags]], axis=1)
    return np.logical_or.accumulate(found, axis=1)
