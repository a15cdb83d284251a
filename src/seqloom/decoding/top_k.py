"""Top-k over beam and vocabulary: the best continuations of a beam's candidates."""

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Int

CHUNK = 64  # tokens of which only the maximum is compared at first
SMALL = 512  # a vocabulary this small is sorted whole
ROUNDING = 1e-6  # relative rounding error of single precision, with a margin


class Continuations(NamedTuple):
    """The best continuations of each source, best first.

    Each continues the candidate `origin` of its source by the token of `column`. Where there are
    fewer than were requested, the rest have a total of minus infinity.
    """

    origin: Int[np.ndarray, "source count"]
    column: Int[np.ndarray, "source count"]
    total: Float[np.ndarray, "source count"]


def top_continuations(
    before: Float[np.ndarray, "source beam"],
    log_probs: Float[np.ndarray, "rows column"],
    count: int,
) -> Continuations:
    """The `count` largest of before[s, w] + log_probs[s·beam + w, v] over all w and v.

    Ties go to the smaller w, then to the smaller v. The sums are never computed for the whole
    vocabulary: a lower bound on the count-th best follows from the maxima of chunks of columns, and
    only the few log-probabilities above it are added and sorted.
    """
    sources, beam = before.shape
    if count <= beam * log_probs.shape[1] <= SMALL:
        return _sort_all(before, log_probs, count)
    rows, columns = _above_bound(before, log_probs, count)
    totals = before.ravel()[rows] + log_probs[rows, columns]
    if sources == 1:  # no need to sort by source, too
        order = (-totals).argsort(kind="stable")[:count]
        cells: tuple[Any, Any] = (0, slice(len(order)))
    else:
        order, cells = _ranked(totals, rows // beam, sources, count)
    best = Continuations(
        np.zeros((sources, count), dtype=np.int64),
        np.zeros((sources, count), dtype=np.int64),
        np.full((sources, count), -np.inf),
    )
    best.origin[cells] = rows[order] % beam
    best.column[cells] = columns[order]
    best.total[cells] = totals[order]
    return best


def _sort_all(
    before: Float[np.ndarray, "source beam"],
    log_probs: Float[np.ndarray, "rows column"],
    count: int,
) -> Continuations:
    """Top-k by sorting everything, which is faster than selecting where there are few columns."""
    totals = (before.reshape(-1, 1) + log_probs).reshape(len(before), -1)
    totals = np.fmax(totals, -np.inf)  # NaN counts as impossible
    order = (-totals).argsort(axis=1, kind="stable")[:, :count]
    best = totals[np.arange(len(before))[:, None], order]
    return Continuations(order // log_probs.shape[1], order % log_probs.shape[1], best)


def _ranked(
    totals: Float[np.ndarray, " few"], owners: Int[np.ndarray, " few"], sources: int, count: int
) -> tuple[Int[np.ndarray, " best"], tuple[Int[np.ndarray, " best"], Int[np.ndarray, " best"]]]:
    """The `count` best candidates of each source, and the (source, rank) cell of each."""
    order = np.lexsort((-totals, owners))  # stable: ties stay in their order
    owners = owners[order]
    ranks = np.arange(len(order)) - owners.searchsorted(np.arange(sources))[owners]
    chosen = ranks < count
    return order[chosen], (owners[chosen], ranks[chosen])


def _above_bound(
    before: Float[np.ndarray, "source beam"],
    log_probs: Float[np.ndarray, "rows column"],
    count: int,
) -> tuple[Int[np.ndarray, " few"], Int[np.ndarray, " few"]]:
    """Rows and columns of all that may be among the best, in order; nothing impossible.

    Each chunk has one total as large as its maximum. So the count-th largest maximum is a lower
    bound on the count-th largest total.
    """
    sources, beam = before.shape
    peaks = (before.reshape(-1, 1) + _chunk_maxima(log_probs)).reshape(sources, -1)
    lowest = np.finfo(log_probs.dtype).min
    needed = np.full(before.shape, lowest)
    with np.errstate(invalid="ignore"):  # -inf - -inf: such rows are excluded below
        if count <= peaks.shape[1]:
            peaks.partition(peaks.shape[1] - count)
            bound = peaks[:, -count, None]
            # The bound was summed in double precision, the comparison is in that of log_probs.
            slack = ROUNDING * (1 - bound - before)
            needed = np.maximum(bound - before - slack, lowest)
        needed[before == -np.inf] = np.inf
    flat = (log_probs >= needed.astype(log_probs.dtype).reshape(-1, 1)).ravel().nonzero()[0]
    return flat // log_probs.shape[1], flat % log_probs.shape[1]


def _chunk_maxima(log_probs: Float[np.ndarray, "rows column"]) -> Float[np.ndarray, "rows chunk"]:
    """The maximum of each chunk of columns.

    A chunk is strided, not contiguous: the maximum then runs over whole rows of memory, which NumPy
    vectorises.
    """
    rows, columns = log_probs.shape
    if columns <= SMALL:
        return log_probs
    whole = columns - columns % CHUNK
    peaks: np.ndarray = log_probs[:, :whole].reshape(rows, CHUNK, -1).max(1)
    if whole == columns:
        return peaks
    return np.concatenate([peaks, log_probs[:, whole:].max(1, keepdims=True)], axis=1)
