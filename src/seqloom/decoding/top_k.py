"""The best continuations of some candidates, out of a large vocabulary."""

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Int

CHUNK = 64  # symbols of which only the likeliest is looked at first
FEW = 512  # a vocabulary this small is looked at whole
ROUNDING = 1e-6  # a part of what a number of single precision may be off


class Continuations(NamedTuple):
    """Each source's best continuations, best first: whom they continue, and by which column.

    Where there are fewer than asked for, the rest has a total of minus infinity.
    """

    origin: Int[np.ndarray, "source count"]
    column: Int[np.ndarray, "source count"]
    total: Float[np.ndarray, "source count"]


def likeliest(
    before: Float[np.ndarray, "source width"],
    log_probs: Float[np.ndarray, "rows column"],
    count: int,
) -> Continuations:
    """The `count` largest of before[s, w] + log_probs[s·width + w, v] over all w and v.

    Of equals the first are taken, by w and then by v. No total of the whole vocabulary is made: the
    largest of every chunk of columns say how large a number must be to be among the best, and only
    the few that are as large are added and sorted.
    """
    sources, width = before.shape
    if count <= width * log_probs.shape[1] <= FEW:
        return _all_sorted(before, log_probs, count)
    rows, columns = _large(before, log_probs, count)
    totals = before.ravel()[rows] + log_probs[rows, columns]
    if sources == 1:
        order = (-totals).argsort(kind="stable")[:count]
        places: tuple[Any, Any] = (0, slice(len(order)))
    else:
        order, places = _ranked(totals, rows // width, sources, count)
    found = Continuations(
        np.zeros((sources, count), dtype=np.int64),
        np.zeros((sources, count), dtype=np.int64),
        np.full((sources, count), -np.inf),
    )
    found.origin[places] = rows[order] % width
    found.column[places] = columns[order]
    found.total[places] = totals[order]
    return found


def _all_sorted(
    before: Float[np.ndarray, "source width"],
    log_probs: Float[np.ndarray, "rows column"],
    count: int,
) -> Continuations:
    """The same where there are few columns: sorting all of them is quicker than choosing."""
    totals = (before.reshape(-1, 1) + log_probs).reshape(len(before), -1)
    totals = np.fmax(totals, -np.inf)  # what is not a number is impossible
    order = (-totals).argsort(axis=1, kind="stable")[:, :count]
    best = totals[np.arange(len(before))[:, None], order]
    return Continuations(order // log_probs.shape[1], order % log_probs.shape[1], best)


def _ranked(
    totals: Float[np.ndarray, " few"], owners: Int[np.ndarray, " few"], sources: int, count: int
) -> tuple[Int[np.ndarray, " best"], tuple[Int[np.ndarray, " best"], Int[np.ndarray, " best"]]]:
    """Which are the best of each source, and where they belong: whose they are, and their rank."""
    order = np.lexsort((-totals, owners))  # stable: equals stay in their order
    owners = owners[order]
    ranks = np.arange(len(order)) - owners.searchsorted(np.arange(sources))[owners]
    chosen = ranks < count
    return order[chosen], (owners[chosen], ranks[chosen])


def _large(
    before: Float[np.ndarray, "source width"],
    log_probs: Float[np.ndarray, "rows column"],
    count: int,
) -> tuple[Int[np.ndarray, " few"], Int[np.ndarray, " few"]]:
    """Rows and columns of what may be among the best, in order; nothing impossible."""
    sources, width = before.shape
    peaks = (before.reshape(-1, 1) + _peaks(log_probs)).reshape(sources, -1)
    lowest = np.finfo(log_probs.dtype).min
    needed = np.full(before.shape, lowest)
    with np.errstate(invalid="ignore"):  # what is impossible already is so whatever is added
        if count <= peaks.shape[1]:
            peaks.partition(peaks.shape[1] - count)
            least = peaks[:, -count, None]  # so many totals are at least as large
            slack = ROUNDING * (1 - least - before)
            needed = np.maximum(least - before - slack, lowest)
        needed[before == -np.inf] = np.inf
    found = (log_probs >= needed.astype(log_probs.dtype).reshape(-1, 1)).ravel().nonzero()[0]
    return found // log_probs.shape[1], found % log_probs.shape[1]


def _peaks(log_probs: Float[np.ndarray, "rows column"]) -> Float[np.ndarray, "rows chunk"]:
    """The largest of each chunk of columns: those that lie the same number of columns apart."""
    rows, columns = log_probs.shape
    if columns <= FEW:
        return log_probs
    whole = columns - columns % CHUNK
    peaks: np.ndarray = log_probs[:, :whole].reshape(rows, CHUNK, -1).max(1)
    if whole == columns:
        return peaks
    return np.concatenate([peaks, log_probs[:, whole:].max(1, keepdims=True)], axis=1)
