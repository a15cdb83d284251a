"""By gradient: how steeply the answer follows the vectors of the symbols that were read."""

from collections.abc import Sequence
from typing import cast

import numpy as np
from jaxtyping import Float, Int

from ...batch import Batch, Ids, Rows, Sequences
from ...model import Differentiates
from ...signature import Form
from .base import Probe, Told
from .options import How
from .question import Asked, Row

SYMBOLS_AT_ONCE = 8192
FEWEST, MOST = 16, 256  # places on the way at which slopes are taken
EXACT = 0.01  # what may be missing, as a share of what the strongest symbol does

Slopes = tuple[Float[np.ndarray, "*rows"], Float[np.ndarray, "*rows read"]]


def can(asked: Asked) -> bool:
    """Whether the model makes a vector of each symbol and can be differentiated there."""
    return isinstance(asked.model, Differentiates) and asked.model.door() is not None


def find(asked: Asked, how: How) -> Told:
    """Σ_d x_d ∂log p(answer)/∂x_d of the vector x of each symbol, with all its columns.

    Integrated it is x · ∫ ∂log p/∂(αx) dα from α = 0 to 1, by Gauss-Legendre: summed over all
    symbols, that is log p(answer | x) - log p(answer | all vectors 0).
    """
    (whole, nothing), (slope, _) = slopes(asked, [1.0, 0.0])
    if not how.integrated:
        note = "slope times vector: exact for small changes only, a guess for large ones"
        return Told(slope, "gradient", (note,))
    difference, count = whole - nothing, FEWEST
    values = _integrated(asked, count)
    while count < MOST and not _is_exact(values, difference):
        count *= 2
        values = _integrated(asked, count)
    reached, true = (", ".join(f"{x:+.2f}" for x in y[:3]) for y in (values.sum(1), difference))
    notes = (
        f"from all vectors 0 to these, in {count} steps",
        f"they sum to {reached}; the difference is {true}",
    )
    return Told(values, "integrated gradient", notes)


def _integrated(asked: Asked, count: int) -> Float[np.ndarray, "rows read"]:
    nodes, weights = np.polynomial.legendre.leggauss(count)
    found: np.ndarray = np.tensordot(weights / 2, slopes(asked, (1 + nodes) / 2)[1], axes=1)
    return found


def _is_exact(
    values: Float[np.ndarray, "rows read"], difference: Float[np.ndarray, " rows"]
) -> bool:
    """Whether all that the symbols do together is the difference, or nearly."""
    missing = abs(values.sum(1) - difference)
    return bool((missing <= EXACT * abs(values).max(1)).all())


def slopes(asked: Asked, shares: Sequence[float] | Float[np.ndarray, " _"]) -> Slopes:
    """What is asked for where all vectors are multiplied by each share, and how it follows them."""
    rows, each = (
        asked.rows * len(shares),
        np.repeat(np.asarray(shares, np.float64), len(asked.rows)),
    )
    if asked.form in (Form.NEXT, Form.TRANSDUCE):
        value, slope = _of_symbols(asked, rows, each)
    else:
        labels: list[Ids | Rows] = [np.array([row.value or 0]) for row in rows]
        if asked.is_real:
            labels = [np.zeros((1, 1), dtype=np.float32)] * len(rows)
        value, slope = _slopes(asked, labels, each, np.array([row.place for row in rows]))
    shape = len(shares), len(asked.rows)
    return value.reshape(shape), slope.reshape(*shape, -1)


def _of_symbols(asked: Asked, rows: Sequence[Row], each: Float[np.ndarray, " rows"]) -> Slopes:
    """log p(y_t | y_<t, x) = log p(y_≤t | x) - log p(y_<t | x), and so are its slopes."""
    before = [asked.answer[: row.place] for row in rows]
    answers = [np.append(y, row.value or 0) for y, row in zip(before, rows, strict=True)]
    value, slope = _slopes(asked, answers, each)
    if known := [place for place, beginning in enumerate(before) if len(beginning)]:
        less, other = _slopes(asked, [before[place] for place in known], each[known])
        value[known] -= less
        slope[known] -= other
    return value, slope


def _slopes(
    asked: Asked,
    targets: Sequence[Ids | Rows],
    each: Float[np.ndarray, " rows"],
    places: Int[np.ndarray, " rows"] | None = None,
) -> Slopes:
    """Of these targets, each at its place and with its share, as many at once as have room."""
    model = cast(Differentiates, asked.model)  # as `can` has seen
    value, slope = np.zeros(len(targets)), np.zeros((len(targets), len(asked.read)))
    size = max(1, SYMBOLS_AT_ONCE // max(1, len(asked.read), len(asked.answer)))
    for start in range(0, len(targets), size):
        some = slice(start, start + size)
        target = Sequences.pad(targets[some])
        is_next = asked.form is Form.NEXT
        source = target if is_next else Sequences.pad([asked.read] * len(target))
        there = None if places is None else places[some]
        found, products = model.slopes(Batch(source, target), there, share=each[some])
        value[some], slope[some, : products.shape[1]] = found, products
    return value, slope


PROBE = Probe(can, find, "it makes no vectors of symbols, of which slopes could be taken")
